"""What is done to proxies on a toxiproxy server, by their names: one request after the other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

from pytest_kcontroller.cluster.process.proxy_server import in_thread
from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient, ToxiproxyRefusal
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import Toxic
from pytest_kcontroller.runtime.nursery import undisturbed


class OnProxies:
    """Every call raises EnvironmentFailure: the server does not do it."""

    def __init__(self, client: ToxiproxyClient) -> None:
        self._client = client
        self._changes = asyncio.Lock()  # requests.Session is for one thread at a time

    async def call(self, method: str, path: str, body: object | None = None) -> Any:
        """Cancelled, it ends with the request, whose thread goes on in any case: what was asked for is done then, or has
        failed, and whoever takes it back comes after it."""
        return await undisturbed(self._call(method, path, body))

    async def _call(self, method: str, path: str, body: object | None) -> Any:
        async with self._changes:
            return await in_thread(lambda: self._client.call(method, path, body))

    async def create(self, name: str, *, listen: str, upstream: Address) -> Address:
        """Where it listens."""
        body = {"name": name, "listen": listen, "upstream": str(upstream), "enabled": True}
        return Address.parse((await self.call("POST", "/proxies", body))["listen"])

    async def delete_all(self, names: Iterable[str]) -> None:
        """Those that are there; raises nothing."""
        with contextlib.suppress(EnvironmentFailure):  # the server is gone, and its proxies with it
            for name in names:
                with contextlib.suppress(ToxiproxyRefusal):  # somebody has deleted it, or it was never made
                    await self.call("DELETE", f"/proxies/{name}")

    async def impair(self, name: str, toxic: Toxic) -> None:
        """Again: the new attributes count."""
        body: dict[str, Any] = {"attributes": dict(toxic.attributes)}
        if await self._has(name, toxic):
            await self.call("POST", f"/proxies/{name}/toxics/{toxic.name}", body)
        else:
            body |= {"name": toxic.name, "type": toxic.type, "stream": toxic.stream}
            await self.call("POST", f"/proxies/{name}/toxics", body)

    async def restore(self, name: str, toxic: Toxic) -> None:
        """Connections that a `timeout` was on are closed (toxiproxy's rule)."""
        if await self._has(name, toxic):
            await self.call("DELETE", f"/proxies/{name}/toxics/{toxic.name}")

    async def _has(self, name: str, toxic: Toxic) -> bool:
        return toxic.name in [there["name"] for there in await self.toxics(name)]

    async def toxics(self, name: str) -> list[dict[str, Any]]:
        """What the server itself says is in effect."""
        found: list[dict[str, Any]] = await self.call("GET", f"/proxies/{name}/toxics")
        return found

    async def enable(self, name: str, enabled: bool) -> None:
        """Not enabled: open connections are closed, and new ones refused. Toxics stay as they are."""
        await self.call("POST", f"/proxies/{name}", {"enabled": enabled})

    async def heal(self, name: str) -> None:
        """No toxic is left, and connections are accepted. Those that were cut are closed (toxiproxy's rule)."""
        for toxic in await self.toxics(name):
            await self.call("DELETE", f"/proxies/{name}/toxics/{toxic['name']}")
        await self.enable(name, True)
