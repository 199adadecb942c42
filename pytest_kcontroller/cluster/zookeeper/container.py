"""A real ZooKeeper server in a container: published on loopback only, removed with its owner."""

from __future__ import annotations

import asyncio
import secrets
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pytest_kcontroller.cluster.children.processes import session_id, state_of
from pytest_kcontroller.cluster.docker.containers import Contained, ContainerSpec
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.seats import INIT_TICKS, SYNC_TICKS, HeldPort, Seat
from pytest_kcontroller.cluster.zookeeper.server import JVM_OPTIONS, MAX_SESSION_MS, SNAP_COUNT, TICK_MS, ZooKeeper
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within

DEFAULT_IMAGE = "zookeeper:3.9"
PULL_S = 600.0
CLIENT_PORT = 2181


@dataclass(frozen=True, slots=True)
class Place:
    """In a network of the engine's."""

    network: str
    ip: str


class ContainerZooKeeper(ZooKeeper):
    """One server; made and started by `start`, or made for an ensemble and launched with the others."""

    def __init__(
        self,
        image: str,
        directory: Path,
        *,
        log: Path,
        tick_ms: int = TICK_MS,
        cleanup: Path | None = None,
        txn_log: Path | None = None,
        seat: Seat | None = None,
        place: Place | None = None,
    ) -> None:
        """See start. `seat`: in an ensemble, whose servers have this machine's network and speak on its loopback, since a
        published port is not what they could tell each other; None: it is alone. With `place` it is there in any case, and
        published too."""
        directory = directory.absolute()
        data = directory / "data"
        log_data = data if txn_log is None else txn_log.absolute()
        self._port = None if seat is None or place is not None else HeldPort()
        port = CLIENT_PORT if self._port is None else self._port.number
        host = "" if self._port is None else "127.0.0.1"
        super().__init__(Address("127.0.0.1", port), log_data / "version-2", log)
        self._directories = (data, log_data)
        self._spec = ContainerSpec(
            name="",
            image=image,
            named_by="--kc-zookeeper-image; of kcontroller --zookeeper-image",
            port=port,
            host_network=self._port is not None,
            network="" if place is None else place.network,
            ip="" if place is None else place.ip,
            environment=_environment(tick_ms, port, seat, one_directory=log_data == data, host=host),
            volumes={str(data): "/data"} | ({} if log_data == data else {str(log_data): "/datalog"}),
            cleanup=(str(cleanup or directory),),
        )
        self._contained: Contained | None = None
        self._process_id: int | None = None

    @classmethod
    async def start(
        cls,
        image: str,
        directory: Path,
        *,
        log: Path,
        tick_ms: int = TICK_MS,
        cleanup: Path | None = None,
        txn_log: Path | None = None,
    ) -> Self:
        """As EmbeddedZooKeeper.start; `image` has the variables that the official image `zookeeper` documents, and is pulled
        if it is not there.

        Raises StartError: no engine, no image, the container ended, or its files are not visible here.
        """
        server = cls(image, directory, log=log, tick_ms=tick_ms, cleanup=cleanup, txn_log=txn_log)
        try:
            await server.launch()
            await server.wait_serving()
        except BaseException:
            await server.stop()
            raise
        return server

    @property
    def name(self) -> str:
        """Of its container."""
        return self._spec.name

    @property
    def _by_hand(self) -> str:
        return self._spec.by_hand

    async def _launch(self) -> None:
        for made in self._directories:
            made.mkdir(parents=True, exist_ok=True)
        self._spec = replace(self._spec, name=f"kcontroller-zookeeper-{session_id()}-{secrets.token_hex(4)}")
        self._contained = await Contained.start(self._spec, log=self.log)
        await self._running(self._contained)
        if not self._spec.host_network:
            self.address = self._contained.address
            self._spec = replace(self._spec, published=self.address.port)  # of its next start
        self._process_id = self._contained.pid

    async def wait_serving(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await super().wait_serving()
        self._check_files(loop.time() - began)

    async def _running(self, contained: Contained) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        phase, hint = "", ""
        try:
            async with within(scaled(PULL_S)):
                await contained.wait_running()
        except TimeoutError:
            phase = f"too long: {contained.phase}"
        if contained.error is not None:
            phase, hint = contained.error
        if phase:
            seconds = loop.time() - began
            raise StartError("ZooKeeper", phase=phase, seconds=seconds, log=self.log, command=self._by_hand, hint=hint)

    @property
    def _process_now(self) -> object:
        return self._contained

    async def _wait_ended(self) -> tuple[object, str]:
        assert self._contained is not None
        contained = self._contained
        await contained.wait_ended()
        return contained, self._how_it_ended() or "its container is gone"

    def _how_it_ended(self) -> str | None:
        if self._contained is None:
            return None
        if self._contained.error is not None:
            return self._contained.error[0]
        status = self._contained.returncode
        return None if status is None else f"the container ended with status {status}"

    async def signal(self, number: signal.Signals) -> None:
        if self._contained is not None:
            await self._contained.signal(number)

    def process_state(self) -> str | None:
        return None if self._how_it_ended() is not None or self._process_id is None else state_of(self._process_id)

    def _check_files(self, seconds: float) -> None:
        if not self.txn_log_directory.is_dir():
            raise StartError(
                "ZooKeeper",
                phase=f"its files are not in {self.txn_log_directory}",
                seconds=seconds,
                log=self.log,
                command=self._by_hand,
                hint="the transaction log is the witness: the Docker engine must see the directories of this machine",
            )

    async def _stop(self) -> None:
        if self._contained is not None:
            await self._contained.stop()
        if self._port is not None:
            self._port.release()

    async def _kill(self) -> None:
        if self._contained is not None:
            await self._contained.signal(signal.SIGKILL)
            await self._contained.wait_ended()
            await self._contained.stop()


def _environment(tick_ms: int, port: int, seat: Seat | None, *, one_directory: bool, host: str) -> dict[str, str]:
    """The variables that the official image documents. `host`: where clients may come alone; empty: from everywhere."""
    extra = [f"minSessionTimeout={2 * tick_ms}", f"maxSessionTimeout={MAX_SESSION_MS}", f"snapCount={SNAP_COUNT}"]
    ensemble = {}
    if seat is not None:
        extra += [f"clientPort={port}", *([f"clientPortAddress={host}"] if host else [])]
        ensemble = {
            "ZOO_MY_ID": str(seat.number),
            "ZOO_SERVERS": " ".join(seat.peers),
            "ZOO_INIT_LIMIT": str(INIT_TICKS),
            "ZOO_SYNC_LIMIT": str(SYNC_TICKS),
        }
    return {
        "ZOO_TICK_TIME": str(tick_ms),
        "ZOO_MAX_CLIENT_CNXNS": "0",
        "ZOO_ADMINSERVER_ENABLED": "false",
        "ZOO_4LW_COMMANDS_WHITELIST": "*",
        "ZOO_CFG_EXTRA": " ".join(extra),
        "JVMFLAGS": " ".join((*JVM_OPTIONS, "-Xmx256m")),
        **({"ZOO_DATA_LOG_DIR": "/data"} if one_directory else {}),
        **ensemble,
    }
