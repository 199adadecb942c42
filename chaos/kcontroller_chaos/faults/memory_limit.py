"""memory_limit: a node has less memory than it had."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault, parameter
from kcontroller_chaos.faults._inside import is_gone
from kcontroller_chaos.faults._processes import SIGKILLED, start_again
from kcontroller_chaos.injection import PROCESS, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import CONTAINERS
from pytest_kcontroller.errors import EnvironmentFailure

LEAST_MB = 6
"""An engine refuses less."""
POLL_US = 10_000
MB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit(Fault):
    """The node's container may have so much memory and no more, swap included; if it needs more, the kernel kills it, and
    it is started again by the healing."""

    kind = "memory_limit"
    example = """\
[[faults]]
kind = "memory_limit"
mb = 96
target = "controller"
at_s = 2
duration_s = 3
"""
    ends_session = ends_process = True
    exit_statuses = (SIGKILLED,)
    claims = (PROCESS,)
    needs = (CONTAINERS,)

    mb: int = parameter(128, "so much memory it may have", unit="MB", least=LEAST_MB, most=1 << 20)

    async def inject(self, on: Injection) -> None:
        await on.cluster.capability(CONTAINERS).limit_memory(on.node, self.mb * MB)

    async def observe(self, on: Injection) -> Evidence:
        """The kernel has this limit for the container, or has killed it."""
        while True:
            on.feed.poll()
            found = await on.cluster.capability(CONTAINERS).memory(on.node)
            if found is None and on.has_ended():
                return {"killed": True, "t_us": on.clock.now_us()}
            if found is not None and found[0] <= self.mb * MB:
                limit, used = found
                return {"limit_bytes": limit, "used_bytes": used, "t_us": on.clock.now_us()}
            await on.clock.sleep_us(POLL_US)

    async def look_again(self, on: Injection) -> None:
        """Another container in its place, of a program that is started again, never had the limit."""
        found = await on.cluster.capability(CONTAINERS).memory(on.node)
        if found is not None and found[0] > self.mb * MB and not is_gone(on):
            raise EnvironmentFailure(f"node {on.node}, which had {self.mb} MB, may have {found[0] // MB} MB again")

    async def heal(self, on: Injection) -> None:
        """The kernel may have killed it just now, which is seen a moment later."""
        containers = on.cluster.capability(CONTAINERS)
        await containers.limit_memory(on.node, None)
        while on.node in on.cluster.running:
            if await containers.memory(on.node) is not None:
                return
            await on.clock.sleep_us(POLL_US)
        await start_again(on)
