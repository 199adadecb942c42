"""Three simulated nodes, and a client that asks them: in virtual time, over the network that the nodes use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.message import Request, Response
from pytest_kcontroller.zookeeper.session import Children, Exists, GetChildren, GetData, NoNodeError

R = TypeVar("R", bound=Response)


class ClientWorld:
    """What a script gets. Every request has a connection of its own."""

    def __init__(self, cluster: SimCluster, world: World) -> None:
        self.cluster, self.world = cluster, world

    async def ask(self, request: Request[R], *, node: int | None = None, version: int | None = None) -> R:
        """The answer of `node`, by default of the controller."""
        if node is None:
            node = await self.controller()
        client = RequestClient(*self.cluster.route("0" if node else "1", str(node)))
        try:
            return await client.request(request, version=version, timeout_us=60_000_000)
        finally:
            client.close()

    async def controller(self) -> int:
        found = await self.cluster.controller()
        assert found is not None
        return found

    async def other(self) -> int:
        """A node that is not the controller."""
        return (await self.controller() + 1) % 3

    async def data(self, path: str) -> bytes | None:
        """Of a znode; None: there is none."""
        try:
            node: Any = await self.cluster.admin.submit(GetData(path))
        except NoNodeError:
            return None
        data: bytes = node.data
        return data

    async def exists(self, path: str) -> bool:
        return await self.cluster.admin.submit(Exists(path)) is not None

    async def children(self, path: str) -> list[str]:
        found = await self.cluster.admin.submit(GetChildren(path))
        assert isinstance(found, Children)
        return list(found.names)

    async def converge(self) -> None:
        await self.cluster.wait_until_converged(timeout_s=30)


def played(
    directory: Path,
    script: Callable[[ClientWorld], Awaitable[None]],
    *,
    config: Mapping[str, Any] | None = None,
    seed: int = 1,
) -> World:
    """Runs `script`; gives the world as it was left."""
    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, seed), scheduler.process("test")

        async def live() -> None:
            settings = ClusterSettings(nodes=3, session_timeout_ms=1000, config=config or {})
            cluster = await SimCluster.start(world, settings, directory, on_exit=lambda *_: None, loop=loop)
            await cluster.wait_until_converged(timeout_s=10)
            await script(ClientWorld(cluster, world))
            await cluster.stop()

        scheduler.run_until_complete(loop.create_task(live(), name="test"))
        return world
