"""KAFKA-6082, only where notifications and preferred elections end: every other write of a controller stays fenced."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.seams import Mutant
from pytest_kcontroller.zookeeper.session import ANY_VERSION
from pytest_kcontroller.zookeeper.store import Fence


def any_epoch(context: Context) -> Fence:
    """A check that every version passes."""
    return Fence(ANY_VERSION)


MUTANT = Mutant(
    name="KAFKA-6082-notifications",
    description="A deposed controller deletes notifications and requests for preferred elections that are its successor's.",
    source="https://issues.apache.org/jira/browse/KAFKA-6082",
    replacements=(("controller.fence-notifications", any_epoch),),
    breaks=("no-stale-epoch-write",),
)
