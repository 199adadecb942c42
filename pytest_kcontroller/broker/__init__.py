"""The broker half of a node. There is no log yet: an empty log counts as caught up.

metadata      what UpdateMetadata said last
replicas      the partitions this broker hosts, and the checks of what a controller orders; pure
handlers      LeaderAndIsr, UpdateMetadata, StopReplica: from the wire to the two above
isr           asks the controller to take live followers back into the ISR (AlterPartition)
registration  /brokers/ids, /cluster/id, meta.properties
"""
