"""What nodes of the process backend are told and answer on their control sockets, and what is done to their disks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from pytest_kcontroller.cluster.capabilities import NodeStatus
from pytest_kcontroller.cluster.process.node import SupervisedNode
from pytest_kcontroller.cluster.reports import status_of
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure

ANSWER_S = 2.0
"""A node that runs answers on its control socket within this time; one that does not counts as not answering."""


class NodesInside(ABC):
    """See capabilities: Holds, Reports, Clocks and Disks, of a cluster whose nodes are processes."""

    @abstractmethod
    def process(self, node: int) -> SupervisedNode:
        """Raises UsageError: there is no such node."""

    # --- Holds and Reports: what a node is told and answers on its control socket

    async def status(self, node: int) -> NodeStatus | None:
        answer = await self.process(node).ask("status", timeout_s=scaled(ANSWER_S))
        return None if answer is None else status_of(node, answer)

    async def caught_up(self, node: int) -> NodeStatus | None:
        answer = await self.process(node).ask("catch-up", timeout_s=scaled(ANSWER_S))
        return None if answer is None else status_of(node, answer)

    async def metadata(self, node: int) -> Mapping[str, Any] | None:
        answer = await self.process(node).ask("metadata", timeout_s=scaled(ANSWER_S))
        return None if answer is None else answer["metadata"]

    async def metrics(self, node: int) -> Mapping[str, Any] | None:
        answer = await self.process(node).ask("metrics", timeout_s=scaled(ANSWER_S))
        return None if answer is None else answer["metrics"]

    async def hold(self, node: int, point: str) -> None:
        await self._must(node, "hold", point=point)

    async def release(self, node: int, point: str) -> None:
        await self._must(node, "release", point=point)

    async def lose(self, node: int, point: str, count: int) -> None:
        await self._must(node, "lose", point=point, count=str(count))

    async def close_session(self, node: int) -> None:
        await self._must(node, "close-session")

    async def _must(self, node: int, command: str, **arguments: str) -> None:
        if await self.process(node).ask(command, timeout_s=scaled(ANSWER_S), **arguments) is None:
            raise EnvironmentFailure(f"node {node} does not answer")

    # --- Clocks

    async def jump(self, node: int, by_ms: int) -> None:
        await self._must(node, "jump", by_ms=str(by_ms))

    async def wall_ms(self, node: int) -> int | None:
        status = await self.status(node)
        return None if status is None else int(status.raw["wall_ms"])

    # --- Disks

    def files(self, node: int) -> Mapping[str, int]:
        return self.process(node).files()

    def wipe(self, node: int) -> None:
        self.process(node).wipe()

    def log_dirs_of(self, node: int) -> Mapping[str, Collection[str]]:
        return self.process(node).log_dirs

    def fail_log_dir(self, node: int, name: str) -> None:
        self.process(node).fail_log_dir(name)

    def mend_log_dir(self, node: int, name: str) -> None:
        self.process(node).mend_log_dir(name)
