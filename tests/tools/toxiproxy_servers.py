"""Servers for tests: the embedded toxiproxy, the real one (KCONTROLLER_TOXIPROXY_SERVER: its binary), and an upstream."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import pytest
import requests

from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.seats import HeldPort
from pytest_kcontroller.runtime.timeouts import within

REAL = os.environ.get("KCONTROLLER_TOXIPROXY_SERVER")
LIMIT_S = 10.0
QUIET_S = 0.3
"""So long nothing may arrive through a black hole."""


class Server:
    """A toxiproxy server and raw HTTP to it."""

    def __init__(self, host: str, port: int, process: subprocess.Popen[bytes]) -> None:
        self.host, self.port, self.process = host, port, process
        self.http = requests.Session()
        self.http.trust_env = False

    def call(self, method: str, path: str, body: object | None = None, **more: Any) -> requests.Response:
        url = f"http://{self.host}:{self.port}{path}"
        return self.http.request(method, url, json=body, timeout=scaled(LIMIT_S), **more)

    def fails(self, status: int, message: str, method: str, path: str, body: object | None = None) -> None:
        answer = self.call(method, path, body)
        assert (answer.status_code, answer.json()) == (status, {"error": message, "status": status})
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


def _embedded(*options: str) -> tuple[subprocess.Popen[bytes], int]:
    command = [sys.executable, "-m", "pytest_kcontroller.cluster.toxiproxy", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, int(json.loads(process.stdout.readline())["address"].rpartition(":")[2])


def _real(binary: str) -> tuple[subprocess.Popen[bytes], int]:
    held = HeldPort()
    port = held.number
    process = subprocess.Popen([binary, "-host", "127.0.0.1", "-port", str(port)], stdout=subprocess.DEVNULL)

    async def ready() -> None:
        async with within(scaled(LIMIT_S)):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    assert process.poll() is None
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    return

    try:
        asyncio.run(ready())
    finally:
        held.release()
    return process, port


@contextmanager
def _serving(process: subprocess.Popen[bytes], port: int) -> Iterator[Server]:
    server = Server("127.0.0.1", port, process)
    try:
        yield server
        process.terminate()
        process.wait(scaled(LIMIT_S))
    finally:
        server.http.close()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def embedded(*options: str) -> AbstractContextManager[Server]:
    return _serving(*_embedded(*options))


def real() -> AbstractContextManager[Server]:
    assert REAL is not None
    return _serving(*_real(REAL))


class Upstream:
    """Accepts connections and hands them to the test."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(scaled(LIMIT_S))
        self._open: list[socket.socket] = []
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def connect(self, listen: str) -> tuple[socket.socket, socket.socket]:
        """Both ends of a new connection through a proxy."""
        host, _, port = listen.rpartition(":")
        near = socket.create_connection((host.strip("[]"), int(port)), scaled(LIMIT_S))
        self._open.append(near)
        far = self._listener.accept()[0]
        far.settimeout(scaled(LIMIT_S))
        self._open.append(far)
        return near, far

    def close(self) -> None:
        for end in [*self._open, self._listener]:
            end.close()


def passes(source: socket.socket, sink: socket.socket, data: bytes = b"data") -> None:
    source.sendall(data)
    assert exactly(sink, len(data)) == data


def exactly(sink: socket.socket, length: int) -> bytes:
    """In as many pieces as it comes: MSG_WAITALL waits for nothing on a socket that has a time limit."""
    got = b""
    while len(got) < length:
        chunk = sink.recv(length - len(got))
        assert chunk, "end of stream"
        got += chunk
    return got


def read_all(sink: socket.socket) -> bytes:
    """Until the end of the stream."""
    got = b""
    while chunk := sink.recv(65536):
        got += chunk
    return got


def silent(source: socket.socket, sink: socket.socket) -> None:
    source.sendall(b"lost")
    before = sink.gettimeout()
    sink.settimeout(QUIET_S)
    with pytest.raises(TimeoutError):
        sink.recv(1)
    sink.settimeout(before)


def drawn(client: ToxiproxyClient, upstream: Upstream) -> str:
    """Which of 24 connections a toxic of toxicity 0.5 has an effect on."""
    wanted = {"name": "drawn", "upstream": upstream.address, "listen": "127.0.0.1:0"}
    listen = client.call("POST", "/proxies", wanted)["listen"]
    client.call("POST", "/proxies/drawn/toxics", {"type": "limit_data", "stream": "upstream", "toxicity": 0.5})
    found = ""
    for _ in range(24):
        near, far = upstream.connect(listen)
        near.sendall(b"x")
        found += "." if far.recv(1) else "L"
    client.call("DELETE", "/proxies/drawn")
    return found


def drawn_from(seed: int) -> str:
    """`drawn` of a server that has drawn nothing before."""
    with embedded("--seed", str(seed)) as server, closing(Upstream()) as upstream:
        return drawn(ToxiproxyClient(f"http://{server.host}:{server.port}"), upstream)


def clock() -> float:
    loop = asyncio.new_event_loop()
    try:
        return loop.time()
    finally:
        loop.close()
