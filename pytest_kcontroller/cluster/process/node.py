"""One node of the process backend: its directory, settings, log and control socket, and its process while there is one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.children.processes import Supervised, temporary_name
from pytest_kcontroller.cluster.misuse import not_running, running_already
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, StartError
from pytest_kcontroller.node.control import LONGEST_PATH, ControlClient, ControlError
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.plugin.manager import child_environment

START_S = 15.0
"""A node is registered within this time, unscaled, and that of a dead predecessor's session, which may hold its place."""
ANSWER_S = 2.0
POLL_S = 0.02
STOP_S = 2.0


def short_temporary() -> Path:
    """Where the directories of nodes go, whose control sockets must have short paths whatever TMPDIR is."""
    usual = Path(tempfile.gettempdir())
    longest = usual / temporary_name() / "node-249" / "control"
    return usual if len(os.fsencode(longest)) <= LONGEST_PATH or not Path("/tmp").is_dir() else Path("/tmp")


class NodeProcess:
    """`work` is the node's own directory, `run` the run's; every start writes history and log files of its own, so that
    what a killed predecessor left stays as it was. `cleanup` (default: `work`) is removed if our process dies."""

    def __init__(
        self,
        settings: NodeSettings,
        run: Path,
        work: Path,
        exited: Callable[[int, int], None],
        *,
        cleanup: Path | None = None,
    ) -> None:
        self.node = settings.node_id
        self._cleanup = work if cleanup is None else cleanup
        self._run, self._work, self._exited = run, work, exited
        self._settings = replace(settings, directory=str(work), control=str(work / "control"))
        self._process: Supervised | None = None
        self._watch: asyncio.Task[None] | None = None
        self._starts = 0
        self._paused = False
        work.mkdir(parents=True, exist_ok=True)

    @property
    def alive(self) -> bool:
        return self._watch is not None and not self._watch.done()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.alive else None

    @property
    def settings_file(self) -> Path:
        return self._run / "logs" / f"{self._name}.settings.json"

    @property
    def log(self) -> Path:
        return self._run / "logs" / f"{self._name}.log"

    @property
    def _name(self) -> str:
        return f"node-{self.node}" if self._starts <= 1 else f"node-{self.node}.{self._starts}"

    async def start(self, *, ready: Callable[[int], Awaitable[str | None]]) -> None:
        """Returns when `ready(node)` gives None. Raises StartError at once if the process ends before, or in time."""
        if self.alive:
            raise running_already(self.node)
        self._starts += 1
        self._paused = False
        history = self._run / "history" / f"{self._name}.jsonl"
        replace(self._settings, history=str(history)).save(self.settings_file)
        self._process = await self._spawn()
        self._watch = asyncio.create_task(self._observe_end(self._process), name=f"watch node {self.node}")
        patience = Patience(scaled(START_S + self._settings.session_timeout_ms / 1000), self._process.pid)
        why: str | None = "it was not looked at"
        while self.alive:
            if not (left_s := patience.left_s):
                raise self._start_error(str(why), patience)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    why = await ready(self.node)
            if why is None:
                return
            await asyncio.sleep(POLL_S)
        raise self._start_error(f"it ended with status {self._process.returncode}", patience)

    @property
    def _command(self) -> list[str]:
        return [sys.executable, "-m", "pytest_kcontroller.node", str(self.settings_file)]

    async def _spawn(self) -> Supervised:
        return await Supervised.start(
            f"node {self.node}",
            self._command,
            log=self.log,
            cwd=self._work,
            env=child_environment(),
            cleanup=[self._cleanup],
        )

    def _start_error(self, phase: str, patience: Patience) -> StartError:
        return StartError(
            f"node {self.node}",
            phase=phase,
            seconds=patience.seconds,
            log=self.log,
            command=shlex.join(self._command),
        )

    async def _observe_end(self, process: Supervised) -> None:
        self._exited(self.node, await process.wait())

    # --- signals

    async def kill(self, timeout_s: float) -> int:
        """SIGKILL; returns the status that was observed. Raises EnvironmentFailure."""
        return await self._end_by(signal.SIGKILL, timeout_s)

    async def terminate(self, timeout_s: float) -> int:
        """SIGTERM, to which a node answers with a controlled shutdown; as `kill`."""
        return await self._end_by(signal.SIGTERM, timeout_s)

    def ask_to_end(self) -> None:
        """SIGTERM; waits for nothing. Raises EnvironmentFailure."""
        self._signal(signal.SIGTERM)

    async def pause(self) -> None:
        """SIGSTOP; returns when the process has stopped, which takes a while where others have the cores."""
        self._signal(signal.SIGSTOP)
        self._paused = True
        await self._until_stopped(True)

    async def resume(self) -> None:
        if self.alive:
            self._signal(signal.SIGCONT)
        self._paused = False
        await self._until_stopped(False)

    async def _until_stopped(self, stopped: bool) -> None:
        """Not for ever: somebody else may have undone it at once, which the process's state shows."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(scaled(STOP_S)):
                while self.alive and (self.state() == "T") is not stopped:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(POLL_S)

    async def end(self, timeout_s: float) -> None:
        """However it is: continued, asked to end, and killed if it does not within `timeout_s`.

        By SIGINT, without a controlled shutdown: at the end of a run everybody ends, so nobody could take over. Kafka tries
        all the same, and each of its brokers waits for the others.
        """
        if not self.alive:
            return
        await self.resume()
        try:
            await self._end_by(signal.SIGINT, timeout_s)
        except EnvironmentFailure:
            if self.alive:
                await self.kill(timeout_s)

    def state(self) -> str | None:
        """The letter of /proc (R, S, T, ...): T is stopped."""
        if (pid := self.pid) is None:
            return None
        try:
            return {psutil.STATUS_STOPPED: "T"}.get(psutil.Process(pid).status(), "S")
        except psutil.NoSuchProcess:
            return None

    async def ask(self, command: str, *, timeout_s: float, **arguments: str) -> dict[str, Any] | None:
        """The answer on the control socket; None: none came (ended, paused, too busy)."""
        if not self.alive or self._paused:
            return None
        client = ControlClient(self._work / "control", timeout_s=timeout_s)
        try:
            return await client.send({"cmd": command, **arguments})
        except ControlError:
            return None

    def _signal(self, number: signal.Signals) -> None:
        if (pid := self.pid) is None:
            raise not_running(self.node, f"get {number.name}")
        # It may have ended this very moment, before its end has been observed: whoever waits for that will see it.
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).send_signal(number)

    async def _end_by(self, number: signal.Signals, timeout_s: float) -> int:
        self._signal(number)
        assert self._watch is not None and self._process is not None
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(self._watch)
        except TimeoutError:
            raise EnvironmentFailure(
                f"node {self.node} did not end within {timeout_s:g} s after {number.name}", where=str(self.log)
            ) from None
        status = self._process.returncode
        return status if status is not None else 0
