"""A system of the user's as the nodes: any command, behind the same proxies and relays as our own nodes.

cluster  SystemCluster: what there is of it
node     one process of it
output   what it prints, read as it is printed
peers    links between its nodes, if it is told of them; peer_relay is the process that they end at
"""
