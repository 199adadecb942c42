"""The proxies on a toxiproxy server: one for each ZooKeeper server, and what is done to all of them."""

from __future__ import annotations

import itertools

from pytest_kcontroller.cluster.process.on_proxies import OnProxies
from pytest_kcontroller.cluster.process.shared_proxies import prefix
from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import Toxic

_numbers = itertools.count(1_000_000)
"""Of the sets of proxies of this process: no numbers that its clusters have."""


class Proxies:
    """Made by `add`, taken away by `close`."""

    def __init__(self, client: ToxiproxyClient) -> None:
        self._on, self._prefix = OnProxies(client), prefix(next(_numbers))
        self._names: list[str] = []

    async def add(self, upstream: Address) -> Address:
        """Where the proxy listens: a free port of the loopback."""
        name = f"{self._prefix}client-zookeeper-{len(self._names)}"
        self._names.append(name)  # it may be made although this is cancelled
        return await self._on.create(name, listen="127.0.0.1:0", upstream=upstream)

    async def set(self, *toxics: Toxic) -> None:
        """Again: the new attributes count."""
        for name in self._names:
            for toxic in toxics:
                await self._on.impair(name, toxic)

    async def clear(self) -> None:
        """No toxic is left, and connections are accepted."""
        for name in self._names:
            await self._on.heal(name)

    async def enable(self) -> None:
        for name in self._names:
            await self._on.enable(name, True)

    async def disable(self) -> None:
        """Open connections are closed, and new ones refused."""
        for name in self._names:
            await self._on.enable(name, False)

    async def close(self) -> None:
        """Idempotent."""
        await self._on.delete_all(self._names)
        self._names.clear()
