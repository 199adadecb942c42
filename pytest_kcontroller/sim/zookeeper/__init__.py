"""The simulated ZooKeeper: tree, watches, sessions and their links, replicas."""
