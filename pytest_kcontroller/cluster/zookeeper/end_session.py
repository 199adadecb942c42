"""Ends a ZooKeeper session from outside: a second client resumes it by id and password and closes it.

ZooKeeper then logs a closeSession *with* a client's cxid; a session that it gave up by itself has cxid 0. Spoken straight
on the wire (ZooKeeper's jute records), because a whole client would start pinging and retrying in a session that is not
its own.
"""

from __future__ import annotations

import asyncio
import struct

from pytest_kcontroller.errors import EnvironmentError_
from pytest_kcontroller.model.cluster import Address

CLOSE_SESSION = -11
XID = 1


async def close_session(server: Address, session_id: int, password: bytes, *, timeout_s: float) -> None:
    """Returns when ZooKeeper has answered. Raises EnvironmentError_ if the session is gone, or after `timeout_s`."""
    where = f"session {session_id:#x} at {server}"
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(server.host, server.port)
            try:
                if not await _resume(reader, writer, session_id, password):
                    raise EnvironmentError_("it had ended before the second client could resume it", where=where)
                writer.write(_frame(struct.pack(">ii", XID, CLOSE_SESSION)))
                await _read_frame(reader)
            finally:
                writer.close()
    except TimeoutError:
        raise EnvironmentError_(f"a second client could not close it within {timeout_s:g} s", where=where) from None
    except (OSError, asyncio.IncompleteReadError) as broken:
        raise EnvironmentError_(f"a second client could not close it: {broken}", where=where) from None


async def _resume(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session_id: int, password: bytes) -> bool:
    """ConnectRequest with a session; its answer has a time-out of 0 if there is no such session."""
    signed = session_id - (1 << 64) if session_id >= 1 << 63 else session_id
    writer.write(_frame(struct.pack(">iqiqi", 0, 0, 10_000, signed, len(password)) + password + b"\x00"))
    answer = await _read_frame(reader)
    _version, negotiated = struct.unpack_from(">ii", answer)
    return bool(negotiated > 0)


def _frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)
