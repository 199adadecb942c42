"""KAFKA-6082, only where topics are deleted from ZooKeeper: every other write of a controller stays fenced."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.seams import Mutant
from pytest_kcontroller.zookeeper.session import ANY_VERSION
from pytest_kcontroller.zookeeper.store import Fence


def any_epoch(context: Context) -> Fence:
    """A check that every version passes."""
    return Fence(ANY_VERSION)


MUTANT = Mutant(
    name="KAFKA-6082-deletions",
    description="A deposed controller deletes znodes and configs of topics; its other writes are fenced.",
    source="https://issues.apache.org/jira/browse/KAFKA-6082",
    replacements=(("controller.fence-deleted-topics", any_epoch),),
    breaks=("no-stale-epoch-write",),
)
