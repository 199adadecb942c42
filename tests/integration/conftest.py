"""Fixtures of several test files: a proxy in front of ZooKeeper that knows its frames, and the image of containers."""

from __future__ import annotations

import asyncio
import signal
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pytest_kcontroller.cluster.children.processes import host, session_id
from pytest_kcontroller.cluster.contained.image import PYTHON, base
from pytest_kcontroller.cluster.docker.containers import HOST_LABEL, SESSION_LABEL, engine
from pytest_kcontroller.cluster.zookeeper.container import DEFAULT_IMAGE
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.fixtures.options import KcSettings
from pytest_kcontroller.model.cluster import Address


class CuttingProxy:
    """Passes whole frames. Session ids of all handshakes of the client are in `handshakes` (0: a new session)."""

    def __init__(self, server: Address) -> None:
        self._server = server
        self.handshakes: list[int] = []
        self.cuts = 0
        self.address = server
        self._rule: tuple[str, int, int] | None = None
        self._refused = 0
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: list[asyncio.StreamWriter] = []

    def cut_at(self, phase: str, opcode: int, *, skip: int = 0) -> None:
        """Once: when the next frame of `opcode` comes (after `skip` of them), it is swallowed and the connection closed.

        `phase`: `request` (it never has an effect) or `reply` (it had its effect, the client never hears).
        """
        self._rule = (phase, opcode, skip)

    def cut(self) -> None:
        """Closes all connections now."""
        self.cuts += 1
        for writer in self._writers:
            writer.close()

    def refuse(self, times: int) -> None:
        """The next handshakes are swallowed and their connections closed."""
        self._refused = times

    def hold(self) -> None:
        """Nothing passes any more, connections stay."""
        self._flowing.clear()

    def release(self) -> None:
        self._flowing.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.append(task)
        self._writers.append(writer)
        try:
            handshake = await _frame(reader)
            self.handshakes.append(struct.unpack_from(">q", handshake, 16)[0])
            if self._refused:
                self._refused -= 1
                return
            await self._flowing.wait()
            far_reader, far_writer = await asyncio.open_connection(self._server.host, self._server.port)
            self._writers.append(far_writer)
            far_writer.write(struct.pack(">i", len(handshake)) + handshake)
            asked: dict[int, int] = {}
            both = [
                asyncio.ensure_future(self._pump("request", reader, far_writer, asked)),
                asyncio.ensure_future(self._pump("reply", far_reader, writer, asked)),
            ]
            try:
                await asyncio.gather(*both)
            finally:
                for one in both:
                    one.cancel()
                far_writer.close()
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _pump(
        self, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: dict[int, int]
    ) -> None:
        first = way == "reply"
        while True:
            frame = await _frame(reader)
            await self._flowing.wait()
            if not first and self._is_cut(way, frame, asked):
                self.cuts += 1
                raise EOFError
            first = False
            writer.write(struct.pack(">i", len(frame)) + frame)
            await writer.drain()

    def _is_cut(self, way: str, frame: bytes, asked: dict[int, int]) -> bool:
        if way == "request":
            xid, opcode = struct.unpack_from(">ii", frame)
            asked[xid] = opcode
        else:
            opcode = asked.get(struct.unpack_from(">i", frame)[0], 0)
        if self._rule is None or self._rule[:2] != (way, opcode):
            return False
        phase, _, skip = self._rule
        self._rule = (phase, opcode, skip - 1) if skip else None
        return not skip

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)


@asynccontextmanager
async def _proxy(server: Address) -> AsyncIterator[CuttingProxy]:
    proxy = CuttingProxy(server)
    listening = await asyncio.start_server(proxy.accept, "127.0.0.1", 0, limit=1 << 23)
    proxy.address = Address(*listening.sockets[0].getsockname()[:2])
    try:
        yield proxy
    finally:
        listening.close()
        await proxy.stop()


@pytest.fixture
def cutting_proxy() -> Callable[[Address], Any]:
    """`async with cutting_proxy(server) as proxy:` see CuttingProxy."""
    return _proxy


@pytest.fixture(scope="session")
def zookeeper_image(kc_settings: KcSettings) -> str:
    """The image of ZooKeeper containers (--kc-zookeeper-image). A test never pulls one: skipped, or with
    --kc-require=docker an error, where there is no engine or the engine does not have it."""
    return _image(kc_settings, kc_settings.zookeeper_image or DEFAULT_IMAGE, "tests/tools/zookeeper_image/build")


@pytest.fixture(scope="session")
def in_containers(kc_settings: KcSettings, zookeeper_image: str) -> str:
    """That nodes can be containers here: the image of their ZooKeeper. As `zookeeper_image`, if it is not so."""
    _image(kc_settings, base(), "tests/tools/node_base/build", _other_python)
    return zookeeper_image


def _other_python(client: Any) -> str:
    """Why nothing can be made of the base that runs what is installed here."""
    from docker.errors import APIError

    labels = {SESSION_LABEL: session_id(), HOST_LABEL: host()}
    version = "import sys; print('%d.%d' % sys.version_info[:2])"
    asked = client.containers.create(base(), ["-c", version], entrypoint=["python3"], labels=labels)
    try:
        asked.start()
        asked.wait()
        said = asked.logs().decode().strip()
    except APIError as refused:
        return f"the image {base()} runs no python3: {refused.explanation}"
    finally:
        asked.remove(force=True)
    return "" if said == PYTHON else f"the image {base()} has Python {said}, and the tests run with {PYTHON}"


def _image(kc_settings: KcSettings, image: str, made_by: str, unfit: Callable[[Any], str] = lambda _: "") -> str:
    why = ""
    try:
        with engine() as client:
            there = client.images.list(name=image)
            why = unfit(client) if there else f"the Docker engine has no image {image}: {made_by} makes one"
    except KControllerError as missing:
        why = str(missing)
    if why and "docker" in kc_settings.require:
        pytest.fail(f"--kc-require=docker: {why}", pytrace=False)
    if why:
        pytest.skip(why)
    return image


@pytest.fixture
def hangups() -> Iterator[None]:
    """What the test starts can be hung up, also under nohup, which has that ignored in all that it starts."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)
