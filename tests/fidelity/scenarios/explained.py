"""Where the recorded system is wrong, and ours is not: the table in docs/fidelity.md is compared with this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.zookeeper.znodes import parse_state_path
from tests.fidelity.scenarios.records import Difference, Explains, Record

ELECTION, REASSIGNMENT = "preferred_replica_election", "reassign_partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedSteps:
    """`records`: where it is seen, and from which step on; `differs` says whether a difference is of this kind."""

    what: str
    why: str
    records: dict[str, int]
    differs: Callable[[Record, Difference], bool]
    mutant: str | None = None
    """With it ours does the same; None: there is none."""


def _left_behind(znode: str, difference: Difference) -> bool:
    """Below /admin, where the recorded system has it and ours does not."""
    if difference.what != "children of /admin":
        return False
    return [name for name in difference.theirs if name not in difference.ours] == [znode]


def _of_election(record: Record, difference: Difference) -> bool:
    """The request stays, and every later one finds it there."""
    if difference.what == "answer":
        in_the_way = (difference.theirs, difference.ours) == ("NodeExistsError", None)
        return in_the_way and record.steps[difference.step][0] == "elect"
    return _left_behind(ELECTION, difference)


def _deleted_while_moved(record: Record, until: int) -> frozenset[str]:
    """Topics that somebody deletes in the step `until` or before, while replicas of theirs are on the move."""
    moving: dict[str, bool] = {}
    deleted: list[str] = []
    for step, entry in zip(record.steps[: until + 1], record.log, strict=False):
        if step[0] == "delete" and moving.get(step[1]):
            deleted.append(step[1])
        for path, values in entry["znodes"].items():
            last = values[-1]
            if path.count("/") == 3 and isinstance(last, dict):
                moving[path.rpartition("/")[2]] = bool(last["adding_replicas"] or last["removing_replicas"])
    return frozenset(deleted)


def _of_deleted_while_moved(record: Record, difference: Difference) -> bool:
    """What is done for it, and what is left of it and of its request."""
    topics = _deleted_while_moved(record, difference.step)
    if not topics:
        return False
    what = difference.what
    if what == "children of /admin":
        return _left_behind(REASSIGNMENT, difference)
    if what in ("children of /admin/delete_topics", "children of /brokers/topics"):
        return topics >= set(difference.theirs) ^ set(difference.ours)
    return any(f" {topic}-" in what or what.startswith(f"/brokers/topics/{topic}/") for topic in topics)


def _reassigned_before_led(record: Record, until: int) -> frozenset[str]:
    """Partitions, as `t0-1`, that somebody reassigned by the step `until` before they had a state."""
    led: dict[str, None] = {}
    found: list[str] = []
    for step, entry in zip(record.steps[: until + 1], record.log, strict=False):
        if step[0] == "reassign" and entry["ans"] is None:
            found += [name for topic, partition, _ in step[1] if (name := f"{topic}-{partition}") not in led]
        for path in entry["znodes"]:
            if (tp := parse_state_path(path)) is not None:
                led[str(tp)] = None
    return frozenset(found)


def _of_replica_without_state(record: Record, difference: Difference) -> bool:
    """One that has no state is sent nothing when its broker's log directory fails."""
    what, _, partition = difference.what.rpartition(" ")
    nothing_sent = what.startswith("stub ") and difference.theirs is None
    asked = record.steps[difference.step][0] == "logdir"
    return nothing_sent and asked and partition in _reassigned_before_led(record, difference.step)


EXPLAINED_STEPS = (
    ExplainedSteps(
        what="A preferred election of a partition that never had a leader",
        why="Kafka 3.9.1 throws `NoSuchElementException: None.get` and leaves `/admin/preferred_replica_election` where it "
        "is: later requests cannot be made, and every later controller resigns in its failover, without end (records 1002, "
        "1026, 1032 are `restless` by it). Ours answers that there is nobody to elect, and takes the request away",
        records={
            "1001": 15,
            "1002": 9,
            "1011": 16,
            "1013": 24,
            "1018": 29,
            "1021": 18,
            "1022": 23,
            "1026": 12,
            "1031": 25,
            "1032": 23,
            "1033": 10,
        },
        differs=_of_election,
        mutant="PREFERRED-ELECTION-LOOP",
    ),
    ExplainedSteps(
        what="A topic is deleted while replicas of it are on the move",
        why="Kafka 3.9.1 goes on with the reassignment, which a topic without leaders may never finish: in record 1011 its "
        "deletion never ends, in 1029 the request of a topic that is gone stays in `/admin/reassign_partitions`, in the way "
        "of the next one until the controller changes. Ours ends the reassignment and deletes the topic",
        records={"1002": 24, "1009": 15, "1011": 28, "1029": 28},
        differs=_of_deleted_while_moved,
    ),
    ExplainedSteps(
        what="A partition that never had a leader is reassigned",
        why="Kafka 3.9.1 gives up before its new replicas have got a state, and does not make up for that once it is led: "
        "in record 1031 broker 104 leads `t1-4`, and is left out when the controller asks about its failed log directory. "
        "Ours has a state for each replica; without it a deletion of the topic would never end",
        records={"1031": 29},
        differs=_of_replica_without_state,
    ),
)


def explained(record: Record) -> Explains:
    """Whether a difference of this record is explained."""
    return lambda difference: any(one.differs(record, difference) for one in EXPLAINED_STEPS)


def seen_in(record: Record, differences: list[Difference]) -> dict[str, Any]:
    """Kind of explanation -> the first step in which it was needed."""
    found: dict[str, Any] = {}
    for difference in differences:
        for one in EXPLAINED_STEPS:
            if one.differs(record, difference):
                found.setdefault(one.what, difference.step)
    return found
