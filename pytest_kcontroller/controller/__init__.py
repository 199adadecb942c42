"""The controller: Kafka 3.9's ZooKeeper mode is the rule.

states       the two state machines as tables
context      what the controller knows; made anew at each election
elections    asking selectors, checking what they answer, and the stock rule when it is bad
batch        which request each broker gets
channels     one queue and one connection per broker
machines     transitions: what is decided, what is written, what is sent
events       one queue, one consumer
controller   the events' handlers: election, failover, resignation, brokers, topics, ISR changes
"""
