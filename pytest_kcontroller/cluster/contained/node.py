"""One node's container, under the same hands as the process of a node."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from pytest_kcontroller.cluster.children.processes import state_of
from pytest_kcontroller.cluster.contained.contents import REQUIREMENTS_VARIABLE
from pytest_kcontroller.cluster.contained.room import NODES, OWN_PYTHON, Room, disk
from pytest_kcontroller.cluster.docker.contained_process import ContainedProcess
from pytest_kcontroller.cluster.docker.containers import ContainerSpec
from pytest_kcontroller.cluster.misuse import not_running
from pytest_kcontroller.cluster.process.node import POLL_S, STOP_S, Child, NodeProcess, SupervisedNode
from pytest_kcontroller.cluster.system.node import NO_ZOOKEEPER, ProgramNode
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.timeouts import within

LACKING = b"No module named"
"""As Python says it."""
DATA = "data"
FILLED_AT_ONCE = 1 << 16
QUIET_LOOKS = 3
"""In a row that find a full disk full."""


class InContainer(SupervisedNode):
    """See SupervisedNode: every start is a container of its own, at the same address, with the same directory."""

    _last: ContainedProcess | None = None

    def __init__(self, room: Room, *more: Any, **named: Any) -> None:
        self._room = room
        super().__init__(*more, **named)

    async def _spawn(self) -> Child:
        if self._last is not None:
            await self._last.stop()  # its address is free then
        self._last = await ContainedProcess.start(
            f"node {self.node}", self._spec, log=self.log, output=self._output_log, by_hand=self._by_hand
        )
        return self._last

    @property
    def _spec(self) -> ContainerSpec:
        shared = [self._work, self._run / "history", self._run / "logs"]
        return self._room.spec(
            f"node-{self.node}",
            NODES + self.node,
            volumes={str(path): str(path) for path in shared},
            directory=str(self._work),
            environment=dict(self._environment),
            command=tuple(self._command),
        )

    @property
    def _output_log(self) -> Path | None:
        """Where stdout goes, if not to the log."""
        return None

    @property
    def _by_hand(self) -> str:
        """A node of ours: not without the network, which ends with the cluster."""
        return ""

    @property
    def name(self) -> str:
        """Of its newest container."""
        return "" if self._last is None else self._last.name

    async def end(self, timeout_s: float) -> None:
        """And the container is removed."""
        try:
            await super().end(timeout_s)
        finally:
            if self._last is not None:
                await self._last.stop()


class ContainedNode(InContainer, NodeProcess):
    """A node of ours. What it keeps is on a disk of its own (ContainerSpec.disks), which is reached here by what the kernel
    shows of the container `keeper`, the pid of one that has it for as long as the cluster is there."""

    def __init__(self, keeper: int, *more: Any, **named: Any) -> None:
        self._keeper = keeper
        super().__init__(*more, **named)

    @property
    def _disk(self) -> Path:
        return Path(f"/proc/{self._keeper}/root") / disk(self.node).relative_to("/")

    @property
    def data(self) -> Path:
        """Not the disk itself, which nobody can move aside."""
        return self._disk / DATA

    @property
    def _directory(self) -> Path:
        return disk(self.node) / DATA

    @property
    def _spec(self) -> ContainerSpec:
        return replace(super()._spec, disks=self._room.disk_volumes([self.node]))

    @property
    def _filler(self) -> Path:
        return self._disk / "filler"

    async def fill_disk(self) -> None:
        """With what takes all that is left; a write that was under way gives back what it replaces, and that is taken too.
        Raises EnvironmentFailure."""
        quiet = 0
        while quiet < QUIET_LOOKS:
            quiet = 0 if self._take_room() else quiet + 1
            await asyncio.sleep(POLL_S)

    def _take_room(self) -> int:
        """Bytes that were left."""
        taken = 0
        try:
            with self._filler.open("ab", buffering=0) as file:
                while True:
                    taken += file.write(bytes(FILLED_AT_ONCE))
        except OSError as refused:
            if refused.errno == errno.ENOSPC:
                return taken
            what = f"the disk of node {self.node} cannot be filled: {refused.strerror}"
            raise EnvironmentFailure(what, where=str(self._filler)) from None

    def free_disk(self) -> None:
        self._filler.unlink(missing_ok=True)

    def _mend_disk(self) -> None:
        self.free_disk()
        super()._mend_disk()

    @property
    def _command(self) -> list[str]:
        return [*OWN_PYTHON, "pytest_kcontroller.node", str(self.settings_file)]

    @property
    def _way_out(self) -> str:
        if LACKING not in self.log.read_bytes():
            return ""
        return (
            f"what a plugin needs in the nodes' image is named with --kc-node-requirements or ${REQUIREMENTS_VARIABLE}"
        )

    @property
    def _environment(self) -> Mapping[str, str]:
        return {}


class ContainedProgram(InContainer, ProgramNode):
    """A program of a user's, in an image of theirs. Its container's first process is the engine's, which passes on what asks
    it to end; what holds it up or ends it holds for all that it has started."""

    @property
    def _spec(self) -> ContainerSpec:
        own = {str(self._work): str(self._work)}
        directory = self._program.directory
        image = self._program.image
        spec = replace(super()._spec, image=image, named_by="`image` of the program")
        return replace(spec, init=True, volumes=own, directory=directory)

    @property
    def _by_hand(self) -> str:
        return f"{replace(self._spec, environment=self._shown_environment).by_hand}{NO_ZOOKEEPER}"

    @property
    def _output_log(self) -> Path:
        return self.stdout

    def _signal(self, number: signal.Signals) -> None:
        if number == self.stop_signal:
            super()._signal(number)
            return
        if self.pid is None:
            raise not_running(self.node, f"get {number.name}")
        _send(number, self.processes())

    async def _until_stopped(self, stopped: bool) -> None:
        await super()._until_stopped(stopped)
        if stopped:
            with contextlib.suppress(TimeoutError):
                async with within(scaled(STOP_S)):
                    await self._stop_forks()

    async def _stop_forks(self) -> None:
        """What was being forked while the others got the signal has not got it: they are looked for again until there is
        nobody who was not seen to stand still before, so that none of them can have forked since."""
        still = set[int]()
        while True:
            found = self.processes()
            if still.issuperset(process.pid for process in found):
                return
            going = [process for process in found if state_of(process.pid) == "S"]
            _send(signal.SIGSTOP, going)
            still = {process.pid for process in found if process not in going}
            await asyncio.sleep(POLL_S)

    def state(self) -> str | None:
        """Of the program itself."""
        states = [state_of(process.pid) for process in self.processes()[1:2]]
        return states[0] if states and states[0] else super().state()


def _send(number: signal.Signals, processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
