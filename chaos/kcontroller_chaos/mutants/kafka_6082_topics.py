"""KAFKA-6082, only where topic znodes are written: every other write of a controller stays fenced."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.seams import Mutant
from pytest_kcontroller.zookeeper.session import ANY_VERSION
from pytest_kcontroller.zookeeper.store import Fence


def any_epoch(context: Context) -> Fence:
    """A check that every version passes."""
    return Fence(ANY_VERSION)


MUTANT = Mutant(
    name="KAFKA-6082-topics",
    description="A deposed controller's writes of topic znodes are accepted; its other writes are fenced.",
    source="https://issues.apache.org/jira/browse/KAFKA-6082",
    replacements=(("controller.fence-topics", any_epoch),),
    breaks=("no-stale-epoch-write",),
)
