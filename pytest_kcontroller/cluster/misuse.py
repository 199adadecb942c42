"""What is said of a call that asks for what cannot be: the same words on every backend."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kcontroller.errors import UsageError


def unknown_node(node: int, nodes: Sequence[int]) -> UsageError:
    return UsageError(f"there is no node {node}; there are: {', '.join(map(str, nodes))}")


def not_running(node: int, signal: str) -> UsageError:
    return UsageError(f"node {node} does not run, so it cannot get {signal}", hint="restart it first")


def running_already(node: int) -> UsageError:
    return UsageError(f"node {node} runs already", hint="stop or kill it first")
