"""One node of the backend `kafka`: a broker of a release, under the same hands as a node of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_kcontroller.broker.log_dir import log_dir_names
from pytest_kcontroller.cluster.java import UTF_8
from pytest_kcontroller.cluster.kafka.broker import START_S, BrokerSettings
from pytest_kcontroller.cluster.process.node import SupervisedNode
from pytest_kcontroller.cluster.timing import scaled

KILL_S = 10.0


class KafkaNode(SupervisedNode):
    """See SupervisedNode. It answers no questions: what it does is seen in ZooKeeper alone."""

    def __init__(self, settings: BrokerSettings, run: Path, exited: Callable[[int, int], None]) -> None:
        super().__init__(settings.id, run, settings.directory, exited, start_s=START_S)
        self._settings = settings

    @property
    def data(self) -> Path:
        """Its log directory: what is beside it is written by us."""
        return self._settings.directory / "logs"

    @property
    def _log_dir_names(self) -> tuple[str, ...]:
        return log_dir_names(self._settings.log_dirs)

    def _kept_in(self, log_dir: Path) -> list[str]:
        """Each has a directory of its own."""
        found = sorted(path.name for path in log_dir.iterdir()) if log_dir.is_dir() else []
        return [name for name in found if name.rpartition("-")[2].isdigit()]

    def _prepare(self) -> None:
        self._settings.write()

    @property
    def _command(self) -> list[str]:
        return self._settings.command

    @property
    def _environment(self) -> Mapping[str, str]:
        return UTF_8

    async def end(self, timeout_s: float) -> None:
        """At once: each would wait for a controller that ends too."""
        if self.alive:
            await self.kill(max(timeout_s, scaled(KILL_S)))
