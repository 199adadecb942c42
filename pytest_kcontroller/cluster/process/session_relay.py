"""One relay per node to each server of ZooKeeper, and what it hears.

    python -m [this module] HOST:PORT[,...] 0,1,2 FILE [HOST]

A process of its own, because a harness that is busy (a test's own work, a large tree that is decoded) must not hold up the
nodes' pings. They listen on HOST, else on the loopback. FILE gets JSON lines: first
`{"listening": [[HOST:PORT, ...], ...]}`, for each node in order its relay to each server, then per connection

    {"node": 0, "connection": 7, "opened": true}
    {"node": 0, "connection": 7, "session": "0x...", "password": "<hex>", "timeout_ms": 3000}   granted, or resumed
    {"node": 0, "connection": 7, "refused": true}                                               that session has ended
    {"node": 0, "connection": 7, "closed": true}

those of a session before the node has the bytes that say so.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pytest_kcontroller.cluster.zookeeper.handshake import Granted, Handshake
from pytest_kcontroller.cluster.zookeeper.relay import LOOPBACK, Relay, Witness
from pytest_kcontroller.model.cluster import Address


class SessionWitness(Witness):
    """See relay.Witness; `say` writes a line."""

    def __init__(self, say: Callable[..., None], node: int, connection: int) -> None:
        self._say = partial(say, node=node, connection=connection)
        self._handshake = Handshake()
        self._say(opened=True)

    def hear(self, data: bytes) -> None:
        match self._handshake.hear(data):
            case None:
                return
            case Granted() as granted:
                self._say(
                    session=hex(granted.session_id), password=granted.password.hex(), timeout_ms=granted.timeout_ms
                )
            case _:
                self._say(refused=True)

    def end(self) -> None:
        self._say(closed=True)


async def serve(zookeeper: list[Address], nodes: list[int], file: Path, host: str) -> None:
    stop, connections = asyncio.Event(), itertools.count()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with file.open("a", buffering=1, encoding="utf-8") as lines:

        def say(**fields: Any) -> None:
            lines.write(json.dumps(fields) + "\n")

        def relay(node: int, server: Address) -> Relay:
            return Relay(server, lambda: SessionWitness(say, node, next(connections)), host=host)

        relays = [[relay(node, server) for server in zookeeper] for node in nodes]
        say(listening=[[str(await each.start()) for each in of_node] for of_node in relays])
        await stop.wait()
        for each in itertools.chain(*relays):
            await each.stop()


def main(zookeeper: str, nodes: str, file: str, host: str = LOOPBACK) -> int:
    servers = [Address.parse(server) for server in zookeeper.split(",")]
    asyncio.run(serve(servers, [int(node) for node in nodes.split(",")], Path(file), host))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
