"""How servers of ZooKeeper are spoken to (over TLS or not, and as whom), and where they are."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kazoo.protocol.serialization import SASL, Auth, CloseInstance, Connect, ReplyHeader, int_int_struct, int_struct
from kazoo.security import ACL, OPEN_ACL_UNSAFE, Id

from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError, UsageError
from pytest_kcontroller.model.cluster import Address

SASL_HOST = "zk-sasl-md5"
"""ZooKeeper's servers have this name in DIGEST-MD5, wherever they are (SecurityUtils)."""
AUTH_XID = -4
SESSION_MS = 10_000
ALL = 31
"""Every permission."""


class _Hidden(str):
    """A text that nobody sees who logs it, as kazoo does at the level DEBUG."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'(hidden)'"


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom. `digest`: ZooKeeper's own scheme, which accepts whatever name is given; `sasl`: DIGEST-MD5."""

    scheme: Literal["digest", "sasl"]
    user: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        """Raises MissingExtraError."""
        if self.scheme == "sasl" and importlib.util.find_spec("puresasl") is None:
            raise MissingExtraError("SASL", "sasl")

    @property
    def kazoo(self) -> dict[str, Any]:
        """What KazooClient takes."""
        if self.scheme == "digest":
            return {"auth_data": [("digest", _Hidden(f"{self.user}:{self.password}"))]}
        return {"sasl_options": {"mechanism": "DIGEST-MD5", "username": self.user, "password": self.password}}

    async def show(self, streams: Streams) -> None:
        """On a connection that has a session. Raises EnvironmentFailure: it is refused."""
        if self.scheme == "digest":
            await _request(streams, AUTH_XID, Auth(0, "digest", f"{self.user}:{self.password}"))
            return
        client = importlib.import_module("puresasl.client").SASLClient(
            SASL_HOST, service="zookeeper", mechanism="DIGEST-MD5", username=self.user, password=self.password
        )
        challenge, xid = None, 0
        while not client.complete:
            response = client.process(challenge)
            if client.complete and not response:
                return
            xid += 1
            challenge, _ = SASL.deserialize(await _request(streams, xid, SASL(response or b"")), 0)


async def _request(streams: Streams, xid: int, request: Auth | SASL) -> bytes:
    """The body of the answer."""
    reader, writer = streams
    writer.write(frame(int_int_struct.pack(xid, request.type) + bytes(request.serialize())))
    answer = await read_frame(reader)
    header, offset = ReplyHeader.deserialize(answer, 0)
    if header.err:
        raise EnvironmentFailure(f"ZooKeeper refuses the user (error {header.err})")
    return answer[offset:]


@dataclass(frozen=True, slots=True)
class Access:
    """`tls` None: without. `opened` is told our end of each connection."""

    tls: ssl.SSLContext | None = None
    identity: Identity | None = None
    opened: Callable[[Address], None] | None = None

    async def open(self, server: Address) -> Streams:
        """Raises OSError: no connection is made, or one of the two does not accept the other's TLS (ssl.SSLError)."""
        reader, writer = await asyncio.open_connection(server.host, server.port, ssl=self.tls)
        if self.opened is not None:
            self.opened(Address(*writer.get_extra_info("sockname")[:2]))
        return reader, writer

    @property
    def kazoo(self) -> dict[str, Any]:
        """What KazooClient takes; TLS is up to a relay, which is the one place that speaks it."""
        return {} if self.identity is None else self.identity.kazoo


PLAIN = Access()


async def check_identity(server: Address, access: Access) -> None:
    """Raises EnvironmentFailure if SASL refuses it; says nothing of a server that gives no session.

    A client would retry, or die of it without a word.
    """
    if access.identity is None or access.identity.scheme != "sasl":
        return
    try:
        streams = await access.open(server)
        try:
            streams[1].write(connect_request(SESSION_MS))
            await read_frame(streams[0])
            with contextlib.suppress(asyncio.IncompleteReadError):
                await access.identity.show(streams)
                streams[1].write(frame(int_int_struct.pack(1, CloseInstance.type)))
                await read_frame(streams[0])
                return
            raise EnvironmentFailure("ZooKeeper closes the connection when it is shown the user")
        finally:
            streams[1].transport.abort()
    except (OSError, asyncio.IncompleteReadError):
        return


def tls_context(
    ca: Path | None, cert: Path | None = None, key: Path | None = None, password: str | None = None
) -> ssl.SSLContext:
    """`ca` None: the system's certificates. Raises UsageError that names the file."""
    try:
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ssl.SSLError) as bad:
        raise UsageError(f"no certificates can be read from it: {bad}", where=str(ca), hint="name a PEM file") from None
    if cert is not None:
        try:
            context.load_cert_chain(cert, key, lambda: password or "")
        except (OSError, ssl.SSLError) as bad:
            where = f"{cert}, {key}" if key else str(cert)
            what = f"no certificate with its key can be read from it: {bad}"
            raise UsageError(
                what, where=where, hint="PEM files; a key's password is KC_ZOOKEEPER_KEY_PASSWORD"
            ) from None
    return context


@dataclass(frozen=True, slots=True)
class Place:
    """A server or an ensemble, and the path there that tests may use."""

    members: tuple[Address, ...]
    chroot: str = ""
    """Empty, or `/a/b`: it exists."""
    access: Access = PLAIN
    closed: bool = False
    """Whether what tests make is their user's alone (ACL `auth`), instead of everybody's."""

    def __str__(self) -> str:
        return f"{self.hosts}{self.chroot}"

    @property
    def hosts(self) -> str:
        return ",".join(map(str, self.members))

    @property
    def acl(self) -> list[ACL]:
        return [ACL(ALL, Id("auth", ""))] if self.closed else OPEN_ACL_UNSAFE


def frame(body: bytes | bytearray) -> bytes:
    return bytes(int_struct.pack(len(body)) + body)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Raises IncompleteReadError: the connection has ended; ConnectionError: this is no ZooKeeper."""
    (length,) = int_struct.unpack(await reader.readexactly(int_struct.size))
    if length < 0:
        raise ConnectionError(f"what answers there is no ZooKeeper: it sends {length} bytes")
    return await reader.readexactly(length)


def connect_request(timeout_ms: int, session_id: int = 0, password: bytes = b"\0" * 16) -> bytes:
    """The first frame of a connection; `session_id` 0 asks for a new session, unsigned or not."""
    signed = session_id - (1 << 64) if session_id >= 1 << 63 else session_id
    return frame(Connect(0, 0, timeout_ms, signed, password, False).serialize())
