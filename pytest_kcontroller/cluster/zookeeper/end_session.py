"""Ends a ZooKeeper session from outside: a second client resumes it by id and password and closes it.

ZooKeeper then logs a closeSession *with* a client's cxid; a session that it gave up by itself has cxid 0. Spoken straight
on the wire (ZooKeeper's jute records), because a whole client would start pinging and retrying in a session that is not
its own.
"""

from __future__ import annotations

import asyncio

from kazoo.protocol.serialization import CloseInstance, Connect, int_int_struct, int_struct

from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address

XID = 1
AGAIN_S = 0.01


async def close_session(server: Address, session_id: int, password: bytes, *, timeout_s: float) -> None:
    """Returns when ZooKeeper has answered. Raises EnvironmentFailure if the session is gone, or after `timeout_s`.

    ZooKeeper closes the connection of a session that somebody resumes on another one (ZooKeeperServer's
    processConnectRequest: CLIENT_RECONNECT). The owner, who has lost its connection so, resumes the session at once too,
    and may be faster than our closeSession: then ours ends without an answer, and it is our turn again.
    """
    where = f"session {session_id:#x} at {server}"
    asked_before = False
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    resumed = await _resume_and_close(server, session_id, password)
                except asyncio.IncompleteReadError:
                    asked_before = True
                    await asyncio.sleep(AGAIN_S)
                    continue
                if not resumed and not asked_before:
                    raise EnvironmentFailure("it had ended before the second client could resume it", where=where)
                return
    except TimeoutError:
        raise EnvironmentFailure(f"a second client could not close it within {timeout_s:g} s", where=where) from None
    except OSError as broken:
        raise EnvironmentFailure(f"a second client could not close it: {broken}", where=where) from None


async def _resume_and_close(server: Address, session_id: int, password: bytes) -> bool:
    """False: there is no such session. Both requests leave at once, so that the owner has little time between them.

    Raises IncompleteReadError: the connection was closed before the answer; what was asked may have had its effect.
    """
    reader, writer = await asyncio.open_connection(server.host, server.port)
    try:
        signed = session_id - (1 << 64) if session_id >= 1 << 63 else session_id
        writer.write(_frame(Connect(0, 0, 10_000, signed, password, False).serialize()))
        writer.write(_frame(int_int_struct.pack(XID, CloseInstance.type)))
        answer, _ = Connect.deserialize(await _read_frame(reader), 0)
        if answer.time_out <= 0:
            return False
        await _read_frame(reader)
        return True
    except ConnectionResetError as reset:  # as an end of file, but that something of ours was not read
        raise asyncio.IncompleteReadError(b"", None) from reset
    finally:
        writer.close()


def _frame(body: bytes | bytearray) -> bytes:
    return bytes(int_struct.pack(len(body)) + body)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = int_struct.unpack(await reader.readexactly(4))
    return await reader.readexactly(length)
