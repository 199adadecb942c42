"""Real ZooKeeper servers: in a JVM of ours or in a container."""
