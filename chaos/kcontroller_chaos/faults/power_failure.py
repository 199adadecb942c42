"""power_failure: a disk had not kept what it said it had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kcontroller_chaos.faults._processes import SIGKILLED, Down, killed
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import DISKS, POWERS
from pytest_kcontroller.errors import EnvironmentFailure, StartError


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerFailure(Down):
    """SIGKILL to the node's process, and the newest write to one of its files, although acknowledged, is not there or in
    pieces."""

    kind = "power_failure"
    example = """\
[[faults]]
kind = "power_failure"
mode = "lost"
target = "random"
at_s = 2
duration_s = 1.5
"""
    ends_session = ends_process = True
    claims = (PROCESS, SESSION, TASKS)
    needs = (DISKS, POWERS)
    torn: ClassVar[bool]

    async def inject(self, on: Injection) -> None:
        on.kept.append(dict(on.cluster.capability(DISKS).files(on.node)))
        await on.cluster.kill(on.node)
        if on.cluster.capability(POWERS).take_back_write(on.node, torn=self.torn) is None:
            raise EnvironmentFailure(f"node {on.node} has written nothing since its disk failed last")

    async def observe(self, on: Injection) -> Evidence:
        """As of a kill; and a file on the disk is not as long as it was, or is not there."""
        files, before = on.cluster.capability(DISKS).files(on.node), dict(*on.kept)
        differ = [name for name, size in before.items() if files.get(name) != size]
        if not differ:
            raise EnvironmentFailure(f"the disk of node {on.node} has all that it had")
        left = {"file": differ[0], "had_bytes": before[differ[0]], "has_bytes": files.get(differ[0])}
        return left | await killed(on)

    async def heal(self, on: Injection) -> None:
        """A node that refuses to start with what is left gets a new disk."""
        if on.node in on.cluster.running:
            return
        try:
            await on.cluster.restart(on.node)
        except StartError:
            if on.node in on.cluster.running:
                raise
            on.cluster.capability(DISKS).wipe(on.node)
            await on.cluster.restart(on.node)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost(PowerFailure):
    """the write is not there: what it replaced is"""

    mode = "lost"
    exit_statuses = (SIGKILLED,)
    torn = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Torn(PowerFailure):
    """only its first bytes are there; a node may refuse to start then, and gets a new disk"""

    mode = "torn"
    torn = True
