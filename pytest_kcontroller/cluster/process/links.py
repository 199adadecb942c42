"""Links: one proxy per (source, target, plane), all in one toxiproxy server outside this process.

Proxies listen on `127.<plane>.<source>.<target>`, so that a list of connections shows which link each one is. Nodes are
given their proxies' addresses at their start and know no others: a fault on a link cannot be bypassed.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import json
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.process.shared_proxies import prefix
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError, StartError
from pytest_kcontroller.model.cluster import Address

ZOOKEEPER = "zookeeper"
PLANES = {"zk": 1, "control": 2}
ZOOKEEPER_OCTET = 250
START_S = 15.0
HTTP_S = 10.0
"""A request to the proxy server; the real one answers when a toxic is in effect, and hangs when it cannot be."""
POLL_S = 0.02

STREAMS = ("upstream", "downstream")
Link = tuple[str, str, str]
Direction = Literal["both", "upstream", "downstream"]
"""`upstream`: what the source says to the target; `downstream`: what it hears from it (toxiproxy's words)."""
T = TypeVar("T")
_shared = itertools.count()


class ToxiproxyClient:
    """One toxiproxy server's HTTP API. toxiproxy-python keeps the server's address in its classes, so two servers in one
    process are impossible with it, and its calls have no time limit."""

    def __init__(self, url: str) -> None:
        """Raises MissingExtraError."""
        try:
            import requests
        except ImportError:
            raise MissingExtraError("the proxies between nodes", "toxiproxy") from None
        self.url, self._broken = url.rstrip("/"), requests.RequestException
        self._http = requests.Session()
        self._http.trust_env = False  # a proxy of the environment is not for the loopback

    def call(self, method: str, path: str, body: object | None = None) -> Any:
        """The decoded answer, None for an empty one. Raises EnvironmentFailure with the server's own words."""
        try:
            answer = self._http.request(method, self.url + path, json=body, timeout=scaled(HTTP_S))
        except self._broken as broken:
            raise EnvironmentFailure(
                f"no answer from toxiproxy: {broken}", where=f"{method} {self.url}{path}"
            ) from None
        if answer.status_code >= 400:
            raise EnvironmentFailure(f"toxiproxy: {answer.text.strip()}", where=f"{method} {self.url}{path}")
        return answer.json() if answer.content else None

    def close(self) -> None:
        self._http.close()


class Links:
    """The proxies of one cluster; made by `start`, ended by `stop`."""

    def __init__(self, nodes: tuple[int, ...], client: ToxiproxyClient, process: Supervised | None) -> None:
        self._nodes, self._client, self._process = nodes, client, process
        self._addresses: dict[Link, Address] = {}
        self._sockets: dict[int, socket.socket] = {}
        self._ports: dict[int, int] = {}
        # On a server that others use too, and after a run of ours that was killed, a bare name may be taken.
        self._prefix = "" if process is not None else prefix(next(_shared))
        self._changes = asyncio.Lock()  # requests.Session is for one thread at a time

    @classmethod
    async def start(cls, zookeeper: Mapping[int, Address], *, log: Path) -> Self:
        """KCONTROLLER_TOXIPROXY_URL, else what `start_server` starts. `zookeeper`: each node, and where its link to it ends.

        A node's port is chosen here and kept free until the node asks for it with `listen`.

        Raises StartError, MissingExtraError.
        """
        url = os.environ.get("KCONTROLLER_TOXIPROXY_URL")
        process = None
        if url is None:
            process, url = await start_server(log)
        links = cls(tuple(zookeeper), ToxiproxyClient(url), process)
        try:
            for node in links._nodes:
                links._reserve(node)
            for link in links._all():
                await links._create(link, zookeeper[int(link[0])])
        except BaseException:
            await links.stop()
            raise
        return links

    def _all(self) -> list[Link]:
        links: list[Link] = [(str(node), ZOOKEEPER, "zk") for node in self._nodes]
        return links + [(str(a), str(b), "control") for a in self._nodes for b in self._nodes]

    def _reserve(self, node: int) -> None:
        """Holds a port that nobody else can be given by the system; a node with SO_REUSEADDR may still listen on it."""
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        self._sockets[node], self._ports[node] = held, held.getsockname()[1]

    async def _create(self, link: Link, zookeeper: Address) -> None:
        target = link[1]
        upstream = zookeeper if target == ZOOKEEPER else Address("127.0.0.1", self._ports[int(target)])
        body = {"name": self._name(link), "listen": f"{_host(link)}:0", "upstream": str(upstream), "enabled": True}
        made = await self._call("POST", "/proxies", body)
        self._addresses[link] = Address.parse(made["listen"])

    async def wait_ended(self) -> str:
        """How, once our server has; somebody else's is not watched."""
        if self._process is None:
            await asyncio.Event().wait()
        assert self._process is not None
        return f"their process ended with status {await self._process.wait()}"

    def listen(self, node: int) -> str:
        """HOST:PORT that the node is to listen on. The port stays bound here (not listening), so that it stays free for
        the node's next start too."""
        return f"127.0.0.1:{self._ports[node]}"

    def map_for(self, node: int) -> dict[str, str]:
        """NodeSettings.links of a node."""
        return {
            f"{target}/{plane}": str(address)
            for (source, target, plane), address in self._addresses.items()
            if source == str(node)
        }

    def address(self, source: str, target: str, plane: str) -> Address:
        """Where the link's proxy listens."""
        return self._addresses[self._known(source, target, plane)]

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where the proxies listen, sorted: what a node's connections may end at."""
        return tuple(sorted(self._addresses.values()))

    async def cut(self, source: str, target: str, plane: str, *, direction: Direction = "both") -> None:
        """Nothing passes, and connections stay open: how a network looks when packets vanish. Again is no error."""
        await self._add(self._known(source, target, plane), "cut", direction, "timeout", timeout=0)

    async def slow(
        self,
        source: str,
        target: str,
        plane: str,
        *,
        latency_ms: int,
        direction: Direction = "both",
    ) -> None:
        """Each chunk is late by `latency_ms`, in each direction named. Again: the new values count."""
        link = self._known(source, target, plane)
        await self._add(link, "slow", direction, "latency", latency=latency_ms)

    async def reset(self, source: str, target: str, plane: str, *, direction: Direction = "both") -> None:
        """A connection ends as soon as something is said in a direction named, until `heal`: with RST if it was made
        after this call, with FIN if before (toxiproxy's rule)."""
        await self._add(self._known(source, target, plane), "reset", direction, "reset_peer", timeout=0)

    async def disable(self, source: str, target: str, plane: str) -> None:
        """Open connections are closed, new ones are refused, until `enable` or `heal`."""
        await self._call("POST", self._path(self._known(source, target, plane)), {"enabled": False})

    async def enable(self, source: str, target: str, plane: str) -> None:
        """Takes `disable` back; toxics stay as they are."""
        await self._call("POST", self._path(self._known(source, target, plane)), {"enabled": True})

    async def heal(self, source: str, target: str, plane: str) -> None:
        """Takes every toxic away and enables the proxy. Connections that were cut are closed (toxiproxy's rule)."""
        link = self._known(source, target, plane)
        for toxic in await self._call("GET", f"{self._path(link)}/toxics"):
            await self._call("DELETE", f"{self._path(link)}/toxics/{toxic['name']}")
        await self._call("POST", self._path(link), {"enabled": True})

    async def toxics(self, source: str, target: str, plane: str) -> list[dict[str, Any]]:
        """What the proxy server itself says is in effect."""
        found: list[dict[str, Any]] = await self._call(
            "GET", f"{self._path(self._known(source, target, plane))}/toxics"
        )
        return found

    async def _add(self, link: Link, what: str, direction: Direction, kind: str, **attributes: int) -> None:
        there = {toxic["name"] for toxic in await self._call("GET", f"{self._path(link)}/toxics")}
        for stream in STREAMS if direction == "both" else (direction,):
            name = f"{what}-{stream}"
            if name in there:
                await self._call("POST", f"{self._path(link)}/toxics/{name}", {"attributes": attributes})
            else:
                body = {"name": name, "type": kind, "stream": stream, "attributes": attributes}
                await self._call("POST", f"{self._path(link)}/toxics", body)

    def _name(self, link: Link) -> str:
        return self._prefix + "-".join(link)

    def _path(self, link: Link) -> str:
        return f"/proxies/{self._name(link)}"

    def _known(self, source: str, target: str, plane: str) -> Link:
        link = (source, target, plane)
        if link not in self._addresses:
            raise EnvironmentFailure(f"there is no link from {source} to {target} on the plane {plane}")
        return link

    async def _call(self, method: str, path: str, body: object | None = None) -> Any:
        async with self._changes:
            return await _in_thread(lambda: self._client.call(method, path, body))

    async def stop(self) -> None:
        """Ends the server that was started here, or deletes the proxies from one that was not. Idempotent."""
        for held in self._sockets.values():
            held.close()
        self._sockets.clear()
        if self._process is not None:
            await self._process.stop(scaled(2))
        else:
            with contextlib.suppress(EnvironmentFailure):  # the server is gone, and its proxies with it
                for link in list(self._addresses):
                    await self._call("DELETE", self._path(link))
        self._addresses.clear()
        self._client.close()


def is_cut(toxics: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a link with these toxics passes nothing, in either direction, and goes on to do so."""
    return set(STREAMS) <= {toxic["stream"] for toxic in toxics if _is(toxic, "timeout", timeout=0)}


def delay_ms(toxics: Sequence[Mapping[str, Any]]) -> float:
    """How late everything is on a link with these toxics, in each direction."""
    late = {
        stream: sum(
            toxic["attributes"]["latency"] for toxic in toxics if toxic["stream"] == stream and _is(toxic, "latency")
        )
        for stream in STREAMS
    }
    return float(min(late.values()))


def _is(toxic: Mapping[str, Any], kind: str, **attributes: int) -> bool:
    """For every connection."""
    return bool(toxic["type"] == kind and toxic["toxicity"] == 1 and attributes.items() <= toxic["attributes"].items())


async def start_server(log: Path) -> tuple[Supervised, str]:
    """A toxiproxy server of our own and its URL: `toxiproxy-server` from the path, else the embedded one.

    Raises StartError, and MissingExtraError if the embedded one cannot run here.
    """
    if (binary := shutil.which("toxiproxy-server")) is not None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [binary, "-host", "127.0.0.1", "-port", str(port)]
    else:
        if importlib.util.find_spec("aiohttp") is None:
            raise MissingExtraError("the embedded toxiproxy", "toxiproxy")
        port = 0
        command = [sys.executable, "-m", "pytest_kcontroller.cluster.toxiproxy", "--port", "0"]
    process = await Supervised.start("toxiproxy", command, log=log)
    patience, by_hand = Patience(scaled(START_S), process.pid), shlex.join(command)
    while patience.left_s:
        if process.returncode is not None:
            phase = f"it ended with status {process.returncode}"
            raise StartError("toxiproxy", phase=phase, seconds=patience.seconds, log=log, command=by_hand)
        if (url := await _ready(log, port)) is not None:
            return process, url
        await asyncio.sleep(POLL_S)
    await process.kill()
    raise StartError("toxiproxy", phase="no answer", seconds=patience.seconds, log=log, command=by_hand)


async def _ready(log: Path, port: int) -> str | None:
    """The URL once it answers: the embedded server prints its address, the real one is asked at its port."""
    if port == 0:
        for line in log.read_text(errors="replace").splitlines():
            if line.startswith('{"ready"'):
                return f"http://{json.loads(line)['address']}"
        return None
    url = f"http://127.0.0.1:{port}"
    try:
        await _in_thread(lambda: ToxiproxyClient(url).call("GET", "/version"))
    except EnvironmentFailure:
        return None
    return url


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, work)


def _host(link: Link) -> str:
    source, target, plane = link
    last = ZOOKEEPER_OCTET if target == ZOOKEEPER else int(target) + 1
    return f"127.{PLANES[plane]}.{int(source) + 1}.{last}"
