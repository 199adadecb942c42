"""The simulated ZooKeeper against the real one: the same random programs must give equal transcripts."""

from __future__ import annotations

import asyncio
import difflib
import os
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from pytest_kcontroller.cluster.duplicate import close_session
from pytest_kcontroller.cluster.embedded_zookeeper import EmbeddedZooKeeper
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.sim.zookeeper import SimZooKeeper
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import Listener, ZkSession
from tests.tools.zookeeper_programs import TIMEOUT_MS, play, program, simulated

PROGRAMS = int(os.environ.get("KC_DIFFERENTIAL", "20"))
"""The nightly size is 500."""
LIMIT_S = 30


class RealServer:
    """One program's root on the real server."""

    def __init__(self, address: Address, root: str) -> None:
        self._address, self._root = address, root

    async def open(self, client: str, listener: Listener) -> ZkSession:
        return await KazooConnector(f"{self._address}{self._root}", timeout_ms=TIMEOUT_MS).open(listener)

    async def expire(self, client: str, session: ZkSession) -> None:
        await close_session(self._address, session.session_id, session.password, timeout_s=scaled(LIMIT_S))


async def _on_the_real_server(directory: Path, seeds: range) -> dict[int, list[str]]:
    server = await EmbeddedZooKeeper.start(directory / "zk", log=directory / "log")
    admin = KazooClient(str(server.address), timeout=60)
    transcripts = {}
    try:
        await asyncio.to_thread(admin.start, scaled(LIMIT_S))  # noqa: TID251  # the real server is not in virtual time
        for seed in seeds:
            admin.create(f"/p{seed}")
            async with asyncio.timeout(scaled(LIMIT_S)):
                transcripts[seed] = await play(program(seed), RealServer(server.address, f"/p{seed}"))
    finally:
        admin.stop()
        admin.close()
        await server.stop()
    return transcripts


@pytest.fixture(scope="module")
def real(_kc_image: None, tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[str]]:
    """The transcripts of the real server, by seed. Nobody else uses it: zxids count every transaction."""
    return asyncio.run(_on_the_real_server(tmp_path_factory.mktemp("differential"), range(1, PROGRAMS + 1)))


def difference(seed: int, real: list[str], server_type: type[SimZooKeeper] = SimZooKeeper) -> str:
    lines = difflib.unified_diff(real, simulated(seed, server_type), "real", "simulated", lineterm="", n=4)
    return "\n".join(list(lines)[:40])


def test_transcripts_are_equal(real: dict[int, list[str]]) -> None:
    differing = {seed: told for seed, lines in real.items() if (told := difference(seed, lines))}
    first = next(iter(differing.items()), None)
    assert first is None, f"{len(differing)} of {len(real)} programs differ; seed {first[0]}:\n{first[1]}"
