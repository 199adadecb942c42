"""Ends a ZooKeeper session from outside: a second client resumes it by id and password and closes it.

ZooKeeper then logs a closeSession *with* a client's cxid; a session that it gave up by itself has cxid 0. Spoken straight
on the wire (ZooKeeper's jute records), because a whole client would start pinging and retrying in a session that is not
its own.
"""

from __future__ import annotations

import asyncio

from kazoo.protocol.serialization import CloseInstance, Connect, int_int_struct

from pytest_kcontroller.cluster.zookeeper.access import PLAIN, Access, connect_request, frame, read_frame
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within

XID = 1
AGAIN_S = 0.01


async def close_session(
    server: Address, session_id: int, password: bytes, *, timeout_s: float, access: Access = PLAIN
) -> None:
    """Returns when ZooKeeper has answered. Raises EnvironmentFailure if the session is gone, or after `timeout_s`.

    ZooKeeper closes the connection of a session that somebody resumes on another one (ZooKeeperServer's
    processConnectRequest: CLIENT_RECONNECT). The owner, who has lost its connection so, resumes the session at once too,
    and may be faster than our closeSession: then ours ends without an answer, and it is our turn again.
    """
    where = f"session {session_id:#x} at {server}"
    asked_before = False
    try:
        async with within(timeout_s):
            while True:
                try:
                    resumed = await _resume_and_close(server, session_id, password, access)
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


async def resumes(
    server: Address, session_id: int, password: bytes, *, timeout_s: float, access: Access = PLAIN
) -> bool:
    """Whether ZooKeeper gives the session to whoever knows its password, which takes it from its owner.

    Raises EnvironmentFailure if it does not answer in time."""
    where = f"session {session_id:#x} at {server}"
    try:
        async with within(timeout_s):
            while True:
                try:
                    return await _resumes_now(server, session_id, password, access)
                except (asyncio.IncompleteReadError, ConnectionResetError):  # the owner was faster: see close_session
                    await asyncio.sleep(AGAIN_S)
    except TimeoutError:
        raise EnvironmentFailure(
            f"ZooKeeper does not say within {timeout_s:g} s whether it lives", where=where
        ) from None
    except OSError as broken:
        raise EnvironmentFailure(f"ZooKeeper does not say whether it lives: {broken}", where=where) from None


async def _resumes_now(server: Address, session_id: int, password: bytes, access: Access) -> bool:
    """Raises IncompleteReadError, ConnectionResetError: the connection was closed before the answer."""
    reader, writer = await access.open(server)
    try:
        writer.write(connect_request(10_000, session_id, password))
        answer, _ = Connect.deserialize(await read_frame(reader), 0)
        return answer.time_out > 0
    finally:
        writer.transport.abort()


async def _resume_and_close(server: Address, session_id: int, password: bytes, access: Access) -> bool:
    """False: there is no such session. Both requests leave at once, so that the owner has little time between them.

    Raises IncompleteReadError: the connection was closed before the answer; what was asked may have had its effect.
    """
    reader, writer = await access.open(server)
    close = frame(int_int_struct.pack(XID, CloseInstance.type))
    sasl = access.identity if access.identity is not None and access.identity.scheme == "sasl" else None
    try:
        writer.write(connect_request(10_000, session_id, password) + (b"" if sasl else close))
        answer, _ = Connect.deserialize(await read_frame(reader), 0)
        if answer.time_out <= 0:
            return False
        if sasl is not None:  # a server may want it first (enforce.auth.schemes)
            await sasl.show((reader, writer))
            writer.write(close)
        await read_frame(reader)
        return True
    except ConnectionResetError as reset:  # as an end of file, but that something of ours was not read
        raise asyncio.IncompleteReadError(b"", None) from reset
    finally:
        writer.close()
