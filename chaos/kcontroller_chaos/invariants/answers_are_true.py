"""What a request was answered is in ZooKeeper: the ISR that a leader was granted, and what a client asked for.

A leader that believes in an ISR that nobody wrote counts on replicas that may not be elected, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, Write, writes
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import BrokerAnsweredClient, BrokerIsrChanged
from pytest_kcontroller.model.text import in_words
from pytest_kcontroller.zookeeper.znodes import state_path


class AnswersAreTrue(Invariant):
    name = "answers-are-true"
    kind = SAFETY
    expected = "an answer without an error says what has been written"
    source = (
        "kafka.controller.KafkaController.processAlterPartition, kafka.server.ZkAdminManager: answered after the write"
    )

    def check(self, history: History) -> Verdict:
        """By content, not by time: nodes and ZooKeeper have clocks of their own."""
        written: dict[str, list[Write]] = {}
        for write in writes(history):
            if write.type in WRITES:
                written.setdefault(write.path, []).append(write)
        checks = 0
        for event, path, what, holds in _answers(history):
            checks += 1
            if not any(_holds(write, holds) for write in written.get(path, ())):
                seen = f"{event['writer']} says that {what} was done, and no write of {path} has {in_words(holds)}"
                witness = {"writer": event["writer"], "t_us": event["t_us"], "path": path, "holds": dict(holds)}
                return Verdict.violated(checks, seen=seen, where=path, witness=witness)
        return Verdict.of(checks)


def _answers(history: History) -> Iterator[tuple[Event, str, str, Mapping[str, Any]]]:
    """Who was told, the znode, what was asked, and what the znode must have had."""
    for row in history.rows(BrokerIsrChanged):
        path = state_path(TopicPartition(row["topic"], row["partition"]))
        yield row, path, "AlterPartition", {"version": row["partition_epoch"], "isr": row["isr"]}
    for event in history.of(BrokerAnsweredClient):
        yield event, event["znode"], event["api"], event["holds"]


def _holds(write: Write, holds: Mapping[str, Any]) -> bool:
    return all(_value(write, name) == wanted for name, wanted in holds.items())


def _value(write: Write, name: str) -> Any:
    """`version` is the znode's; `partitions` are counted; what is configured is below `config`."""
    if name == "version":
        return write.version
    value = write.json
    if not isinstance(value, dict):
        return None
    if name == "partitions":
        return len(value.get("partitions", ()))
    return value["config"].get(name) if isinstance(value.get("config"), dict) else value.get(name)
