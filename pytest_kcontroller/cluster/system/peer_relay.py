"""What stands before each node of a user's program, on the links between nodes: a relay that answers us itself.

    python -m [this module] HOST:PORT=HOST:PORT ...

where it listens, and where the program does, for each node. It prints `{"ready": true}` when it can be used.

A fault on a link is seen by connections of ours over the same link, and a program that is not ours can be asked nothing. So
whoever begins with WORD is answered here, as a node of ours would (faults/_probes.py), and the program hears nothing of it.
All else is the program's, byte by byte; the end of each direction, and a reset, are passed on as they are.

A connection to the program is made when something is said that does not begin WORD, or after SILENT_S without a word.
Before, it may be one of ours, and a program that serves one connection at a time would be held up by it. What begins like
WORD and ends there is dropped; no text in UTF-8 does.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import struct
import sys
from collections.abc import Sequence

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.real import SocketStream
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.wire.server import Service, serve

WORD = b"\xc0\xc1kcontroller\xc1\xc0"
SILENT_S = 0.5
"""Longer than most looks of ours, and short for a program whose servers speak first."""
AT_ONCE = 1 << 16
NO_LINGER = struct.pack("ii", 1, 0)
OF_OURS = Service(handlers={})


class PeerRelay:
    """Before one node."""

    def __init__(self, listen: Address, target: Address) -> None:
        self._listen, self._target = listen, target

    async def start(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, self._listen.host, self._listen.port)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            said = await _first(reader, SILENT_S)
            if said == WORD:
                await serve(SocketStream(reader, writer), OF_OURS)
            elif said is not None:
                await self._pass_on(said, reader, writer)
        except OSError:
            _reset(writer)
        finally:
            writer.close()

    async def _pass_on(self, said: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(self._target.host, self._target.port)
        except OSError:
            return  # nobody listens there, which ends the connection as at a proxy
        ways = [asyncio.ensure_future(_up(said, reader, far_writer)), asyncio.ensure_future(_pump(far_reader, writer))]
        try:
            await asyncio.gather(*ways)
        except _OursError:
            ways[1].cancel()
            far_writer.close()
            await serve(SocketStream(reader, writer), OF_OURS)
        except OSError:
            _reset(far_writer)
            raise
        finally:
            for way in ways:
                way.cancel()
            far_writer.close()


class _OursError(Exception):
    """Its WORD came late: on a slow link, or from somebody who had no core."""


async def _up(said: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if not said:
        if (first := await _first(reader, None)) == WORD:
            raise _OursError
        said = first or b""
    writer.write(said)
    await _pump(reader, writer)


async def _first(reader: asyncio.StreamReader, limit_s: float | None) -> bytes | None:
    """What is said first: WORD, or what it does not begin with; b"" if nothing is. None: it has ended before."""
    said = b""
    try:
        async with within(limit_s) as limit:
            while said != WORD and WORD.startswith(said):
                if not (more := await reader.read(len(WORD) - len(said))):
                    return None
                said += more
                limit.reschedule(None)
    except TimeoutError:
        pass
    return said


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(AT_ONCE):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Whoever is at the other end learns that it broke."""
    if not writer.transport.is_closing():
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    writer.transport.abort()


async def run(ways: Sequence[str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    for way in ways:
        listen, _, target = way.partition("=")
        await PeerRelay(Address.parse(listen), Address.parse(target)).start()
    print(json.dumps({"ready": True}), flush=True)
    await stop.wait()


def main(*ways: str) -> int:
    asyncio.run(run(ways))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
