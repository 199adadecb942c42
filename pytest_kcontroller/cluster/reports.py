"""What nodes of ours report of themselves, as the harness reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_kcontroller.cluster.capabilities import NodeStatus


def still_to_do(statuses: Iterable[NodeStatus]) -> str | None:
    """What came and went before the controller has read it shows nowhere else, and is told to the nodes all the same."""
    for status in statuses:
        if status.active and status.pending:
            what = "watches, events and requests that the controller, node"
            return f"{what} {status.node}, has still before it: {status.pending}"
    return None


def status_of(node: int, answer: Mapping[str, Any]) -> NodeStatus:
    """A node's own report (node.control.NodeReport as JSON) as the harness reads it."""
    return NodeStatus(
        node=node,
        active=bool(answer.get("active")),
        epoch=int(answer.get("epoch") or 0),
        session=_session(answer.get("session")),
        phase=str(answer.get("phase", "")),
        pending=int(answer.get("pending") or 0),
        raw=answer,
    )


def _session(value: object) -> int:
    """A session id as `0x...` or a number; 0 for none."""
    if isinstance(value, str):
        return int(value, 16) if value else 0
    return value if isinstance(value, int) else 0
