"""What is said of a call that asks for what cannot be: the same words on every backend."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kcontroller.cluster.contract import NodeSession
from pytest_kcontroller.errors import EnvironmentFailure, UsageError

__tracebackhide__ = True  # pytest: a failing call is shown where the test makes it


def unknown_node(node: object, nodes: Sequence[int], also: Sequence[str] = ()) -> UsageError:
    """`also`: what may be said there besides a node."""
    known = (*map(str, nodes), *map(repr, also))
    return UsageError(f"there is no node {node!r}; there are: {', '.join(known)}")


def not_running(node: int, to_what: str) -> UsageError:
    return UsageError(f"node {node} does not run, so it cannot {to_what}", hint="restart it first")


def running_already(node: int) -> UsageError:
    return UsageError(f"node {node} runs already", hint="stop or kill it first")


def failed_already(log_dir: str, node: int) -> str:
    """`log_dir` as capabilities.Disks has it."""
    return f"{log_dir or 'the disk'} of node {node} has failed already"


def session_to_close(
    node: int, newest: NodeSession | None, known: Sequence[NodeSession], session_id: int | None
) -> NodeSession:
    """The one of that id, or the newest if none is named. Raises EnvironmentFailure: the node has none such."""
    found = newest if session_id is None else next((one for one in known if one.session_id == session_id), None)
    if found is None:
        raise EnvironmentFailure(f"node {node} has no session that could be closed")
    return found


def check_known(node: object, nodes: Sequence[int], also: Sequence[str] = ()) -> None:
    """`also`: what else may be said there, for the sentence. Raises UsageError. True is no node 1, and neither is 1.0,
    although Python finds them equal."""
    if type(node) is not int or node not in nodes:
        raise unknown_node(node, nodes, also)


def check_log_dir(node: int, name: object, names: Sequence[str]) -> None:
    """Raises UsageError. `names` are those of the node's log directories."""
    if name in names:
        return
    if len(names) == 1:
        more = "name it '', or start the cluster with more `log_dirs`"
        raise UsageError(f"node {node} has one log directory, which is its disk", hint=more)
    raise UsageError(f"node {node} has no log directory {name!r}; there are: {', '.join(names)}")
