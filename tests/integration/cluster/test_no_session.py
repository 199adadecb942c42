"""A server that gives no session is told by what it does: nobody, full, TLS only, silent, another program."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.zookeeper.no_session import why_no_session
from pytest_kcontroller.model.cluster import Address

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def why(serve: Serve, context: ssl.SSLContext | None = None) -> str:
    """What is said of a server that serves a connection so."""

    async def main() -> str:
        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await serve(reader, writer)
            finally:
                writer.close()

        server = await asyncio.start_server(served, "127.0.0.1", 0, ssl=context)
        async with server:
            return await why_no_session(Address(*server.sockets[0].getsockname()))

    return asyncio.run(main())


async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As ZooKeeper when it has too many connections of one host, and a proxy without an upstream."""


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(100):
        pass


async def speak_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(100)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n")


async def not_serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if await reader.read(100) == b"srvr":
        writer.write(b"This ZooKeeper instance is not currently serving requests\n")


@pytest.mark.parametrize(
    ("serve", "said"),
    [
        (
            close,
            "it accepts connections and closes them at once: a ZooKeeper that is full (maxClientCnxns; this process has",
        ),
        (say_nothing, "it accepts connections and says nothing"),
        (speak_http, "asked for its state (srvr) it says: HTTP/1.1 400 Bad Request"),
        (not_serve, "asked for its state (srvr) it says: This ZooKeeper instance is not currently serving requests"),
    ],
)
def test_what_it_does_is_said(serve: Serve, said: str) -> None:
    assert why(serve).startswith(said)


def test_nobody_is_there() -> None:
    assert asyncio.run(why_no_session(Address("127.0.0.1", 1))).startswith("nobody can be reached there: ")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="a certificate is made by openssl")
def test_a_server_that_speaks_tls_only(tmp_path: Path) -> None:
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=x",
        "-keyout",
        "key",
        "-out",
        "pem",
    ]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem", tmp_path / "key")
    assert why(say_nothing, context).startswith("it speaks TLS, and is asked without")
