"""The fields that several kinds of events have: each is said once, and means the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pytest_kcontroller.model.history.event import About

Node = Annotated[int, About("the id of a node, which is its broker id")]
Broker = Annotated[int, About("the id of a broker, which is that of its node")]
Session = Annotated[str, About('a ZooKeeper session, written as its tools do: `"0x1000123abcd0000"`')]
MaybeSession = Annotated[str | None, About("as `session`; null: there is none, or several are meant")]
Epoch = Annotated[int, About("the controller epoch")]
LeaderEpoch = Annotated[int, About("grows with each new leader of a partition")]
PartitionEpoch = Annotated[int, About("the version of the partition's state znode")]
BrokerEpoch = Annotated[int, About("a registration of a broker: the zxid that made it; -1: not said")]
Topic = Annotated[str, About("the name of a topic")]
Partition = Annotated[int, About("the number of a partition in its topic")]
Point = Annotated[str, About("the name of a hold point")]
Why = Annotated[str, About("the reason, in words")]
ErrorName = Annotated[str, About("the error's name in C: `ENOSPC`, `EIO`, ...; empty: it has none")]
Error = Annotated[str, About("what was raised or refused, in words")]
Columns = Annotated[
    Mapping[str, Mapping[str, list[Any]]],
    About("topic -> columns of the same length: what is at one place of each is one partition"),
]
Counts = Annotated[Mapping[str, int], About("seam -> how often its replacement ran")]
Fault = Annotated[str, About("the id of a fault")]
Mode = Annotated[str | None, About("the mode of a fault; null: its kind has none")]
Op = Annotated[str, About("the id of an admin action")]

COLUMNS: Mapping[str, Any] = {
    "partition": Partition,
    "leader": Broker,
    "leader_epoch": LeaderEpoch,
    "isr": Annotated[list[int], About("the brokers that are in sync")],
    "partition_epoch": PartitionEpoch,
    "delete": Annotated[bool, About("the replica is to be deleted, not only stopped")],
    "refused": Annotated[int, About("the error with which it was refused, by Kafka's numbers; 0: it was done")],
}
"""What a batch says of each of its partitions, by the names of its columns."""
