"""A controller takes a topic for deleted only when every broker with a replica has answered that it has deleted that one.

Both are in the record of the controller itself, so that no clock matters: the answers as they came, and what it made of
them.
"""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, Verdict
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import ReplicasDeleted, TopicDeletionComplete


class DeletedByEveryReplica(Invariant):
    name = "deleted-by-every-replica"
    kind = SAFETY
    expected = "a controller ends the deletion of a topic after the answers of all brokers that have a replica of it"
    source = "KAFKA-9946 (fixed in Kafka 2.6)"

    def check(self, history: History) -> Verdict:
        answered: dict[tuple[str, int, str, int], None] = {}
        """Process, its controller epoch, partition, broker: since the last topic of that name was deleted."""
        checks = 0
        for event in sorted(history.of(ReplicasDeleted, TopicDeletionComplete), key=lambda event: int(event["seq"])):
            who = str(event["writer"]), int(event["epoch"])
            if event["kind"] == ReplicasDeleted.kind:
                answered |= dict.fromkeys((*who, name, int(event["broker"])) for name in _partitions(event))
                continue
            for name, brokers in sorted(event["replicas"].items()):
                checks += 1
                missing = [broker for broker in brokers if (*who, name, broker) not in answered]
                if missing:
                    return _violated(checks, event, name, missing)
                for broker in brokers:
                    del answered[*who, name, broker]
        return Verdict.of(checks)


def _partitions(event: Event) -> list[str]:
    return [f"{topic}-{number}" for topic, columns in event["topics"].items() for number in columns["partition"]]


def _violated(checks: int, event: Event, name: str, missing: list[int]) -> Verdict:
    writer, topic = event["writer"], name.rpartition("-")[0]
    seen = (
        f"{writer} took {topic} for deleted, and of {name} the brokers {missing} had not answered that they deleted it"
    )
    witness = {"writer": writer, "seq": event["seq"], "t_us": event["t_us"], "epoch": event["epoch"]}
    return Verdict.violated(checks, seen=seen, where=f"{writer}, topic {topic}", witness=witness | {"missing": missing})
