"""A proxy of the embedded toxiproxy server, on real sockets: who comes at the moment in which it is stopped."""

from __future__ import annotations

import asyncio
import random  # noqa: TID251 - what a proxy is given
import socket

import pytest

from pytest_kcontroller.cluster.toxiproxy.proxy import Proxy
from pytest_kcontroller.runtime.timeouts import within

LIMIT_S = 60.0


@pytest.mark.parametrize("turns", range(12))
def test_its_connection_ends(turns: int) -> None:
    """So many turns of the event loop after the system has accepted it."""
    assert asyncio.run(_heard(turns)) == b""


async def _heard(turns: int) -> bytes:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        host, port = upstream.getsockname()
        proxy = Proxy("p", "127.0.0.1:0", f"{host}:{port}", random.Random(0), strict=False)
        await proxy.start()
        with socket.create_connection(("127.0.0.1", int(proxy.listen.rpartition(":")[2]))) as client:
            client.setblocking(False)
            for _ in range(turns):
                await asyncio.sleep(0)
            await proxy.stop()
            try:
                async with within(LIMIT_S):
                    return await loop.sock_recv(client, 1)
            except ConnectionResetError:  # the system had not handed it on
                return b""
