"""What every fault has in a campaign file, whatever its kind: whom it hits, when, for how long."""

from __future__ import annotations

from kcontroller_chaos.catalogue.key import REQUIRED, Key
from pytest_kcontroller.model.history import LeaderElected

DAY_S = 86_400
ZOOKEEPER = "zookeeper"
"""The target of a fault that is on ZooKeeper's own servers, and of no other."""
_NODES = ("controller", "new-controller", "others", "random", "any", "node:N", "leader-of:TOPIC-N", "owner-of:PATH")
TARGETS = (*_NODES, ZOOKEEPER)
POINTS = ("write", "written", "request", "rare-write", "rare-written")
"""Crash points, which only simulated time has (pytest_kcontroller/sim/crash_points.py): `write:3` is the third one."""
EVENTS = ("epoch.changed", LeaderElected.kind)
TRIGGERS = ("observed:FAULT", "healed:FAULT", "answered:FAULT", *EVENTS, *(f"{point}:N" for point in POINTS))

FAULT_KEYS = (
    Key("kind", "string", "what is done", REQUIRED),
    Key("id", "string", "what other faults call it; default: fault-N, from 0 in the order of the file", None),
    Key(
        "target",
        "string",
        f"the node: {', '.join(_NODES)}; {ZOOKEEPER} of a fault on its servers, and without being said",
        "controller",
    ),
    Key("mode", "string", "how, for kinds that have modes; default: the kind's first", None),
    Key("at_s", "number", "when, from the start of the run; the seed moves it a little", None, "s", least=0),
    Key(
        "when",
        "string",
        "instead of at_s, what it waits for: "
        + ", ".join(TRIGGERS)
        + "; a crash point (the last five: just before the node's N-th write leaves for ZooKeeper, just after its effect, "
        "before its N-th request leaves; before or after a write of a kind that has come N times at most) counts from at_s",
        None,
    ),
    Key("after_ms", "number", "with when: so long after that", 0, "ms", least=0, most=DAY_S * 1000),
    Key(
        "still_ms",
        "number",
        "at a crash point: so long the node stands still after the injection",
        0,
        "ms",
        least=0,
        most=10_000,
    ),
    Key(
        "duration_s", "number", "until it is healed; default: as soon as it is observed", None, "s", least=0, most=DAY_S
    ),
    Key("until", "string", "instead of duration_s, what ends it (as when)", None),
    Key("if_possible", "boolean", "skipped, not a failed run, if its target or its moment is not there", False),
)
