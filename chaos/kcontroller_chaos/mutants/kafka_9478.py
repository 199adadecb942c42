"""KAFKA-9478: what a tool adds to /admin/reassign_partitions while others are under way is never done. Not mended in Kafka.

The controller looks at the request when it is made, and replaces it whatever it has become since.
"""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant, unchanged
from pytest_kcontroller.zookeeper.session import ANY_VERSION, Node, WatchKind

CONCERNS, VERSION = "controller.concerns-reassignments", "controller.reassignments-version"


def only_made(kind: WatchKind) -> bool:
    if kind is not WatchKind.CHANGED:
        unchanged(CONCERNS)
    return kind is not WatchKind.CHANGED


def any_version(node: Node) -> int:
    unchanged(VERSION)  # whether somebody has changed it meanwhile is not known here
    return ANY_VERSION


MUTANT = Mutant(
    name="KAFKA-9478",
    description="The controller does not look at a request for reassignments that has changed, and overwrites it.",
    source="https://issues.apache.org/jira/browse/KAFKA-9478",
    replacements=((CONCERNS, only_made), (VERSION, any_version)),
    breaks=("reassignments-end-in-target",),
    kafkas=True,
)
