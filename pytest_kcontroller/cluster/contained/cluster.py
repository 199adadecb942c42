"""The backend whose nodes are containers: all else is asked as of the backend `process`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_kcontroller.cluster.capabilities import CONTAINERS, SIZED_DISKS
from pytest_kcontroller.cluster.contained.image import node_image
from pytest_kcontroller.cluster.contained.inside import InsideContainers
from pytest_kcontroller.cluster.contained.node import ContainedNode, ContainedProgram, InContainer
from pytest_kcontroller.cluster.contained.room import OWN_PYTHON, Room, RoomLinks
from pytest_kcontroller.cluster.docker.contained_process import ContainedProcess
from pytest_kcontroller.cluster.docker.network import Network
from pytest_kcontroller.cluster.observed import MOST_ADDED, gather_all
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.process.node import SupervisedNode
from pytest_kcontroller.cluster.process.session_relays import Child, SessionRelays
from pytest_kcontroller.cluster.system.cluster import SystemCluster
from pytest_kcontroller.cluster.system.node import ProgramNode
from pytest_kcontroller.cluster.zookeeper.container import CLIENT_PORT, DEFAULT_IMAGE
from pytest_kcontroller.cluster.zookeeper.ensemble import Ensemble
from pytest_kcontroller.errors import EnvironmentFailure


class InContainers(InsideContainers, ProcessCluster):
    """What both have: where nodes, ZooKeeper, relays and proxies are."""

    forks = False
    _network: Network | None = None
    _room_here: Room | None = None

    def __init__(self, *more: Any) -> None:
        super().__init__(*more)
        self.settings = replace(self.settings, zookeeper_image=self.settings.zookeeper_image or DEFAULT_IMAGE)

    @property
    def room(self) -> Room:
        if self._room_here is None:
            raise EnvironmentFailure("the cluster has no network: it was not started")
        return self._room_here

    @property
    def relayed(self) -> range:
        return range(self.settings.nodes + MOST_ADDED)

    async def _start_zookeeper_and_links(self) -> None:
        logs = self.directory / "logs"
        loop = asyncio.get_running_loop()
        image = loop.run_in_executor(None, partial(node_image, self.settings.plugins))
        try:
            self._network = await Network.start(log=logs / "network.log")
        finally:
            built = await image
        self._room_here = room = Room(
            network=self._network,
            image=built,
            published=self.settings.nodes,
            disks=self.relayed if SIZED_DISKS in self.offers else (),
            work=self._work,
            logs=logs,
        )
        places = room.places(self.settings.zookeeper)
        servers = ",".join(f"{place.ip}:{CLIENT_PORT}" for place in places)
        proxies: list[tuple[ContainedProcess, str]] = []

        async def zookeeper() -> None:
            self._zookeeper = await Ensemble.start(
                self.settings.zookeeper,
                self.settings.zookeeper_image,
                self._work / "zookeeper",
                logs=logs,
                cleanup=self._work,
                txn_log=self._zookeeper_log,
                places=places,
            )

        async def relays() -> None:
            log = logs / "session-relay.log"
            self._relays = await SessionRelays.start(
                self.relayed, servers, directory=self._work, log=log, run=room.relays
            )

        async def start_proxies() -> None:
            proxies.append(await room.proxies(self.settings.seed))

        try:
            await gather_all([zookeeper(), relays(), start_proxies()])
        except BaseException:
            for process, _ in proxies:
                await process.stop()
            raise
        ends = {node: self.relays.addresses[node] for node in self.nodes_to_start}
        self._links = await RoomLinks(ends, room, *proxies[0], relayed=self.relays_peers).made()

    async def _end_ground(self, keep_log_in: Path | None) -> None:
        try:
            await super()._end_ground(keep_log_in)
        finally:
            if self._network is not None:
                await self._network.stop()

    def container(self, node: int) -> InContainer:
        found = self.process(node)
        assert isinstance(found, InContainer)
        return found


class ContainedCluster(InContainers):
    """See ProcessCluster."""

    offers = (*ProcessCluster.offers, SIZED_DISKS, CONTAINERS)

    def _new_process(self, node: int) -> SupervisedNode:
        work, keeper = self._work / f"node-{node}", self.relays.pid
        if keeper is None:
            raise EnvironmentFailure("the relays to ZooKeeper, which keep the nodes' disks, have ended")
        settings = self._settings_of(node)
        return ContainedNode(keeper, self.room, settings, self.directory, work, self._exited)

    async def fill_disk(self, node: int) -> None:
        """See capabilities.SizedDisks."""
        await self._contained(node).fill_disk()

    def free_disk(self, node: int) -> None:
        self._contained(node).free_disk()

    def _contained(self, node: int) -> ContainedNode:
        found = self.process(node)
        assert isinstance(found, ContainedNode)
        return found


class ContainedSystem(InContainers, SystemCluster):
    """See SystemCluster: its nodes are containers of the program's image."""

    python = OWN_PYTHON[0]

    async def _run_peer_relays(self, arguments: Sequence[str], log: Path) -> Child:
        return await self.room.peer_relays(arguments, log)

    def _new_program(self, node: int, *more: Any, **named: Any) -> ProgramNode:
        return ContainedProgram(self.room, node, *more, **named)
