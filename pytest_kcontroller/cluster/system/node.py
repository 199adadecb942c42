"""One process of a user's program, under the same hands as a node of ours."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.misuse import not_running
from pytest_kcontroller.cluster.process.node import Child, SupervisedNode
from pytest_kcontroller.cluster.program import Program, filled
from pytest_kcontroller.cluster.system.output import Output, Search, written_last
from pytest_kcontroller.cluster.timing import VARIABLE, scaled
from pytest_kcontroller.errors import EnvironmentFailure

KILL_S = 10.0
DEFAULTS: Mapping[str, str] = {"PYTHONUNBUFFERED": "1"}
"""What a program prints into a file is there at once; other languages' are told by their authors."""
NO_ZOOKEEPER = "  # its ZooKeeper has ended with it: put the address of one of yours, as `kcontroller up` says it"
"""Behind what a person is to type."""


class ProgramNode(SupervisedNode):
    """See SupervisedNode. It answers no questions of ours; `values` are filled in for PLACES. The process leads a group of
    its own: what it has forked is stopped, continued and killed with it."""

    def __init__(
        self,
        node: int,
        program: Program,
        values: Mapping[str, object],
        run: Path,
        work: Path,
        exited: Callable[[int, int], None],
        output: Output,
    ) -> None:
        super().__init__(node, run, work, exited, start_s=program.ready_s)
        self._program, self._output = program, output
        self.values = values
        """Its next process gets these."""
        self.stop_signal = program.signal
        self._searches: dict[str, list[Search]] = {}
        """Those in what its newest process prints, by what is looked for."""

    @property
    def stdout(self) -> Path:
        """What its newest process has printed; `log` is what it has printed on stderr."""
        return self._run / "logs" / f"{self._name}.out.log"

    def filled(self, text: str) -> str:
        return filled(text, self.values)

    def has_printed(self, text: str) -> bool:
        """Whether a line of its newest process has this text."""
        searches = self._searches.setdefault(text, [Search(path, text.encode()) for path in (self.stdout, self.log)])
        return any(search.finds() for search in searches)

    def _prepare(self) -> None:
        self._searches.clear()
        self._output.begin(self.node, self._name, self.stdout, self.log)

    @property
    def _command(self) -> list[str]:
        return [self.filled(word) for word in self._program.command]

    @property
    def _environment(self) -> Mapping[str, str]:
        return {**DEFAULTS, **{name: self.filled(value) for name, value in self._program.env.items()}}

    async def _spawn(self) -> Child:
        return await Supervised.start(
            f"node {self.node}",
            self._command,
            log=self.log,
            output=self.stdout,
            cwd=self._program.cwd,
            env=self._environment,
            cleanup=[self._work],
        )

    @property
    def _telling_log(self) -> Path:
        """Where it has printed last, if it has printed in both."""
        return written_last(self.stdout, self.log) or self.log

    @property
    def _other_log(self) -> Path:
        return self.log if self._telling_log == self.stdout else self.stdout

    @property
    def _too_late(self) -> str:
        limit = f"ready_s = {self._start_s:g}"
        limit += f" times the time scale {scale:g}" if (scale := scaled(1.0)) != 1 else ""
        return f"; not ready within {limit}: give it more with ready_s, or on a slow machine with {VARIABLE}=3"

    @property
    def _shown_environment(self) -> Mapping[str, str]:
        """What it is told of this cluster; what else is in it may be a secret, and is dots."""
        told = self._program.env.items()
        return {name: self.filled(text) if self.filled(text) != text else "..." for name, text in told}

    @property
    def _by_hand(self) -> str:
        variables = [f"{name}={shlex.quote(value)}" for name, value in self._shown_environment.items()]
        words = " ".join([*variables, super()._by_hand])
        return f"cd {shlex.quote(str(self._program.cwd))} && {words}{NO_ZOOKEEPER}"

    @property
    def _way_out(self) -> str:
        return self._program.unexpanded or self._program.astray

    async def _observe_end(self, process: Child) -> None:
        status, name = await process.wait(), self._name
        await self._output.settle(name)
        self._exited(self.node, status)

    async def end(self, timeout_s: float) -> None:
        """Asked as it wants to be asked, by no other signal, and killed if it does not within `timeout_s`."""
        if not self.alive:
            return
        await self.resume()
        try:
            await self._end_by(self.stop_signal, timeout_s)
        except EnvironmentFailure:
            if self.alive:
                await self.kill(timeout_s)

    def _signal(self, number: signal.Signals) -> None:
        """What holds it up or ends it holds for all that it has forked; to be asked to end is its own affair."""
        if number == self.stop_signal:
            super()._signal(number)
            return
        if (pid := self.pid) is None:
            raise not_running(self.node, f"get {number.name}")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)

    def processes(self) -> list[psutil.Process]:
        """Itself and what it has started; of a container the engine's first."""
        try:
            first = psutil.Process(self.pid or 0)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    async def kill(self, timeout_s: float) -> int:
        return await super().kill(max(timeout_s, scaled(KILL_S)))
