"""disk_wipe: a node comes back with nothing of what it had kept."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults._processes import SIGKILLED, Down, killed, start_again
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import DISKS
from pytest_kcontroller.errors import EnvironmentFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskWipe(Down):
    """SIGKILL to the node's process, and its directory is emptied; healing starts it again on that."""

    kind = "disk_wipe"
    example = """\
[[faults]]
kind = "disk_wipe"
target = "random"
at_s = 2
duration_s = 1.5
"""
    ends_session = ends_process = True
    exit_statuses = (SIGKILLED,)
    claims = (PROCESS, SESSION, TASKS)
    needs = (DISKS,)

    async def inject(self, on: Injection) -> None:
        disks = on.cluster.capability(DISKS)
        if not disks.files(on.node):
            raise EnvironmentFailure(f"there is nothing on the disk of node {on.node} that could be wiped")
        await on.cluster.kill(on.node)
        disks.wipe(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """As of a kill; and there is no file in the directory."""
        if files := on.cluster.capability(DISKS).files(on.node):
            raise EnvironmentFailure(f"the disk of node {on.node} is not empty: it has {', '.join(files)}")
        return {"files": 0, **await killed(on)}

    async def heal(self, on: Injection) -> None:
        if on.node not in on.cluster.running:
            await start_again(on)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3
