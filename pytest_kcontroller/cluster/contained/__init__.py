"""A cluster whose nodes are containers of one network, with ZooKeeper, relays and proxies beside them.

cluster   ContainedCluster, and ContainedSystem with a program of a user's
room      the network, and who has which address there
image     the nodes' image, made of what contents.py says
node      one node's container, under the same hands as a process
"""

BASE_VARIABLE = "KCONTROLLER_NODE_BASE"
"""What the nodes' image is made from."""
