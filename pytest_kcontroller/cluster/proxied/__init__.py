"""ZooKeeper behind proxies, for programs that are not ours: an address of its own for each server, and all that passes it is
known.

A program's way is: program, proxy (a toxiproxy server, with its faults), relay (`passing.py` reads the sessions there),
ZooKeeper. What a fault does is looked at from both sides of the proxy (`probe.py`), and by what the server itself says
(cluster/zookeeper/words.py).
"""
