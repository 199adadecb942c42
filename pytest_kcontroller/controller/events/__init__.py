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
alter_partition       a leader asks for another ISR
controlled_shutdown   a broker is about to stop
"""
