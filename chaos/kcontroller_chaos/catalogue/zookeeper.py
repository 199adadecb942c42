"""What a fault on ZooKeeper's own servers asks of whoever names it: its target, and how many servers there are."""

from __future__ import annotations

from kcontroller_chaos.catalogue.placement import ZOOKEEPER
from kcontroller_chaos.faults import Fault


def default_target(fault: Fault | type[Fault]) -> str:
    """Whom it hits where nobody is named."""
    return ZOOKEEPER if fault.on_zookeeper else "controller"


def wrong_target(fault: Fault, target: str) -> tuple[str, str] | None:
    """What is wrong with the target of this fault, and what to do; None: nothing, as far as that goes."""
    if fault.on_zookeeper and target != ZOOKEEPER:
        return f"{fault.kind} is on ZooKeeper's servers, and not on {target!r}", f"leave it out, or say `{ZOOKEEPER}`"
    if target == ZOOKEEPER and not fault.on_zookeeper:
        return f"{fault.kind} is on a node, and `{ZOOKEEPER}` is none", "name a node, or a fault zookeeper_..."
    return None


def too_few(fault: Fault | type[Fault], servers: int) -> tuple[str, str] | None:
    """The same where ZooKeeper has too few servers for it."""
    if servers >= fault.least_zookeepers:
        return None
    return f"{fault.kind} needs an ensemble, and ZooKeeper has one server", "say zookeeper = 3 of the cluster"
