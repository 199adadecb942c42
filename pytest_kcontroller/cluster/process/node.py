"""One node of the process backend: its directory, settings, log and control socket, and its process while there is one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import psutil

from pytest_kcontroller.broker.log_dir import CHECKPOINT, checkpointed, log_dir_names
from pytest_kcontroller.cluster.children.directories import temporary_name
from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.misuse import check_log_dir, failed_already, not_running, running_already
from pytest_kcontroller.cluster.process import failing
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, StartError, UsageError
from pytest_kcontroller.node.control import LONGEST_PATH, ControlClient, ControlError
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.plugin.manager import child_environment
from pytest_kcontroller.runtime.timeouts import within

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


class Child(Protocol):
    """A node's process; `pid` None: it has ended before it could be seen."""

    @property
    def pid(self) -> int | None: ...
    @property
    def returncode(self) -> int | None: ...
    async def wait(self) -> int: ...


class SupervisedNode(ABC):
    """One process that is a node, whatever program it runs; `stop_signal` asks it to end.

    `work` is the node's own directory, `run` the run's; every start writes files of its own there, so that what a killed
    predecessor left stays as it was. It goes if our process dies; `exited(node, status)` is called when the node's has
    ended."""

    stop_signal = signal.SIGTERM

    def __init__(
        self,
        node: int,
        run: Path,
        work: Path,
        exited: Callable[[int, int], None],
        *,
        start_s: float,
    ) -> None:
        """`start_s`: it is ready within that time, unscaled."""
        self.node = node
        self._run, self._work, self._exited, self._start_s = run, work, exited, start_s
        self._process: Child | None = None
        self._watch: asyncio.Task[None] | None = None
        self._starts = 0
        self._launching = asyncio.Lock()
        self._paused = False
        work.mkdir(parents=True, exist_ok=True)

    @property
    def alive(self) -> bool:
        return self._watch is not None and not self._watch.done()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.alive else None

    @property
    def log(self) -> Path:
        return self._run / "logs" / f"{self._name}.log"

    @property
    def _name(self) -> str:
        return f"node-{self.node}" if self._starts <= 1 else f"node-{self.node}.{self._starts}"

    async def launch(self) -> None:
        """Starts its process; waits for nothing that it does. Raises UsageError: it runs."""
        async with self._launching:  # it is alive once it has been spawned: of two who want it, one is refused
            if self.alive:
                raise running_already(self.node)
            self._starts += 1
            self._paused = False
            self._prepare()
            self._process = await self._spawn()
            self._watch = asyncio.create_task(self._observe_end(self._process), name=f"watch node {self.node}")

    async def wait_ready(self, ready: Callable[[int], Awaitable[str | None]]) -> None:
        """Returns when `ready(node)` gives None. Raises StartError at once if the process ends before, or in time."""
        assert self._process is not None
        patience = Patience(scaled(self._start_s), self._process.pid)
        why: str | None = "it was not looked at"
        while self.alive:
            if not (left_s := patience.left_s):
                raise self.start_error(f"{why}{self._too_late}", patience.seconds)
            with contextlib.suppress(TimeoutError):
                async with within(left_s):
                    why = await ready(self.node)
            if why is None:
                return
            await asyncio.sleep(POLL_S)
        raise self.start_error(f"it ended with status {self._process.returncode}", patience.seconds)

    @abstractmethod
    def _prepare(self) -> None:
        """Writes what the next start reads."""

    @property
    @abstractmethod
    def _command(self) -> list[str]: ...

    @property
    def _environment(self) -> Mapping[str, str]:
        """Besides our own."""
        return {}

    _is_ours: ClassVar[bool] = False
    """See Supervised.start."""

    async def _spawn(self) -> Child:
        return await Supervised.start(
            f"node {self.node}",
            self._command,
            log=self.log,
            cwd=self._work,
            env=self._environment,
            cleanup=[self._work],
            is_ours=self._is_ours,
        )

    def start_error(self, phase: str, seconds: float) -> StartError:
        return StartError(
            f"node {self.node}",
            phase=phase,
            seconds=seconds,
            log=self._telling_log,
            command=self._by_hand,
            hint=self._way_out,
            more_log=self._other_log,
        )

    @property
    def _by_hand(self) -> str:
        """How a person starts it; empty: it cannot be."""
        return shlex.join(self._command)

    @property
    def _way_out(self) -> str:
        """What to do if it has not started, if that is known."""
        return ""

    @property
    def _too_late(self) -> str:
        """What is said of the limit, if somebody can choose it. Begins with a semicolon."""
        return ""

    @property
    def _telling_log(self) -> Path:
        """The one that may say why it did not start."""
        return self.log

    @property
    def _other_log(self) -> Path | None:
        """Another one that may."""
        return None

    async def _observe_end(self, process: Child) -> None:
        self._exited(self.node, await process.wait())

    # --- its disk

    @property
    def data(self) -> Path:
        """What it keeps is below."""
        return self._work

    def files(self) -> dict[str, int]:
        """Name -> bytes, of all below `data`, or what will be there again; sockets are none."""
        root = failing.kept(self.data)
        moved = {failing.kept(root / name).name: name for name in self._log_dir_names if name}
        found = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
        sizes = {path.relative_to(root): path.stat().st_size for path in found if path.name not in moved.values()}
        names = {path: Path(moved.get(path.parts[0], path.parts[0]), *path.parts[1:]) for path in sizes}
        return {str(names[path]): sizes[path] for path in sorted(sizes, key=names.__getitem__)}

    def wipe(self) -> None:
        """One that had failed is a new one too. Raises UsageError: its process runs."""
        if self.alive:
            raise UsageError(f"node {self.node} runs, so its disk cannot be wiped", hint="kill it first")
        self._mend_disk()
        for path in list(self.data.iterdir()) if self.data.is_dir() else []:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    @property
    def _log_dir_names(self) -> tuple[str, ...]:
        """Of a broker's, below `data`; one without a name is that itself."""
        return log_dir_names(1)

    @property
    def log_dirs(self) -> dict[str, list[str]]:
        """See capabilities.Disks.log_dirs_of."""
        if failing.has_failed(self.data):
            return {}
        paths = {name: self.data / name for name in self._log_dir_names}
        return {name: self._kept_in(path) for name, path in paths.items() if not failing.has_failed(path)}

    def _kept_in(self, log_dir: Path) -> list[str]:
        """The partitions."""
        return []

    def fail_log_dir(self, name: str) -> None:
        """See failing.py. Raises UsageError: there is none of that name; EnvironmentFailure: it has failed already."""
        check_log_dir(self.node, name, self._log_dir_names)
        if name not in self.log_dirs:
            raise EnvironmentFailure(failed_already(name, self.node), where=str(self.data))
        failing.fail(self.data / name)

    def mend_log_dir(self, name: str) -> None:
        check_log_dir(self.node, name, self._log_dir_names)
        failing.mend(self.data / name)

    def _mend_disk(self) -> None:
        """Whatever is wrong with it."""
        failing.mend(self.data)
        for name in self._log_dir_names:
            failing.mend(self.data / name)

    # --- signals

    async def kill(self, timeout_s: float) -> int:
        """SIGKILL; returns the status that was observed. Raises EnvironmentFailure."""
        return await self._end_by(signal.SIGKILL, timeout_s)

    async def terminate(self, timeout_s: float) -> int:
        """SIGTERM, to which a node answers with a controlled shutdown; as `kill`."""
        return await self._end_by(self.stop_signal, timeout_s)

    def ask_to_end(self) -> None:
        """SIGTERM; waits for nothing. Raises EnvironmentFailure."""
        self._signal(self.stop_signal)

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
            async with within(scaled(STOP_S)):
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
        """The answer on its control socket; None: none came, or it has none."""
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
            async with within(timeout_s):
                await asyncio.shield(self._watch)
        except TimeoutError:
            raise EnvironmentFailure(
                f"node {self.node} did not end within {timeout_s:g} s after {number.name}", where=str(self.log)
            ) from None
        status = self._process.returncode
        return status if status is not None else 0


class NodeProcess(SupervisedNode):
    """A node of ours, with a control socket and a history."""

    _is_ours = True

    def __init__(
        self,
        settings: NodeSettings,
        run: Path,
        work: Path,
        exited: Callable[[int, int], None],
    ) -> None:
        start_s = START_S + settings.session_timeout_ms / 1000
        super().__init__(settings.node_id, run, work, exited, start_s=start_s)
        self._settings = replace(
            settings,
            directory=str(self._directory),
            control=str(work / "control"),
            close_grace_s=scaled(settings.close_grace_s),
        )

    @property
    def data(self) -> Path:
        """Apart from its control socket."""
        return self._work / "data"

    @property
    def _directory(self) -> Path:
        """`data`, as the node sees it."""
        return self.data

    @property
    def _log_dir_names(self) -> tuple[str, ...]:
        return log_dir_names(self._settings.log_dirs)

    def _kept_in(self, log_dir: Path) -> list[str]:
        return [str(tp) for tp in checkpointed(failing.read(log_dir / CHECKPOINT))]

    @property
    def links(self) -> Mapping[str, str]:
        """NodeSettings.links, of its next start."""
        return self._settings.links

    @links.setter
    def links(self, links: Mapping[str, str]) -> None:
        self._settings = replace(self._settings, links=links)

    @property
    def settings_file(self) -> Path:
        return self._run / "logs" / f"{self._name}.settings.json"

    def _prepare(self) -> None:
        history = self._run / "history" / f"{self._name}.jsonl"
        replace(self._settings, history=str(history)).save(self.settings_file)

    @property
    def _command(self) -> list[str]:
        return [sys.executable, "-m", "pytest_kcontroller.node", str(self.settings_file)]

    @property
    def _environment(self) -> Mapping[str, str]:
        return child_environment()

    async def ask(self, command: str, *, timeout_s: float, **arguments: str) -> dict[str, Any] | None:
        """The answer on the control socket; None: none came (ended, paused, too busy)."""
        if not self.alive or self._paused:
            return None
        client = ControlClient(self._work / "control", timeout_s=timeout_s)
        try:
            return await client.send({"cmd": command, **arguments})
        except ControlError:
            return None
