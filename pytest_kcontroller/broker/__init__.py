"""The broker half of a node. There is no log yet: an empty log counts as caught up.

broker        all of it together
metadata      what UpdateMetadata said last
replicas      the partitions this broker hosts, and the checks of what a controller asks for; pure
state         the two above, and who this broker is
handlers      one module for each request of a controller
isr           asks the controller to take live followers back into the ISR (AlterPartition)
shutdown      asks the controller for a controlled shutdown
log_dir       what is kept, and that nothing can be kept any more
registration  /brokers/ids, /cluster/id, meta.properties
"""
