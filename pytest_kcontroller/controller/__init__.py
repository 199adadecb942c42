"""The controller: Kafka 3.9's ZooKeeper mode is the rule.

controller   the candidate of one node: its session, its term, the consumer of its events
candidacy    winning /controller, and giving it back
failover     the beginning of a term
term         what exists only while this node is the active controller
events/      one file per Kafka event: what has happened, what is done about it
event_queue  the queue between what happens and the consumer
failures     what an exception does to an event, a term and the node
context      what the controller knows, with its indices; its only writer
transitions  the two state machines as tables; a transition as a value
machines/    partitions, replicas: decide, write fenced, update the context, fill the batch
decide/      who leads, who is in sync, whether replicas may be reassigned: pure
reassignment other replicas for a partition, phase by phase; reassignment_znode: who asks for them by znode
loading      reading brokers and topics, with their watches
fences       what each kind of write is fenced with
batch        which request each broker gets
channels     one queue and one connection per broker
answers      what brokers answer

It logs under this package's name; a node's process writes that into its log (node.process).
"""

import logging

logging.getLogger(__name__).addHandler(logging.NullHandler())  # in simulated time the history says what failed
