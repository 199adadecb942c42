"""Why a server gives no session: what it does when it is spoken to, in words.

"Nobody is there", "it is full", "it speaks TLS only" and "a proxy with nothing behind it" look the same to a client that
waits for a session.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl

import psutil
from kazoo.protocol.serialization import Connect, int_struct

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.access import PLAIN, Access
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.text import printable
from pytest_kcontroller.runtime.timeouts import within

LOOK_S = 1.0
TLS_S = 3.0
"""For two to agree on TLS, or not."""
MOST_BYTES = 1024
HELLO = Connect(0, 0, 10_000, 0, b"\0" * 16, False).serialize()


async def why_no_session(server: Address, access: Access = PLAIN) -> str:
    """Asks the server itself, in some seconds at most."""
    try:
        said = await _said_to(server, PLAIN, b"")
    except OSError as refused:
        return f"nobody can be reached there: {refused.strerror or 'no answer'}"
    if said == b"":
        return (
            "it accepts connections and closes them at once: a ZooKeeper that is full (maxClientCnxns; this process has "
            f"{_ours(server)} connections to it), or a proxy with nothing behind it"
        )
    if access.tls is None:
        if await _speaks_tls(server):
            return "it speaks TLS, and is asked without (kc_zookeeper_ca, kc_zookeeper_cert)"
    elif (untrusted := await _why_no_tls(server, access)) is not None:
        return untrusted
    with contextlib.suppress(OSError):
        if words := await _said_to(server, access, b"srvr"):
            return f"asked for its state (srvr) it says: {printable(words.decode(errors='replace').splitlines()[0])}"
        answer = await _said_to(server, access, int_struct.pack(len(HELLO)) + bytes(HELLO))
        if answer is None:
            return "it accepts connections and says nothing"
        if answer == b"":
            return "it closes the connection when it is asked for a session"
        return f"it answers what no ZooKeeper says: {printable(repr(answer[:40]))}"
    return "it breaks connections"


async def _why_no_tls(server: Address, access: Access) -> str | None:
    """None: it is spoken to over TLS, and listens."""
    try:
        async with within(scaled(TLS_S)):
            reader, writer = await access.open(server)
    except ssl.SSLCertVerificationError as untrusted:
        return f"its certificate is not to be trusted: {untrusted.verify_message} (kc_zookeeper_ca)"
    except (OSError, TimeoutError):
        if await _speaks_tls(server):
            return "it speaks TLS, and does not accept ours (kc_zookeeper_cert: a certificate of ours that it trusts)"
        return "it does not speak TLS, and is asked with (kc_zookeeper_ca)"
    try:  # TLS 1.3 tells only now that a certificate of ours was wanted
        async with within(scaled(TLS_S)):
            writer.write(b"srvr")
            await reader.read(MOST_BYTES)
    except ssl.SSLError as refused:
        reason = (refused.reason or "").lower().replace("_", " ")
        return f"it does not accept our certificate, or that there is none: {reason} (kc_zookeeper_cert)"
    except (OSError, TimeoutError):
        pass
    finally:
        writer.transport.abort()
    return None


async def _said_to(server: Address, access: Access, words: bytes) -> bytes | None:
    """Its first bytes; empty: it closed the connection; None: nothing for a while. Raises OSError: no connection is made."""
    async with within(scaled(LOOK_S)) as connecting:
        reader, writer = await access.open(server)
        connecting.reschedule(None)
    try:
        async with within(scaled(LOOK_S)):
            writer.write(words)
            return await reader.read(MOST_BYTES)
    except TimeoutError:
        return None
    except OSError:  # it was reset
        return b""
    finally:
        writer.close()


async def _speaks_tls(server: Address) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with within(scaled(TLS_S)):
            _, writer = await asyncio.open_connection(server.host, server.port, ssl=context)
    except ssl.SSLError as failed:  # it wants a certificate of ours, or another version: TLS all the same
        return failed.reason not in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING")
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


def _ours(server: Address) -> int:
    """Connections of this process to that port."""
    try:
        connections = psutil.Process(os.getpid()).net_connections("tcp")
    except psutil.Error:
        return 0
    return sum(1 for one in connections if one.raddr and one.raddr[1] == server.port and one.status == "ESTABLISHED")
