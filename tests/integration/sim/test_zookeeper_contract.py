"""What holds of every ZooKeeper server of ours, embedded or in a container."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest
from kazoo.client import KazooClient

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.server import ZooKeeper
from pytest_kcontroller.cluster.zookeeper.source import start_zookeeper
from pytest_kcontroller.runtime.timeouts import within

LIMIT_S = 20
GRANTED_MS = {60_000: 100.0, 4000: 4.0, 400: 0.3}
"""-> asked for, in seconds. Who has the shortest comes last: on a busy machine it soon has none."""

Use = Callable[[ZooKeeper], Awaitable[None]]


@pytest.fixture(params=["embedded", "container"])
def image(request: pytest.FixtureRequest) -> str | None:
    return request.getfixturevalue("zookeeper_image") if request.param == "container" else None


def with_server(image: str | None, directory: Path, use: Use, **options: Path) -> None:
    async def run() -> None:
        server = await start_zookeeper(image, directory / "zk", log=directory / "log", **options)
        try:
            await use(server)
        finally:
            await server.stop()
        await server.stop()
        assert await server.four_letter_word("srvr") == ""

    asyncio.run(run())


async def write_and_read(server: ZooKeeper) -> None:
    def work() -> None:
        client = KazooClient(str(server.address))
        try:
            client.start(timeout=scaled(LIMIT_S))
            client.create("/kept", b"value-of-the-test")
            assert client.get("/kept")[0] == b"value-of-the-test"
        finally:
            client.stop()
            client.close()

    await asyncio.get_running_loop().run_in_executor(None, work)


def listeners(port: int) -> set[str]:
    """Without who has the same number at another address of the loopback network: that is not the server."""
    found = {
        connection.laddr.ip.removeprefix("::ffff:")
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
    }
    return {ip for ip in found if ip == "127.0.0.1" or not ip.startswith("127.")}


def test_it_answers_on_loopback_only_when_start_returns_and_is_gone_after_stop(
    image: str | None, tmp_path: Path
) -> None:
    async def use(server: ZooKeeper) -> None:
        assert "Mode: standalone" in await server.four_letter_word("srvr")
        assert (await server.version()).startswith("3.")
        assert server.address.host == "127.0.0.1"
        assert listeners(server.address.port) == {"127.0.0.1"}
        await write_and_read(server)

    with_server(image, tmp_path, use)


def test_the_negotiated_timeout_of_a_session_is_the_servers(image: str | None, tmp_path: Path) -> None:
    async def use(server: ZooKeeper) -> None:
        async with within(scaled(LIMIT_S)):
            while not await all_granted(server):
                pass

    with_server(image, tmp_path, use)


async def all_granted(server: ZooKeeper) -> bool:
    """False: one of the sessions has ended before the server was asked, and tells nothing."""
    loop = asyncio.get_running_loop()
    clients = [KazooClient(str(server.address), timeout=asked_s) for asked_s in GRANTED_MS.values()]
    try:
        for client in clients:
            await loop.run_in_executor(None, client.start, scaled(LIMIT_S))
        sessions = [client.client_id[0] for client in clients if client.client_id]
        granted = await server.session_timeouts_ms()
        if not granted.keys() >= set(sessions):
            return False
        assert granted == dict(zip(sessions, GRANTED_MS, strict=True))
        return True
    finally:
        for client in clients:
            await loop.run_in_executor(None, client.stop)
            client.close()


@pytest.mark.parametrize("apart", [False, True], ids=["log-with-data", "log-apart"])
def test_the_transaction_log_is_readable_while_it_runs_and_after(
    image: str | None, tmp_path: Path, apart: bool
) -> None:
    servers = []

    async def use(server: ZooKeeper) -> None:
        await write_and_read(server)
        server.export_log(tmp_path / "while-it-runs")
        servers.append(server)

    with_server(image, tmp_path, use, **({"txn_log": tmp_path / "apart"} if apart else {}))
    (server,) = servers
    if apart:
        assert server.txn_log_directory.parent == tmp_path / "apart"
    originals = {file.name: file.read_bytes() for file in server.txn_log_directory.glob("log.*")}
    server.take_log(tmp_path / "stopped")
    assert not server.txn_log_directory.exists()
    for folder in ("while-it-runs", "stopped"):
        (file,) = (tmp_path / folder).glob("log.*")
        data = file.read_bytes()
        assert originals[file.name].startswith(data)
        check_log(data)


def check_log(data: bytes) -> None:
    assert data[:4] == b"ZKLG"
    assert struct.unpack(">i", data[4:8]) == (2,)
    at, zxids, texts = 16, [], b""
    while at < len(data):  # checksum, length, record, the byte that says that it is whole
        (length,) = struct.unpack(">i", data[at + 8 : at + 12])
        record = data[at + 12 : at + 12 + length]
        assert data[at + 12 + length : at + 13 + length] == b"B"
        zxids.append(struct.unpack(">q", record[12:20])[0])
        texts += record
        at += 13 + length
    assert at == len(data)
    assert zxids == list(range(1, len(zxids) + 1))
    assert b"/kept" in texts
    assert b"value-of-the-test" in texts
