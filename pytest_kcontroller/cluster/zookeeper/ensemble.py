"""A whole ZooKeeper: one server, or several that elect a leader. Whoever uses it does not ask how many there are.

With several the transaction logs are below `server-N` for each: none of them alone is the witness, because a server may
have ended before the others had what it wrote, or may have been away (kcontroller_chaos.history.committed).
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pytest_kcontroller.cluster.ending import end_all
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.container import Place
from pytest_kcontroller.cluster.zookeeper.seats import Seat
from pytest_kcontroller.cluster.zookeeper.server import ANSWER_S, POLL_S, START_S, LogPlace, ZooKeeper, modes_of
from pytest_kcontroller.cluster.zookeeper.source import make_zookeeper
from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.timeouts import within

SIGNAL_S = 2.0


class Ensemble:
    """`servers` by their numbers, from 1. Made by `start`."""

    def __init__(self, servers: Sequence[ZooKeeper], seats: Sequence[Seat]) -> None:
        self.servers = dict(enumerate(servers, 1))
        self._seats = seats
        self.touched = False
        """Something was done to one of them, and `mend` has not been called since."""
        self.was_touched = False
        """The same, whether or not that was mended."""

    @classmethod
    async def start(
        cls,
        count: int,
        image: str | None,
        directory: Path,
        *,
        logs: Path,
        cleanup: Path | None = None,
        txn_log: Path | None = None,
        places: Sequence[Place] = (),
    ) -> Self:
        """Returns when each of them serves clients. `logs` gets a file of each; the others as EmbeddedZooKeeper.start.
        `places`: where each is, if they have addresses of their own; of an image, then.

        Raises StartError, and what make_zookeeper raises; nothing is left running then.
        """
        seats: Sequence[Seat] = ()
        if count > 1:
            seats = Seat.on([place.ip for place in places]) if places else Seat.of(count)
        servers: list[ZooKeeper] = []
        for seat in seats or (None,):
            name = "zookeeper" if seat is None else f"zookeeper-{seat.number}"
            servers.append(
                make_zookeeper(
                    image,
                    directory if seat is None else directory / str(seat.number),
                    log=logs / f"{name}.log",
                    cleanup=cleanup or directory,
                    txn_log=txn_log if txn_log is None or seat is None else txn_log / f"server-{seat.number}",
                    seat=seat,
                    place=places[0 if seat is None else seat.number - 1] if places else None,
                )
            )
        ensemble = cls(servers, seats)
        try:
            await _together([server.launch for server in servers])
            await _together([server.wait_serving for server in servers])
        except BaseException:
            await ensemble.stop()
            raise
        return ensemble

    @property
    def addresses(self) -> tuple[Address, ...]:
        return tuple(server.address for server in self.servers.values())

    @property
    def connect_string(self) -> str:
        """HOST:PORT of each."""
        return ",".join(map(str, self.addresses))

    def server(self, number: int) -> ZooKeeper:
        """Raises UsageError."""
        if number not in self.servers:
            known = ", ".join(map(str, self.servers))
            raise UsageError(f"there is no ZooKeeper server {number}", hint=f"there is {known}")
        return self.servers[number]

    async def modes(self, limit_s: float = ANSWER_S) -> dict[int, str | None]:
        """What each says that it is: see ZooKeeper.mode."""
        return await modes_of(self.addresses, limit_s)

    # --- what is done to one of them; `mend` takes all of it back

    async def kill(self, number: int) -> None:
        """SIGKILL; returns when it has ended. Raises UsageError."""
        server, self.touched, self.was_touched = self.server(number), True, True
        await server.kill()

    async def restart(self, number: int) -> None:
        """Once it has ended, on its data; returns when it serves clients. Raises UsageError, StartError."""
        server = self.server(number)
        if server.process_state() is not None:
            raise UsageError(f"the ZooKeeper server {number} runs", hint="kill it first")
        await server.launch()
        await server.wait_serving()

    async def pause(self, number: int) -> None:
        """SIGSTOP; returns when it stands still. Raises UsageError: it has ended."""
        await self._signal(number, signal.SIGSTOP, "T")

    async def resume(self, number: int) -> None:
        """SIGCONT; returns when it goes on. Raises UsageError: it has ended."""
        await self._signal(number, signal.SIGCONT, "S")

    async def _signal(self, number: int, sent: signal.Signals, then: str) -> None:
        server = self.server(number)
        if server.process_state() is None:
            raise UsageError(f"the ZooKeeper server {number} does not run, so it cannot get {sent.name}")
        self.touched = self.was_touched = True
        await server.signal(sent)
        with contextlib.suppress(TimeoutError):  # somebody else may have undone it, which its state shows
            async with within(scaled(SIGNAL_S)):
                while server.process_state() not in (then, None):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(POLL_S)

    async def mend(self, numbers: Sequence[int] | None = None) -> None:
        """These servers (default: all) go on or are started again; returns when they serve, if those that are still down or
        stopped leave a majority, and if none is, under one leader. Raises StartError, EnvironmentFailure.
        """
        mended = [self.server(number) for number in (self.servers if numbers is None else numbers)]
        for server in mended:
            if server.process_state() == "T":
                await server.signal(signal.SIGCONT)
        await _together([server.launch for server in mended if server.process_state() is None])
        up = [server for server in self.servers.values() if server.process_state() not in (None, "T")]
        if len(up) > len(self.servers) // 2:
            await _together([server.wait_serving for server in mended])
        if len(up) == len(self.servers):
            await self.wait_settled()
            self.touched = False

    async def wait_settled(self) -> None:
        """Until each serves clients, and no more than one leads: one that stood still goes on to lead for a moment.

        Raises EnvironmentFailure.
        """
        modes: dict[int, str | None] = {}
        try:
            async with within(scaled(START_S)):
                while not settled(modes := await self.modes()):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            said = ", ".join(f"{number}: {mode or 'serves nobody'}" for number, mode in modes.items())
            what = f"ZooKeeper's servers have not agreed on a leader within {scaled(START_S):g} s ({said})"
            raise EnvironmentFailure(what, where=str(self.servers[1].log)) from None

    async def version(self) -> str:
        """As the first says: they are all the same."""
        return await self.servers[1].version()

    @property
    def txn_log_directories(self) -> tuple[Path, ...]:
        """Where each writes its transaction log."""
        return tuple(server.txn_log_directory for server in self.servers.values())

    def export_log(self, to: Path, since: LogPlace | None = None) -> None:
        """See ZooKeeper.export_log; of several into `to`/server-N, and all of it."""
        for number, server in self.servers.items():
            server.export_log(self._log_in(to, number), since)

    def take_log(self, to: Path) -> None:
        """See ZooKeeper.take_log; of several as export_log."""
        for number, server in self.servers.items():
            server.take_log(self._log_in(to, number))

    def _log_in(self, to: Path, number: int) -> Path:
        return to if len(self.servers) == 1 else to / f"server-{number}"

    async def stop(self) -> None:
        """Ends them all; their files stay. Idempotent."""
        try:
            await end_all([server.stop for server in self.servers.values()])
        finally:
            for seat in self._seats:
                seat.release()


def settled(modes: Mapping[int, str | None]) -> bool:
    """Whether all that are said to serve clients do, under one leader if they are several."""
    if not modes or None in modes.values():
        return False
    return len(modes) == 1 or list(modes.values()).count("leader") == 1


async def _together(work: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """All at once; the first failure ends the others."""
    async with Nursery() as tasks:
        for task in [tasks.start(each(), name="a ZooKeeper server starts") for each in work]:
            await task
