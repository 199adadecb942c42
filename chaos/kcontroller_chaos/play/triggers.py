"""What `when` and `until` of a campaign wait for, read from the feed.

observed:ID    the fault has been observed
healed:ID      it has been healed
answered:ID    after the controller epoch has moved on, ZooKeeper's log has the answer to a state write in the session that
               the hold ID holds: the write itself, or a multi that was refused because of its epoch (-103)
epoch.changed  /controller_epoch has been written
leader.elected a node says that a partition has a new leader
"""

from __future__ import annotations

from kcontroller_chaos.feed import Event, Feed
from kcontroller_chaos.history.transactions import ZkTxn
from pytest_kcontroller.model.history import FaultApplied, FaultHealed, FaultObserved, LeaderElected
from pytest_kcontroller.zookeeper.session import BadVersionError
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH, parse_state_path

WRITES = ("create", "create2", "set")
STEPS = {"observed": FaultObserved.kind, "healed": FaultHealed.kind}


async def wait_for(trigger: str, feed: Feed, *, since: int) -> None:
    """Returns when it has happened at or after the feed's position `since`. Raises ValueError for an unknown name."""
    name, _, fault = trigger.partition(":")
    if (kind := STEPS.get(name)) is not None:
        await feed.wait(lambda e: e["kind"] == kind and e["fault"] == fault)
    elif name == "answered":
        await _answered(feed, fault)
    elif name == "epoch.changed":
        await feed.wait(changes_epoch, since=since)
    elif name == LeaderElected.kind:
        await feed.wait(lambda e: e["kind"] == name, since=since)
    else:
        raise ValueError(f"no trigger {trigger!r}")


async def _answered(feed: Feed, fault: str) -> None:
    asked = await feed.wait(lambda e: e["kind"] == FaultApplied.kind and e["fault"] == fault)
    session = asked["session"]
    after = feed.events.index(asked)
    changed = await feed.wait(lambda e: changes_epoch(e) and e["session"] != session, since=after)
    await feed.wait(lambda e: _answers(e, session), since=feed.events.index(changed))


def changes_epoch(event: Event) -> bool:
    return event["kind"] == ZkTxn.kind and any(
        op["type"] in WRITES and op["path"] == CONTROLLER_EPOCH for op in event.get("ops", ())
    )


def _answers(event: Event, session: str) -> bool:
    if event["kind"] != ZkTxn.kind or event["session"] != session:
        return False
    ops = event.get("ops") or [{"type": ""}]
    if ops[0]["type"] == "error":
        return bool(ops[0]["code"] == BadVersionError.code)
    return any(op["type"] in WRITES and parse_state_path(op["path"]) is not None for op in ops)
