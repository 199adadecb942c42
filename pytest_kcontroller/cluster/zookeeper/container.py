"""A real ZooKeeper server in a container: published on loopback only, removed with its owner."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Self

from pytest_kcontroller.cluster.children.processes import session_id
from pytest_kcontroller.cluster.docker.containers import Contained, ContainerSpec
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.server import JVM_OPTIONS, MAX_SESSION_MS, SNAP_COUNT, TICK_MS, ZooKeeper
from pytest_kcontroller.errors import StartError

DEFAULT_IMAGE = "zookeeper:3.9"
PULL_S = 600.0
CLIENT_PORT = 2181


class ContainerZooKeeper(ZooKeeper):
    """One server; made by `start`."""

    def __init__(self, contained: Contained, log_data: Path) -> None:
        super().__init__(contained.address, log_data / "version-2")
        self._contained = contained

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
        directory = directory.absolute()
        data = directory / "data"
        log_data = data if txn_log is None else txn_log.absolute()
        for made in (data, log_data):
            made.mkdir(parents=True, exist_ok=True)
        spec = ContainerSpec(
            name=f"kcontroller-zookeeper-{session_id()}-{secrets.token_hex(4)}",
            image=image,
            port=CLIENT_PORT,
            environment=_environment(tick_ms, one_directory=log_data == data),
            volumes={str(data): "/data"} | ({} if log_data == data else {str(log_data): "/datalog"}),
            cleanup=(str(cleanup or directory),),
        )
        contained = await Contained.start(spec, log=log)
        try:
            await _running(contained, spec, log)
            server = cls(contained, log_data)
            await server._ready(log, spec.by_hand)
            server._check_files(log, spec)
        except BaseException:
            await contained.stop()
            raise
        return server

    async def wait_ended(self) -> str:
        await self._contained.wait_ended()
        return self._how_it_ended() or "its container is gone"

    def _how_it_ended(self) -> str | None:
        if self._contained.error is not None:
            return self._contained.error[0]
        status = self._contained.returncode
        return None if status is None else f"the container ended with status {status}"

    async def _is_ours(self) -> bool:
        """The engine itself holds the port."""
        return True

    def _check_files(self, log: Path, spec: ContainerSpec) -> None:
        if not self.txn_log_directory.is_dir():
            raise StartError(
                "ZooKeeper",
                phase=f"its files are not in {self.txn_log_directory}",
                seconds=0.0,
                log=log,
                command=spec.by_hand,
                hint="the transaction log is the witness: the Docker engine must see the directories of this machine",
            )

    async def stop(self) -> None:
        await self._contained.stop()


async def _running(contained: Contained, spec: ContainerSpec, log: Path) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    phase, hint = "", ""
    try:
        async with asyncio.timeout(scaled(PULL_S)):
            await contained.wait_running()
    except TimeoutError:
        phase = f"too long: {contained.phase}"
    if contained.error is not None:
        phase, hint = contained.error
    if phase:
        raise StartError(
            "ZooKeeper", phase=phase, seconds=loop.time() - began, log=log, command=spec.by_hand, hint=hint
        )


def _environment(tick_ms: int, *, one_directory: bool) -> dict[str, str]:
    """The variables that the official image documents."""
    extra = [f"minSessionTimeout={2 * tick_ms}", f"maxSessionTimeout={MAX_SESSION_MS}", f"snapCount={SNAP_COUNT}"]
    return {
        "ZOO_TICK_TIME": str(tick_ms),
        "ZOO_MAX_CLIENT_CNXNS": "0",
        "ZOO_ADMINSERVER_ENABLED": "false",
        "ZOO_4LW_COMMANDS_WHITELIST": "*",
        "ZOO_CFG_EXTRA": " ".join(extra),
        "JVMFLAGS": " ".join((*JVM_OPTIONS, "-Xmx256m")),
        **({"ZOO_DATA_LOG_DIR": "/data"} if one_directory else {}),
    }
