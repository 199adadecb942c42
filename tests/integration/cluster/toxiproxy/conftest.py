"""Every test of this folder runs on the embedded toxiproxy and on the real one, where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import toxiproxy

from tests.tools.toxiproxy_servers import REAL, Server, Upstream, embedded, real


@pytest.fixture(
    scope="module",
    params=["embedded", pytest.param("real", marks=pytest.mark.skipif(not REAL, reason="no real toxiproxy server"))],
)
def running(request: pytest.FixtureRequest) -> Iterator[Server]:
    with embedded() if request.param == "embedded" else real() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """Without proxies."""
    yield running
    for name in running.call("GET", "/proxies").json():
        assert running.call("DELETE", f"/proxies/{name}").status_code == 204


@pytest.fixture
def client(server: Server) -> Any:
    found = toxiproxy.Toxiproxy()
    found.update_api_consumer(server.host, server.port)
    return found


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    found = Upstream()
    yield found
    found.close()


@pytest.fixture
def proxy(client: Any, upstream: Upstream) -> Any:
    return client.create(upstream=upstream.address, name="p")
