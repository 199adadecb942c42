"""The partition and the replica state machine: decide purely, write fenced, update the context, fill the batch.

states       reads and writes of state znodes, compare-and-set from what the context holds
partitions   partitions: New, Online, Offline
replicas     replicas: New, Online, Offline, Ineligible

Sources: kafka.controller.ZkPartitionStateMachine and ZkReplicaStateMachine (3.9).
"""
