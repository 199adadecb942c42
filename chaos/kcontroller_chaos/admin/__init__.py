"""Admin actions: what can be asked of a cluster while it runs, one module per action.

Each is used in three ways: an entry of a campaign's `[[workload]]`, what `[generator]` draws, and a method of `kcluster`.

Public: `AdminAction`, `Situation`, `ACTIONS`.
"""

from __future__ import annotations

from kcontroller_chaos.admin.action import AdminAction, Situation
from kcontroller_chaos.admin.add_node import AddNode
from kcontroller_chaos.admin.add_partitions import AddPartitions
from kcontroller_chaos.admin.create_topic import CreateTopic
from kcontroller_chaos.admin.delete_topic import DeleteTopic
from kcontroller_chaos.admin.elect_preferred import ElectPreferred
from kcontroller_chaos.admin.elect_unclean import ElectUnclean
from kcontroller_chaos.admin.reassign import CancelReassignment, Reassign
from kcontroller_chaos.admin.set_config import SetConfig

__all__ = [
    "ACTIONS",
    "AddNode",
    "AddPartitions",
    "AdminAction",
    "CancelReassignment",
    "CreateTopic",
    "DeleteTopic",
    "ElectPreferred",
    "ElectUnclean",
    "Reassign",
    "SetConfig",
    "Situation",
]

_ALL: tuple[type[AdminAction], ...] = (
    CreateTopic,
    DeleteTopic,
    AddPartitions,
    ElectPreferred,
    ElectUnclean,
    Reassign,
    CancelReassignment,
    SetConfig,
    AddNode,
)
ACTIONS: dict[str, type[AdminAction]] = {action.kind: action for action in _ALL}
"""By name, in the order of the docs."""
