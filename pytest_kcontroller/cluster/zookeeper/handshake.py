"""The session that ZooKeeper grants on a connection, read from its answer to the connect request as it passes; and the one
that was asked for.

The answer is the first frame of ZooKeeper's direction (jute's ConnectResponse: protocol version, time-out, session id,
password, read-only). Its time-out is 0 if the session that the client wanted to resume has ended. A connection that begins
with a four-letter word has no such frame, and no session.
"""

from __future__ import annotations

from dataclasses import dataclass

from kazoo.protocol.serialization import Connect, int_struct, long_struct

SHORTEST, LONGEST = 32, 1024
"""Of the frame, in bytes: 36 or 37 (ZooKeeper 3.3 and before have no read-only). As a length, text is longer by far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    session_id: int
    """Unsigned, as ZooKeeper writes it."""
    password: bytes
    timeout_ms: int
    """As negotiated."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The session has ended."""


ASKED_AT = int_struct.size + int_struct.size + long_struct.size + int_struct.size
"""Where a connection begins with a connect request: its length, protocol version, last zxid, time-out; the session id."""


class Question:
    """Of one connection: is given what the client says, chunk by chunk, and keeps none of it."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._over = False

    def hear(self, data: bytes) -> int | None:
        """The session that is asked for, unsigned, with the chunk that says it; 0: a new one."""
        if self._over:
            return None
        self._head += data[: ASKED_AT + long_struct.size - len(self._head)]
        if len(self._head) < ASKED_AT + long_struct.size:
            return None
        self._over = True
        (session_id,) = long_struct.unpack_from(self._head, ASKED_AT)
        return int(session_id) & ((1 << 64) - 1)


class Handshake:
    """Of one connection: is given what ZooKeeper says, chunk by chunk, and keeps none of it."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._over = False

    def hear(self, data: bytes) -> Granted | Refused | None:
        """What the answer says, with the chunk that completes it."""
        if self._over:
            return None
        self._head += data
        if len(self._head) < int_struct.size:
            return None
        (length,) = int_struct.unpack_from(self._head)
        whole = int_struct.size + length
        if SHORTEST <= length <= LONGEST and len(self._head) < whole:
            return None
        head, self._over = bytes(self._head[int_struct.size : whole]), True
        self._head.clear()
        return _decode(head) if SHORTEST <= length <= LONGEST else None


def _decode(answer: bytes) -> Granted | Refused:
    connect, _ = Connect.deserialize(answer, 0)
    if connect.time_out <= 0:
        return Refused()
    unsigned = connect.session_id & ((1 << 64) - 1)
    return Granted(session_id=unsigned, password=connect.passwd, timeout_ms=connect.time_out)
