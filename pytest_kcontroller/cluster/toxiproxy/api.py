"""The HTTP API of toxiproxy 2.12: proxies, toxics, populate, reset, version.

Statuses, bodies and headers are the real server's; docs/toxiproxy.md says what is not. Toxicity is drawn from `--seed`,
which the real server ignores (Shopify/toxiproxy#610).
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Any

from aiohttp import web

from pytest_kcontroller.cluster.toxiproxy import bodies
from pytest_kcontroller.cluster.toxiproxy.addresses import AddressError
from pytest_kcontroller.cluster.toxiproxy.bodies import BodyError, Struct
from pytest_kcontroller.cluster.toxiproxy.connection import STREAMS, Placed
from pytest_kcontroller.cluster.toxiproxy.proxy import ListenError, Proxy
from pytest_kcontroller.cluster.toxiproxy.toxics import KINDS, Toxic, ToxicError

VERSION = "2.12.0"
JSON = "application/json"
NO_SNIFF = {"X-Content-Type-Options": "nosniff"}
REQUEST_ID = "X-Toxiproxy-Request-Id"

PROXY_FIELDS = {"name": "string", "listen": "string", "upstream": "string", "enabled": "bool"}
PROXY = Struct("Proxy", "toxiproxy.Proxy", PROXY_FIELDS)
ENTRY = Struct(".Proxy", "struct { toxiproxy.Proxy }", PROXY_FIELDS)
TOXIC = Struct(
    "ToxicWrapper",
    "toxics.ToxicWrapper",
    {"name": "string", "type": "string", "stream": "string", "toxicity": "float32", "attributes": "toxics.NoopToxic"},
)
TOXIC_DEFAULTS: dict[str, Any] = {"name": "", "type": "", "stream": "downstream", "toxicity": 1.0}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiError(Exception):
    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)

    def body(self) -> dict[str, Any]:
        return {"error": self.message, "status": self.status}


class Api:
    """The state of one server: its proxies, by name, in the order in which they were made. `strict`: see Proxy."""

    def __init__(self, seed: int, *, strict: bool) -> None:
        self._seed, self._rng, self._strict = seed, random.Random(seed), strict
        self.proxies: dict[str, Proxy] = {}
        self._changes = asyncio.Lock()  # of which proxies there are

    def application(self) -> web.Application:
        app = web.Application(middlewares=[_middleware], client_max_size=0)  # a list of proxies has no limit
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
        text = json.dumps({"version": VERSION}) + "\n"
        return web.Response(text=text, headers={"Content-Type": f"{JSON};charset=utf-8"})

    async def list(self, _: web.Request) -> web.Response:
        return _answer({name: _proxy(proxy) for name, proxy in sorted(self.proxies.items())})

    async def create(self, request: web.Request) -> web.Response:
        body = bodies.read(await _body(request), PROXY)
        _require(body)
        async with self._changes:
            if body["name"] in self.proxies:
                raise ApiError(409, "proxy already exists")
            proxy = await self._make(body)
        return _answer(_proxy(proxy), 201)

    async def populate(self, request: web.Request) -> web.Response:
        """An equal proxy stays untouched, another of that name is replaced, without its toxics; an error ends it, and what
        was done before it stays."""
        done: list[Proxy] = []
        try:
            entries = _entries(await _body(request))
            async with self._changes:
                for entry in entries:
                    done.append(await self._add_or_replace(entry))
        except (ApiError, BodyError, AddressError, ListenError) as failed:
            error = _api_error(failed)
            proxies = [_proxy(proxy) for proxy in done]
            return _answer(error.body() | {"proxies": proxies or None}, error.status)
        return _answer({"proxies": [_proxy(proxy) for proxy in done] or None}, 201)

    async def _add_or_replace(self, entry: dict[str, Any]) -> Proxy:
        old = self.proxies.get(entry["name"])
        if old is not None:
            if not await old.differs(entry.get("listen", ""), entry["upstream"]):
                return old
            await old.stop()
        return await self._make(entry)

    async def reset(self, request: web.Request) -> web.Response:
        """What is drawn begins anew too: who gets the server next has draws of the seed alone, or of `?seed=N`, which the
        real server takes no notice of."""
        if (seed := request.query.get("seed")) is not None:
            self._seed = _number(seed)
        self._rng.seed(self._seed)
        for proxy in list(self.proxies.values()):
            await proxy.start()
            for placed in list(proxy.toxics):
                await proxy.remove(placed)
        return web.Response(status=204)

    async def show(self, request: web.Request) -> web.Response:
        return _answer(_proxy(self._proxy(request)))

    async def update(self, request: web.Request) -> web.Response:
        proxy = self._proxy(request)
        now: dict[str, Any] = {"listen": proxy.listen, "upstream": proxy.upstream, "enabled": proxy.enabled}
        body = now | bodies.read(await _body(request), PROXY)
        await proxy.change(body["listen"], body["upstream"], body["enabled"])
        return _answer(_proxy(proxy))

    async def delete(self, request: web.Request) -> web.Response:
        async with self._changes:
            proxy = self._proxy(request)
            del self.proxies[proxy.name]
            await proxy.stop()
        return web.Response(status=204)

    async def list_toxics(self, request: web.Request) -> web.Response:
        return _answer([_toxic(placed) for placed in self._proxy(request).ordered_toxics()])

    async def add_toxic(self, request: web.Request) -> web.Response:
        proxy, value = self._proxy(request), await _body(request)
        body = TOXIC_DEFAULTS | bodies.read(value, TOXIC)
        if body["stream"].lower() not in STREAMS:
            raise ApiError(400, "stream was invalid, can be either upstream or downstream")
        if (kind := KINDS.get(body["type"])) is None:
            raise ApiError(400, "invalid toxic type")
        name = body["name"] or f"{body['type']}_{body['stream']}"
        if any(placed.name == name for placed in proxy.toxics):
            raise ApiError(409, "toxic already exists")
        toxic = _make_toxic(kind, body.get("attributes"), {})
        placed = Placed(name, body["stream"], body["toxicity"], toxic)
        await proxy.add(placed)
        return _answer(_toxic(placed))

    async def show_toxic(self, request: web.Request) -> web.Response:
        return _answer(_toxic(self._placed(request)[1]))

    async def update_toxic(self, request: web.Request) -> web.Response:
        """Attributes that are not given stay. After an error all do (the real server keeps those before the wrong one)."""
        proxy, placed = self._placed(request)
        kind = type(placed.toxic)
        target = Struct("", "struct", {"toxicity": "float32", "attributes": f"toxics.{kind.go_name}"})
        body = bodies.read(await _body(request), target)
        toxic = _make_toxic(kind, body.get("attributes"), placed.toxic.attributes())
        await proxy.update(placed, toxic, body.get("toxicity", placed.toxicity))
        return _answer(_toxic(placed))

    async def remove_toxic(self, request: web.Request) -> web.Response:
        proxy, placed = self._placed(request)
        await proxy.remove(placed)
        return web.Response(status=204)

    async def _make(self, body: dict[str, Any]) -> Proxy:
        """A failed start leaves none behind."""
        proxy = Proxy(body["name"], body.get("listen", ""), body["upstream"], self._rng, strict=self._strict)
        if body.get("enabled", True):
            await proxy.start()
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
async def _middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What there is no path or method for is answered before all else, and has no id: as the real router does it."""
    unrouted = request.match_info.http_exception
    if isinstance(unrouted, web.HTTPMethodNotAllowed):
        return web.Response(status=405)
    if unrouted is not None:
        return _plain(404, "404 page not found")
    if request.headers.get("User-Agent", "").startswith("Mozilla/"):
        response: web.StreamResponse = _plain(403, "User agent not allowed")
    else:
        try:
            response = await handler(request)
        except (ApiError, BodyError, AddressError, ListenError) as failed:
            error = _api_error(failed)
            response = _plain(error.status, _compact(error.body()))
    response.headers[REQUEST_ID] = secrets.token_hex(10)
    return response


def _api_error(failed: Exception) -> ApiError:
    if isinstance(failed, ApiError):
        return failed
    if isinstance(failed, BodyError):
        return ApiError(400, f"bad request body: {failed}")
    return ApiError(500, str(failed))


def _plain(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n", headers=NO_SNIFF)


def _answer(value: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=_compact(value).encode(), headers={"Content-Type": JSON})


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


async def _body(request: web.Request) -> Any:
    return bodies.parse(await request.read())


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ApiError(400, f"seed must be a number, not {text!r}") from None


def _require(body: dict[str, Any], where: str = "") -> None:
    for key in ("name", "upstream"):
        if not body.get(key):
            raise ApiError(400, f"missing required field: {key}{where}")


def _entries(value: Any) -> list[dict[str, Any]]:
    """Of /populate; nothing is made if one of them is wrong. Raises BodyError, ApiError."""
    if value is not None and not isinstance(value, list):
        raise bodies.wrong_type(value, "[]toxiproxy.Proxy")
    entries = [bodies.read(entry, ENTRY) for entry in value or ()]
    for number, entry in enumerate(entries, 1):
        _require(entry, f" at proxy {number}")
    return entries


def _make_toxic(kind: type[Toxic], value: Any, given: dict[str, int]) -> Toxic:
    """`value` is what the body has for `attributes`: it goes over what is `given`. Raises BodyError."""
    names = {field.name: kind.go_type for field in fields(kind)}
    target = Struct(f"{kind.go_name}.attributes", f"toxics.{kind.go_name}", names)
    toxic = kind(**(given | bodies.read(value, target)))
    try:
        toxic.check()
    except ToxicError as bad:
        raise BodyError(str(bad)) from None
    return toxic


def _proxy(proxy: Proxy) -> dict[str, Any]:
    return {
        "name": proxy.name,
        "listen": proxy.listen,
        "upstream": proxy.upstream,
        "enabled": proxy.enabled,
        **({"Logger": {}} if proxy.strict else {}),
        "toxics": [_toxic(placed) for placed in proxy.ordered_toxics()],
    }


def _toxic(placed: Placed) -> dict[str, Any]:
    toxicity: float = int(placed.toxicity) if placed.toxicity == int(placed.toxicity) else placed.toxicity
    return {
        "attributes": placed.toxic.attributes(),
        "name": placed.name,
        "type": placed.toxic.kind,
        "stream": placed.stream,
        "toxicity": toxicity,
    }
