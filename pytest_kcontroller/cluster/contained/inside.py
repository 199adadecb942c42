"""What is done to containers of nodes (capabilities.Containers): by the engine, and seen by the kernel."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pytest_kcontroller.cluster.children.processes import state_of
from pytest_kcontroller.cluster.contained.node import InContainer
from pytest_kcontroller.cluster.contained.room import NODES, Room
from pytest_kcontroller.cluster.docker.containers import engine
from pytest_kcontroller.cluster.misuse import not_running
from pytest_kcontroller.errors import EnvironmentFailure

T = TypeVar("T")

CGROUPS = Path("/sys/fs/cgroup")
MEMORY = {
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),  # version 1: a tree of its own
    "": ("memory.max", "memory.current"),  # version 2: one tree
}


def all_there_is() -> int:
    """Bytes of this machine: an engine takes no limit away again, but sets any."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class InsideContainers(ABC):
    """Of a cluster whose nodes are containers."""

    @property
    @abstractmethod
    def room(self) -> Room:
        """Raises EnvironmentFailure: there is none yet."""

    @abstractmethod
    def container(self, node: int) -> InContainer:
        """Raises UsageError: there is no such node."""

    async def disconnect(self, node: int) -> None:
        found = self.container(node)
        if found.pid is None:
            raise not_running(node, "be disconnected")
        if self.interfaces(node):
            await _asked(lambda client: client.networks.get(self.room.network.name).disconnect(found.name, force=True))

    async def connect(self, node: int) -> None:
        found, address = self.container(node), self.room.network.address(NODES + node)
        if self.interfaces(node) == ():
            await _asked(
                lambda client: client.networks.get(self.room.network.name).connect(found.name, ipv4_address=address)
            )

    def interfaces(self, node: int) -> tuple[str, ...] | None:
        if (pid := self.container(node).pid) is None:
            return None
        try:
            lines = Path(f"/proc/{pid}/net/dev").read_text(encoding="utf-8").splitlines()[2:]
        except OSError:  # it has ended this moment
            return None
        names = [line.partition(":")[0].strip() for line in lines]
        return tuple(sorted(name for name in names if name.startswith("eth")))

    async def limit_memory(self, node: int, limit: int | None) -> None:
        found = self.container(node)
        if (pid := found.pid) is None:
            return
        wanted = all_there_is() if limit is None else limit
        try:
            await _asked(lambda client: client.api.update_container(found.name, mem_limit=wanted, memswap_limit=wanted))
        except EnvironmentFailure:
            if state_of(pid) is not None:  # else it has ended meanwhile
                raise

    async def memory(self, node: int) -> tuple[int, int] | None:
        found = self.container(node)
        if (pid := found.pid) is None:
            return None
        try:
            seen = _memory_of(pid)
            if seen is None:
                said = await _asked(lambda client: client.api.inspect_container(found.name)["HostConfig"]["Memory"])
                seen = int(said) or 1 << 63, 0
        except (EnvironmentFailure, OSError):
            if state_of(pid) is not None:
                raise
            return None
        return None if state_of(pid) is None else seen  # of one that ends, the kernel tells what is no limit of its own


def _memory_of(pid: int) -> tuple[int, int] | None:
    """What `memory` gives, by the kernel; None: its files are not where they are known to be. Raises OSError."""
    for group in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        _, tree, path = group.split(":", 2)
        if tree in MEMORY:
            files = [CGROUPS / tree / path.lstrip("/") / name for name in MEMORY[tree]]
            if all(file.exists() for file in files):
                limit, used = (file.read_text(encoding="utf-8").strip() for file in files)
                return (1 << 63 if limit == "max" else int(limit)), int(used)
    return None


async def _asked(work: Callable[[Any], T]) -> T:
    """Raises EnvironmentFailure."""

    def ask() -> T:
        from docker.errors import APIError

        with engine() as client:
            try:
                return work(client)
            except APIError as refused:
                raise EnvironmentFailure(f"the engine refused: {refused.explanation}") from None

    return await asyncio.get_running_loop().run_in_executor(None, ask)
