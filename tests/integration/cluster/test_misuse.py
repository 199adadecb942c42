"""A call that asks for what cannot be is refused in the same words on every backend."""

from __future__ import annotations

from typing import Any

from pytest_kcontroller.cluster.capabilities import HOLDS
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.errors import EnvironmentFailure, KControllerError, NotOnThisBackend, UsageError
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE

DEAD, ALIVE, UNKNOWN = 1, 0, 7
NO_NODE = "there is no node 7; there are: 0, 1"
ASKED = ("kill", "terminate", "stop_node", "restart", "pause", "resume", "hold", "session", "expire_session_server")
EXPECTED = {
    **{(name, UNKNOWN): (UsageError, NO_NODE) for name in ASKED},
    ("kill", DEAD): (UsageError, "node 1 does not run, so it cannot get SIGKILL\n  -> restart it first"),
    ("terminate", DEAD): (UsageError, "node 1 does not run, so it cannot get SIGTERM\n  -> restart it first"),
    ("stop_node", DEAD): (UsageError, "node 1 does not run, so it cannot get SIGTERM\n  -> restart it first"),
    ("pause", DEAD): (UsageError, "node 1 does not run, so it cannot get SIGSTOP\n  -> restart it first"),
    ("hold", DEAD): (EnvironmentFailure, "node 1 does not answer"),
    ("expire_session_server", DEAD): (EnvironmentFailure, "node 1 has no session that could be closed"),
    ("restart", ALIVE): (UsageError, "node 0 runs already\n  -> stop or kill it first"),
}


async def ask(cluster: Cluster, name: str, node: int) -> tuple[type, str] | None:
    """What it raises."""
    try:
        if name == "session":
            cluster.session(node)
        elif name == "hold":
            await cluster.capability(HOLDS).hold(node, BEFORE_STATE_WRITE)
        else:
            await getattr(cluster, name)(node)
    except KControllerError as refused:
        return type(refused), str(refused)
    return None


def test_misuse_is_refused_in_the_same_words(on_backend: Any) -> None:
    found: dict[tuple[str, int], tuple[type, str] | None] = {}
    expected = EXPECTED
    if HOLDS in on_backend.backend.lacks:
        said = NotOnThisBackend, f"this backend has no {HOLDS}"
        expected = EXPECTED | {("hold", UNKNOWN): said, ("hold", DEAD): said}

    async def script(cluster: Cluster) -> None:
        await cluster.kill(DEAD)
        for name, node in EXPECTED:
            found[name, node] = await ask(cluster, name, node)
        await cluster.resume(DEAD)  # as SIGCONT to nobody: healing a pause after a kill is no mistake

    on_backend(script)
    assert found == expected
