"""The port to ZooKeeper (session), what is built on it (store), and the paths and JSON of Kafka's znodes."""
