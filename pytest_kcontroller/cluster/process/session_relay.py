"""One relay per node to ZooKeeper, and what it hears: `python -m [this module] HOST:PORT 0,1,2 FILE`.

A process of its own, because a harness that is busy (a test's own work, a large tree that is decoded) must not hold up the
nodes' pings. FILE gets JSON lines: first `{"listening": [HOST:PORT, ...]}`, in the order of the nodes, then per connection

    {"node": 0, "connection": 7, "session": "0x...", "password": "<hex>", "timeout_ms": 3000}   granted, or resumed
    {"node": 0, "connection": 7, "refused": true}                                               that session has ended
    {"node": 0, "connection": 7, "closed": true}

each before the node has the bytes that say so.
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
from pytest_kcontroller.cluster.zookeeper.relay import Relay
from pytest_kcontroller.model.cluster import Address


class SessionWitness:
    """See relay.Witness; `say` writes a line."""

    def __init__(self, say: Callable[..., None], node: int, connection: int) -> None:
        self._say = partial(say, node=node, connection=connection)
        self._handshake = Handshake()

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


async def serve(zookeeper: Address, nodes: list[int], file: Path) -> None:
    stop, connections = asyncio.Event(), itertools.count()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with file.open("a", buffering=1, encoding="utf-8") as lines:

        def say(**fields: Any) -> None:
            lines.write(json.dumps(fields) + "\n")

        def relay(node: int) -> Relay:
            return Relay(zookeeper, lambda: SessionWitness(say, node, next(connections)))

        relays = [relay(node) for node in nodes]
        say(listening=[str(await each.start()) for each in relays])
        await stop.wait()
        for each in relays:
            await each.stop()


def main(zookeeper: str, nodes: str, file: str) -> int:
    asyncio.run(serve(Address.parse(zookeeper), [int(node) for node in nodes.split(",")], Path(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
