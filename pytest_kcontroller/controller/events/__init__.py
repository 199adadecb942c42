"""One file per event of Kafka's controller: what has happened, what is done about it, what happens if it is preempted.

event                 what all of them are, those of an active controller, those that somebody waits for
watches               which event a watch puts into the queue
controller_change     /controller was created or changed
reelect               /controller was deleted
expire                the session has ended
register_broker_and_reelect  there is a new session
broker_change         brokers came, went, or were away for a moment
broker_modifications  one broker has registered another address
topic_change          topics came or went
partition_modifications  one topic has other partitions
replica_leader_election  partitions shall have another leader, although theirs has not been lost
auto_preferred_replica_leader_election  from time to time leaders go back to the first replicas
answers               which event a broker's answer puts into the queue
leader_and_isr_response, update_metadata_response  a broker has answered
isr_change_notification  leaders have written other in-sync replicas themselves
log_dir_event_notification  disks of brokers have failed
zk_partition_reassignment  a tool has written which replicas partitions shall have
api_partition_reassignment  somebody asks for that, or that it be cancelled
list_partition_reassignments  somebody asks which reassignments are under way
config_change         somebody has configured something in ZooKeeper
unclean_leader_election_enable  a leader may be out of sync from now on
alter_partition       a leader asks for another ISR
controlled_shutdown   a broker is about to stop
allocate_producer_ids  a broker asks for ids to give to producers
"""
