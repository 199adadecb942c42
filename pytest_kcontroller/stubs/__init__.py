"""Stub brokers: what makes any controller that speaks Kafka's protocol believe in brokers, without a broker.

requests  what was received: versions of 0.10.2 to 3.9, taken apart by partition
answers   what is answered: success, or what a test has asked for
broker    one stub broker: its registration, its socket, what it asks of the controller
"""
