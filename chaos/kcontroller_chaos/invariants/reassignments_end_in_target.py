"""After healing every partition has the replicas that were asked for last, and nothing of a reassignment is left.

What was asked for is what others than controllers have written into /admin/reassign_partitions, by ZooKeeper's log, or what
a controller says that it was requested and that it has begun. It does not count if the controller has refused it, or if the
topic has been deleted since. A target that is not live is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcontroller_chaos.checking import LIVENESS, WRITES, Verdict, is_topic, writes
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import ReassignmentFailed, ReassignmentRequested, ReplicasReassigned
from pytest_kcontroller.zookeeper.znodes import REASSIGN_PARTITIONS

Targets = dict[str, list[int]]

CLOSE_US = 50_000
"""What two processes have done within this time may have been done in the other order."""


class ReassignmentsEndInTarget(Invariant):
    name = "reassignments-end-in-target"
    kind = LIVENESS
    expected = "no reassignment is left, and each partition is on the replicas that were asked for last"
    source = "KIP-455; KAFKA-6193, KAFKA-5310, KAFKA-9478 and KAFKA-9672"

    def check(self, history: History) -> Verdict:
        if (tree := history.tree) is None:
            return Verdict.unknown("the run did not reach its end: no zk.tree")
        asked, requested = _asked(history), tree.get("requested", {})
        checks = 0
        for now in tree["partitions"]:
            name = f"{now['topic']}-{now['partition']}"
            under_way = bool(now.get("adding") or now.get("removing") or name in requested)
            if not under_way and name not in asked:
                continue
            checks += 1
            if (seen := _wrong(now, asked.get(name), under_way, tree["brokers"])) is not None:
                witness = {"topic": now["topic"], "partition": now["partition"], "asked": asked.get(name), "now": now}
                return Verdict.violated(checks, seen=f"{name} {seen}", where=name, witness=witness)
        return Verdict.of(checks)


def _wrong(now: Event, target: list[int] | None, under_way: bool, live: list[int]) -> str | None:
    replicas, leader, isr = now["replicas"], now["leader"], now["isr"] or []
    if under_way:
        wanted = [replica for replica in replicas if replica not in now["removing"]]
        wanted += target or []
        if leader not in live or any(replica not in live for replica in wanted):
            return None
        return f"is still being reassigned: replicas {replicas}, adding {now['adding']}, removing {now['removing']}"
    if target is not None and replicas != target:
        return f"is on {replicas}, and was to be on {target}"
    if strangers := [member for member in isr if member not in replicas]:
        return f"is on {replicas}, and has {strangers} in its ISR {isr}"
    return None


def _asked(history: History) -> Targets:
    """Partition -> what was asked for last, if it is known, and not refused."""
    refused = [(f"{e['topic']}-{e['partition']}", e["target"]) for e in history.of(ReassignmentFailed)]
    written = _written(history)
    gone = _gone(history)
    requests: dict[str, Event] = {
        f"{e['topic']}-{e['partition']}": e
        for e in history.of(ReassignmentRequested)
        if e["topic"] not in gone or gone[e["topic"]] < e["t_us"] - CLOSE_US
    }
    asked = {name: target for name, (t_us, target) in written.items() if name not in requests}
    for name, request in requests.items():
        between_us = int(request["t_us"]) - written.get(name, (0, []))[0]
        if between_us < -CLOSE_US:
            asked[name] = written[name][1]
        elif between_us > CLOSE_US and _begun(history, request):
            asked[name] = request["target"]
            if name in written and _begun_after(history, request, *written[name]):
                asked[name] = written[name][1]
    return {name: target for name, target in asked.items() if (name, target) not in refused}


def _gone(history: History) -> dict[str, int]:
    """Topic -> when it was deleted last: what was asked of it before is asked of nobody."""
    times = {int(txn["zxid"]): int(txn["t_us"]) for txn in history.txns}
    deleted = [write for write in writes(history) if is_topic(write.path) and write.type == "delete"]
    return {write.path.rpartition("/")[2]: times[write.zxid] for write in deleted}


def _begun(history: History, request: Event) -> bool:
    """Whether the controller that was requested was still one: a fenced one has begun nothing."""
    return any(
        (event["topic"], event["partition"], event["writer"])
        == (request["topic"], request["partition"], request["writer"])
        and event["t_us"] >= request["t_us"]
        and [replica for replica in event["replicas"] if replica not in event["removing"]] == request["target"]
        for event in history.of(ReplicasReassigned)
    )


def _begun_after(history: History, request: Event, written_us: int, target: list[int]) -> bool:
    """Whether a request that had waited came before an entry that was written while it did: only then was that begun."""
    begun = [
        event["t_us"]
        for event in history.of(ReplicasReassigned)
        if (event["topic"], event["partition"]) == (request["topic"], request["partition"])
        and event["t_us"] >= written_us
        and [replica for replica in event["replicas"] if replica not in event["removing"]] == target
    ]
    return bool(begun) and min(begun) >= request["t_us"]


def _written(history: History) -> dict[str, tuple[int, list[int]]]:
    """Partition -> when its entry was written last by somebody who is no controller, and its target."""
    times = {int(txn["zxid"]): int(txn["t_us"]) for txn in history.txns}
    held: Targets = {}
    asked: dict[str, tuple[int, list[int]]] = {}
    for write in writes(history):
        if write.path == REASSIGN_PARTITIONS:
            before, held = held, _targets(write.json) if write.type in WRITES else {}
            if write.own is None:
                new = {name: target for name, target in held.items() if before.get(name) != target}
                asked |= {name: (times[write.zxid], target) for name, target in new.items()}
        elif is_topic(write.path) and write.type != "set":
            topic = write.path.rpartition("/")[2]
            asked = {name: what for name, what in asked.items() if name.rpartition("-")[0] != topic}
    return asked


def _targets(value: Any) -> Targets:
    """Of the znode, whatever somebody has written there."""
    entries = value.get("partitions") if isinstance(value, Mapping) else None
    return {
        f"{entry['topic']}-{entry['partition']}": entry["replicas"]
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, Mapping) and {"topic", "partition", "replicas"} <= entry.keys()
    }
