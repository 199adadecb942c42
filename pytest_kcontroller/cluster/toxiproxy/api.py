"""The HTTP API of toxiproxy 2.12, as far as clients use it: proxies, toxics, populate, reset, version.

Statuses, bodies and the content type of errors are the real server's; toxicity is drawn from `--seed`, which the real
server ignores (Shopify/toxiproxy#610).
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from pytest_kcontroller.cluster.toxiproxy.proxy import STREAMS, Placed, Proxy
from pytest_kcontroller.cluster.toxiproxy.toxics import make

VERSION = "2.12.0"
JSON = "application/json"


class ApiError(Exception):
    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)


class Api:
    """The state of one server: its proxies, by name, in the order in which they were made."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.proxies: dict[str, Proxy] = {}

    def application(self) -> web.Application:
        app = web.Application(middlewares=[_errors])
        route = app.router.add_route
        route("GET", "/version", self.version)
        route("GET", "/proxies", self.list)
        route("POST", "/proxies", self.create)
        route("POST", "/populate", self.populate)
        route("POST", "/reset", self.reset)
        route("GET", "/proxies/{proxy}", self.show)
        route("DELETE", "/proxies/{proxy}", self.delete)
        route("GET", "/proxies/{proxy}/toxics", self.list_toxics)
        route("POST", "/proxies/{proxy}/toxics", self.add_toxic)
        route("GET", "/proxies/{proxy}/toxics/{toxic}", self.show_toxic)
        route("DELETE", "/proxies/{proxy}/toxics/{toxic}", self.remove_toxic)
        for method in ("POST", "PATCH"):
            route(method, "/proxies/{proxy}", self.update)
            route(method, "/proxies/{proxy}/toxics/{toxic}", self.update_toxic)
        return app

    async def version(self, _: web.Request) -> web.Response:
        return _answer({"version": VERSION})

    async def list(self, _: web.Request) -> web.Response:
        return _answer({name: _proxy(proxy) for name, proxy in self.proxies.items()})

    async def create(self, request: web.Request) -> web.Response:
        return _answer(_proxy(await self._make(await _body(request))), 201)

    async def populate(self, request: web.Request) -> web.Response:
        """As the real server: an equal proxy stays untouched, another of that name is replaced, without its toxics."""
        wanted = await _body(request, list)
        for number, entry in enumerate(wanted, 1):
            for key in ("name", "upstream"):
                if not entry.get(key):
                    raise ApiError(400, f"missing required field: {key} at proxy {number}")
        made = []
        for entry in wanted:
            old = self.proxies.get(entry["name"])
            if old is None or (old.listen, old.upstream) != (entry.get("listen"), entry["upstream"]):
                if old is not None:
                    await self.proxies.pop(old.name).stop()
                old = await self._make(entry)
            made.append(_proxy(old))
        return _answer({"proxies": made or None}, 201)

    async def reset(self, _: web.Request) -> web.Response:
        for proxy in self.proxies.values():
            await _start(proxy)
            for placed in list(proxy.toxics):
                await proxy.remove(placed)
        return web.Response(status=204)

    async def show(self, request: web.Request) -> web.Response:
        return _answer(_proxy(self._proxy(request)))

    async def update(self, request: web.Request) -> web.Response:
        proxy, body = self._proxy(request), await _body(request)
        listen, upstream = body.get("listen") or proxy.listen, body.get("upstream") or proxy.upstream
        enabled = body.get("enabled", proxy.enabled)
        if (listen, upstream) != (proxy.listen, proxy.upstream):
            await proxy.stop()
            proxy.listen, proxy.upstream = listen, upstream
        if enabled:
            await _start(proxy)
        else:
            await proxy.stop()
        return _answer(_proxy(proxy))

    async def delete(self, request: web.Request) -> web.Response:
        proxy = self._proxy(request)
        del self.proxies[proxy.name]
        await proxy.stop()
        return web.Response(status=204)

    async def list_toxics(self, request: web.Request) -> web.Response:
        return _answer(_toxics(self._proxy(request)))

    async def add_toxic(self, request: web.Request) -> web.Response:
        proxy, body = self._proxy(request), await _body(request)
        stream = body.get("stream") or "downstream"
        if str(stream).lower() not in STREAMS:
            raise ApiError(400, "stream was invalid, can be either upstream or downstream")
        kind = str(body.get("type") or "")
        name = body.get("name") or f"{kind}_{stream}"
        toxic = _make_toxic(kind, body.get("attributes"))
        if any(placed.name == name for placed in proxy.toxics):
            raise ApiError(409, "toxic already exists")
        placed = Placed(name, stream, _toxicity(body, 1.0), toxic)
        await proxy.add(placed)
        return _answer(_toxic(placed))

    async def show_toxic(self, request: web.Request) -> web.Response:
        return _answer(_toxic(self._placed(request)[1]))

    async def update_toxic(self, request: web.Request) -> web.Response:
        proxy, placed = self._placed(request)
        body = await _body(request)
        attributes = placed.toxic.attributes() | (body.get("attributes") or {})
        await proxy.update(placed, _make_toxic(placed.toxic.kind, attributes), _toxicity(body, placed.toxicity))
        return _answer(_toxic(placed))

    async def remove_toxic(self, request: web.Request) -> web.Response:
        proxy, placed = self._placed(request)
        await proxy.remove(placed)
        return web.Response(status=204)

    async def _make(self, body: dict[str, Any]) -> Proxy:
        for key in ("name", "upstream"):
            if not body.get(key):
                raise ApiError(400, f"missing required field: {key}")
        if body["name"] in self.proxies:
            raise ApiError(409, "proxy already exists")
        proxy = Proxy(body["name"], body.get("listen") or "[::]:0", body["upstream"], self._rng)
        if body.get("enabled", True):
            await _start(proxy)
        self.proxies[proxy.name] = proxy
        return proxy

    def _proxy(self, request: web.Request) -> Proxy:
        if (proxy := self.proxies.get(request.match_info["proxy"])) is None:
            raise ApiError(404, "proxy not found")
        return proxy

    def _placed(self, request: web.Request) -> tuple[Proxy, Placed]:
        proxy = self._proxy(request)
        for placed in proxy.toxics:
            if placed.name == request.match_info["toxic"]:
                return proxy, placed
        raise ApiError(404, "toxic not found")


@web.middleware
async def _errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    if request.headers.get("User-Agent", "").startswith("Mozilla/"):
        return web.Response(status=403, text="User agent not allowed\n")
    try:
        return await handler(request)
    except ApiError as error:
        text = json.dumps({"error": error.message, "status": error.status}, separators=(",", ":")) + "\n"
        return web.Response(status=error.status, text=text, headers={"X-Content-Type-Options": "nosniff"})
    except web.HTTPNotFound:
        return web.Response(status=404, text="404 page not found\n")
    except web.HTTPMethodNotAllowed:
        return web.Response(status=405)


async def _body(request: web.Request, kind: type[Any] = dict) -> Any:
    raw = await request.read()
    try:
        value = json.loads(raw) if raw else None
    except ValueError as bad:
        raise ApiError(400, f"bad request body: {bad}") from None
    if not isinstance(value, kind):
        raise ApiError(400, f"bad request body: {'EOF' if not raw else 'not what this path takes'}")
    return value


async def _start(proxy: Proxy) -> None:
    try:
        await proxy.start()
    except OSError as taken:
        reason = "bind: address already in use" if taken.errno == 98 else f"bind: {taken.strerror or taken}"
        raise ApiError(500, f"listen tcp {proxy.listen}: {reason}") from None
    except ValueError as bad:
        raise ApiError(500, str(bad)) from None


def _make_toxic(kind: str, attributes: Any) -> Any:
    try:
        toxic = make(kind, attributes)
    except ValueError as bad:
        raise ApiError(400, f"bad request body: {bad}") from None
    if toxic is None:
        raise ApiError(400, "invalid toxic type")
    return toxic


def _toxicity(body: dict[str, Any], default: float) -> float:
    value = body.get("toxicity", default)
    return float(default if value is None else value)


def _proxy(proxy: Proxy) -> dict[str, Any]:
    return {
        "name": proxy.name,
        "listen": proxy.listen,
        "upstream": proxy.upstream,
        "enabled": proxy.enabled,
        "toxics": _toxics(proxy),
    }


def _toxics(proxy: Proxy) -> list[dict[str, Any]]:
    return [_toxic(placed) for stream in STREAMS for placed in proxy.placed(stream)]


def _toxic(placed: Placed) -> dict[str, Any]:
    toxicity: float = int(placed.toxicity) if placed.toxicity == int(placed.toxicity) else placed.toxicity
    return {
        "attributes": placed.toxic.attributes(),
        "name": placed.name,
        "type": placed.toxic.kind,
        "stream": placed.stream,
        "toxicity": toxicity,
    }


def _answer(value: Any, status: int = 200) -> web.Response:
    text = json.dumps(value, separators=(",", ":")) + "\n"
    return web.Response(status=status, text=text, content_type=JSON, charset="utf-8")
