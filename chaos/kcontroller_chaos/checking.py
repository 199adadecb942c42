"""What invariants have in common: the verdict, and ZooKeeper's writes with the epoch of the session that made them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kcontroller_chaos.history.read import Event, History
from pytest_kcontroller.model.history import SessionGranted, TestAction, ZkState
from pytest_kcontroller.model.text import json_or_none, whole_number
from pytest_kcontroller.zookeeper.partition_lists import PREFERRED_ELECTION
from pytest_kcontroller.zookeeper.znodes import (
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    REASSIGN_PARTITIONS,
    TOPICS,
    parse_state_path,
)

SAFETY, LIVENESS = "safety", "liveness"
NEVER_EXERCISED = "never exercised"
"""The verdict of an invariant that found nothing in the whole run that it is about."""
VERDICTS = ("held", "violated", "unknown", NEVER_EXERCISED)
WRITES = ("create", "create2", "set")
ENDING = ("kill", "stop")
"""What a test does to a node that ends its process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`verdict` is held, violated, unknown or never exercised; `checks` how many times there was something to check."""

    verdict: str
    checks: int = 0
    seen: str = ""
    where: str = ""
    witness: Mapping[str, Any] | None = None

    @classmethod
    def unknown(cls, why: str) -> Verdict:
        return cls(verdict="unknown", seen=why)

    @classmethod
    def of(cls, checks: int, why: str = "") -> Verdict:
        """Held, if there was anything to check; else never exercised, and `why` that is so."""
        if checks:
            return cls(verdict="held", checks=checks)
        return cls(verdict=NEVER_EXERCISED, seen=f"nothing to check{why and f': {why}'}")

    @classmethod
    def violated(cls, checks: int, *, seen: str, where: str, witness: Mapping[str, Any]) -> Verdict:
        """`seen` instead of what is expected, `where` (a zxid, a file), and everything that proves it."""
        return cls(verdict="violated", checks=checks, seen=seen, where=where, witness=witness)

    def entry(self, name: str, kind: str, expected: str) -> dict[str, Any]:
        """What verdicts.json has of it (docs/formats.md)."""
        return {
            "name": name,
            "kind": kind,
            "verdict": self.verdict,
            "checks": self.checks,
            "expected": expected,
            "seen": self.seen,
            "where": self.where,
            "witness": self.witness,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One accepted write of a znode. `version` is its own after a set. `epoch` is the newest controller epoch then; `own`
    the one that the session was elected with last, or None."""

    zxid: int
    session: str
    type: str
    path: str
    data: Any
    version: int | None
    epoch: int
    own: int | None

    @property
    def json(self) -> Any:
        return json_or_none(self.data)

    @property
    def state(self) -> dict[str, Any] | None:
        """Of a partition, if it is one: what somebody else wrote in its place is nothing that a rule could be about."""
        return partition_state(self.data)

    @property
    def where(self) -> str:
        return f"zxid {self.zxid:#x}, {self.path}"

    def witness(self, **more: Any) -> dict[str, Any]:
        return {"zxid": hex(self.zxid), "session": self.session, "path": self.path, **more}


@lru_cache(maxsize=1)  # every second invariant asks for those of the run that is judged
def writes(history: History) -> tuple[Write, ...]:
    """Accepted writes in zxid order. The write of /controller_epoch itself has the new epoch already."""
    return tuple(_writes(history))


def _writes(history: History) -> Iterator[Write]:
    for txn, epoch, own in terms(history):
        for op in accepted(txn):
            yield Write(
                zxid=int(txn["zxid"]),
                session=str(txn["session"]),
                type=op["type"],
                path=op["path"],
                data=op["data"],
                version=op.get("version"),
                epoch=epoch,
                own=own,
            )


def terms(history: History) -> Iterator[tuple[Event, int, int | None]]:
    """Each transaction, with the newest controller epoch when it is over, and that of its session's last election."""
    epoch, elected = 0, dict[str, int]()
    for txn in history.txns:
        session = str(txn["session"])
        for op in accepted(txn):
            if op["path"] != CONTROLLER_EPOCH or op["type"] not in WRITES:
                continue
            if (written := whole_number(op["data"])) is not None:
                epoch = written
                if epoch > 0:
                    elected[session] = epoch
        yield txn, epoch, elected.get(session)


def accepted(txn: Event) -> list[Event]:
    """The operations that took effect: none, if one of them was refused."""
    ops = txn.get("ops", [])
    return [] if any(op["type"] == "error" for op in ops) else [op for op in ops if op["type"] != "check"]


def nodes_of_sessions(history: History) -> dict[str, int]:
    """Session -> node, as the nodes say, or their links; any other session belongs to the run itself."""
    return {str(event["session"]): int(event["node"]) for event in history.of(SessionGranted)} | {
        str(event["session"]): node
        for event in history.of(ZkState)
        if (node := node_of(event)) is not None and event.get("session")
    }


def node_of(event: Event) -> int | None:
    """The node that wrote an event; a restarted one writes as `node-1.2`."""
    number = str(event["writer"]).removeprefix("node-").partition(".")[0]
    return int(number) if str(event["writer"]).startswith("node-") and number.isdigit() else None


def ended_by_test(history: History, node: int) -> list[int]:
    """The run times at which a test began to end the node's process itself."""
    return [
        int(action["t_us"])
        for action in history.of(TestAction)
        if action["action"] in ENDING and action["arguments"] == str(node)
    ]


def controller_named(data: Any) -> int | None:
    """The node that /controller names; None: it is something else. 0.8 to 1.0 read a bare number too."""
    value = json_or_none(data)
    named = value.get("brokerid") if isinstance(value, dict) else value
    return named if type(named) is int else None


def partition_state(data: Any) -> dict[str, Any] | None:
    """The JSON of a partition's state; None: it is something else."""
    value = json_or_none(data)
    if not isinstance(value, dict) or not _all_ints(value.get("isr")):
        return None
    numbers = (value.get(name) for name in ("leader", "leader_epoch", "controller_epoch"))
    return value if all(type(number) is int for number in numbers) else None


def assigned_replicas(data: Any) -> dict[int, list[int]]:
    """Partition -> replicas, of the JSON of a topic; empty: it is something else."""
    value = json_or_none(data)
    partitions = value.get("partitions") if isinstance(value, dict) else None
    named = partitions.items() if isinstance(partitions, dict) else ()
    numbered = ((whole_number(number), replicas) for number, replicas in named)
    return {number: replicas for number, replicas in numbered if number is not None and _all_ints(replicas)}


def _all_ints(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) is int for number in value)


def is_state(path: str) -> bool:
    return parse_state_path(path) is not None


def is_topic(path: str) -> bool:
    return path.startswith(f"{TOPICS}/") and path.count("/") == 3


def is_answered(path: str) -> bool:
    """What asks a controller for something, and is deleted by it when that has been done."""
    return path in (PREFERRED_ELECTION, REASSIGN_PARTITIONS) or path.startswith(
        (f"{ISR_CHANGE_NOTIFICATION}/", f"{LOG_DIR_EVENT_NOTIFICATION}/", f"{DELETE_TOPICS}/")
    )
