"""The simulated world: what a node's ports lead to in virtual time, instead of ZooKeeper, sockets and a disk."""
