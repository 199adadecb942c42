"""Links: one proxy per (source, target, plane), all in one toxiproxy server outside this process.

Clients outside share one link to each node, whose source is `client`: a node tells them its address, never its own.

Proxies listen on `127.<plane>.<source>.<target>`, so that a list of connections shows which link each one is. Nodes are
given their proxies' addresses at their start and know no others: a fault on a link cannot be bypassed.

Where nodes are programs that are not ours, a relay stands between each node and the proxies of the links to it, which
answers what a node of ours would (system/peer_relay.py). Clients' links are without.

Where ZooKeeper is an ensemble, a node's link to it has a strand to each server, a proxy each: whatever is done to the link
is done to all of them, and `zookeeper-2` as target means that to one server.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pytest_kcontroller.cluster.contract import CLIENT, ZOOKEEPER
from pytest_kcontroller.cluster.process.on_proxies import OnProxies
from pytest_kcontroller.cluster.process.proxy_server import Serving, find_server
from pytest_kcontroller.cluster.process.shared_proxies import prefix
from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.seats import HeldPort
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import Direction, Toxic, cut_toxics, same
from pytest_kcontroller.runtime.nursery import undisturbed

PLANES = {"zk": 1, "control": 2, "client": 4}
OCTETS = {ZOOKEEPER: 250, CLIENT: 251, f"{ZOOKEEPER}-1": 252, f"{ZOOKEEPER}-2": 253, f"{ZOOKEEPER}-3": 254}
"""Of the ends that are no nodes."""

Link = tuple[str, str, str]
_shared = itertools.count()


class Links:
    """The proxies of one cluster; made by `start`, ended by `stop`."""

    def __init__(
        self,
        zookeeper: Mapping[int, Sequence[Address]],
        client: ToxiproxyClient,
        process: Serving | None,
        *,
        by_name: bool,
        relayed: bool,
    ) -> None:
        self._zookeeper, self._client, self._process = dict(zookeeper), client, process
        self._by_name, self._relayed = by_name, relayed
        self._addresses: dict[Link, Address] = {}
        self._asked: list[str] = []
        """The names of all proxies that may be there: one that was being made when its start was cancelled, too."""
        self._held: list[HeldPort] = []
        self._ports: dict[tuple[int, str], int] = {}
        """By node and plane; without a port for clients they share the nodes'."""
        # On a server that others use too, and after a run of ours that was killed, a bare name may be taken.
        self._prefix = "" if process is not None else prefix(next(_shared))
        self._on = OnProxies(client)

    @classmethod
    async def start(
        cls,
        zookeeper: Mapping[int, Sequence[Address]],
        *,
        log: Path,
        seed: int,
        by_name: bool = False,
        relayed: bool = False,
    ) -> Self:
        """On the server that proxy_server.py finds. `zookeeper`: each node, and where its link to it ends,
        for each server.

        A node's port is chosen here and kept free until the node asks for it with `listen`. `by_name`: nodes can be told
        where others are only by names that each resolves for itself, so all links between nodes that end at one node have
        the same port; and clients, who cannot resolve these names, have a port of their own at each node. `relayed`: links
        between nodes end at `relay`.

        Raises UsageError, StartError, MissingExtraError.
        """
        process, url = await find_server(log, seed)
        return await cls(zookeeper, ToxiproxyClient(url), process, by_name=by_name, relayed=relayed).made()

    async def made(self) -> Self:
        """With all proxies. Raises EnvironmentFailure; it is stopped then."""
        try:
            for node in self._zookeeper:
                self._reserve_all(node)
            for link in self._all():
                await self._create(link)
        except BaseException:
            await self.stop()
            raise
        return self

    def _all(self) -> list[Link]:
        links = [strand for node in self._zookeeper for strand in self._to_zookeeper(node)]
        links += [(str(a), str(b), "control") for a in self._zookeeper for b in self._zookeeper]
        return links + [(CLIENT, str(node), "client") for node in self._zookeeper]

    def _to_zookeeper(self, node: int) -> dict[Link, Address]:
        """Strand -> where it ends."""
        ends = self._zookeeper[node]
        names = [ZOOKEEPER] if len(ends) == 1 else [f"{ZOOKEEPER}-{server}" for server in range(1, len(ends) + 1)]
        return {(str(node), name, "zk"): end for name, end in zip(names, ends, strict=True)}

    def _reserve_all(self, node: int) -> None:
        others = ("client",) if self._by_name else ("relay",) if self._relayed else ()
        for plane in ("control", *others):
            self._reserve((node, plane))

    def _reserve(self, end: tuple[int, str]) -> None:
        held = HeldPort()
        self._held.append(held)
        self._ports[end] = held.number

    def _port(self, node: int, plane: str) -> int:
        return self._ports.get((node, plane)) or self._ports[node, "control"]

    async def add(self, node: int, zookeeper: Sequence[Address]) -> None:
        """The links of a node that joins, as in `start`."""
        await self.use({**self._zookeeper, node: zookeeper})

    async def use(self, zookeeper: Mapping[int, Sequence[Address]]) -> None:
        """The links of these nodes, as in `start`, and no others: what is there for others is kept until it is used."""
        self._zookeeper = dict(zookeeper)
        for node in self._zookeeper:
            if (node, "control") not in self._ports:
                self._reserve_all(node)
        for link in self._all():
            if link not in self._addresses:
                await self._create(link)

    @property
    def alive(self) -> bool:
        """Whether the server is one of our own, and runs."""
        return self._process is not None and self._process.returncode is None

    async def renew(self) -> None:
        """Every proxy is as it was made. Raises EnvironmentFailure: one is not, or is not ours."""
        await self._on.call("POST", "/reset")
        proxies = await self._on.call("GET", "/proxies")
        if proxies.keys() != {self._name(link) for link in self._addresses}:
            raise EnvironmentFailure("the proxies are others than were made", where=self._client.shown)
        for link, address in self._addresses.items():
            now = proxies[self._name(link)]
            if not now["enabled"] or now["toxics"] or Address.parse(now["listen"]) != address:
                raise EnvironmentFailure(f"the proxy {now['name']} is not as it was made", where=self._client.shown)

    async def draw_from(self, seed: int) -> None:
        """Anew, as a server that was started with it; the real one draws from none, and heals alone."""
        await self._on.call("POST", f"/reset?seed={seed}")

    async def _create(self, link: Link) -> None:
        source, target, plane = link
        end = self._to_zookeeper(int(source))[link] if plane == "zk" else self._end(int(target), plane)
        self._asked.append(self._name(link))
        made = await self._on.create(self._asked[-1], listen=self._listen_at(link, end), upstream=end)
        self._addresses[link] = self._reached_at(link, made)

    def _end(self, node: int, plane: str) -> Address:
        return Address.parse(self.relay(node) if self._relayed and plane == "control" else self.listen(node, plane))

    def _listen_at(self, link: Link, end: Address) -> str:
        """HOST:PORT for the link's proxy; 0: any."""
        return f"{_host(link)}:{end.port if self._by_name and link[2] == 'control' else 0}"

    def _reached_at(self, link: Link, listening: Address) -> Address:
        """Where the link is used whose proxy listens there."""
        return listening

    async def wait_ended(self) -> str:
        """How, once our server has; somebody else's is not watched."""
        if self._process is None:
            await asyncio.Event().wait()
        assert self._process is not None
        return f"their process ended with status {await self._process.wait()}"

    def listen(self, node: int, plane: str = "control") -> str:
        """HOST:PORT that the node is to listen on. The port stays bound here (not listening), so that it stays free for
        the node's next start too."""
        return f"127.0.0.1:{self._port(node, plane)}"

    def relay(self, node: int) -> str:
        """HOST:PORT where the relay that stands before the node is to listen, as `listen`."""
        return f"127.0.0.1:{self._port(node, 'relay')}"

    def relays(self, nodes: Sequence[int]) -> dict[str, str]:
        """`relay` -> `listen` of each of them, those that may join later too."""
        for node in nodes:
            if (node, "control") not in self._ports:
                self._reserve_all(node)
        return {self.relay(node): self.listen(node) for node in nodes}

    def map_for(self, node: int) -> dict[str, str]:
        """NodeSettings.links of a node: its own, and those of clients, which it tells them."""
        return {
            f"{target}/{plane}": str(address)
            for (source, target, plane), address in self._used()
            if source in (str(node), CLIENT)
        }

    def towards(self, source: int, target: int) -> dict[str, Address]:
        """Plane -> what node `source` is to know of node `target`: its own way there, and that of clients."""
        control = self.address(str(source), str(target), "control")
        return {"control": control, "client": self.address(CLIENT, str(target), "client")}

    def address(self, source: str, target: str, plane: str) -> Address:
        """Where the link's proxy listens; that of one strand, if it has several."""
        return self._addresses[self.strands(source, target, plane)[0]]

    def to_zookeeper(self, node: int) -> tuple[Address, ...]:
        """Where the proxies between a node and each of ZooKeeper's servers listen."""
        return tuple(self._addresses[strand] for strand in self.strands(str(node), ZOOKEEPER, "zk"))

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where the proxies listen, sorted: what a node's connections may end at."""
        return tuple(sorted(address for _, address in self._used()))

    def _used(self) -> list[tuple[Link, Address]]:
        return [(link, self._addresses[link]) for link in self._all() if link in self._addresses]

    async def impair(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        """See contract.Links."""
        for strand in self.strands(source, target, plane):
            await self._on.impair(self._name(strand), toxic)

    async def restore(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        """See contract.Links. Connections that a `timeout` was on are closed (toxiproxy's rule)."""
        for strand in self.strands(source, target, plane):
            await self._on.restore(self._name(strand), toxic)

    async def cut(self, source: str, target: str, plane: str, *, direction: Direction = "both") -> None:
        """Nothing passes, and connections stay open: how a network looks when packets vanish. Again is no error."""
        for toxic in cut_toxics(direction):
            await self.impair(source, target, plane, toxic)

    async def disable(self, source: str, target: str, plane: str) -> None:
        """Open connections are closed, new ones are refused, until `enable` or `heal`."""
        for strand in self.strands(source, target, plane):
            await self._on.enable(self._name(strand), False)

    async def enable(self, source: str, target: str, plane: str) -> None:
        """Takes `disable` back; toxics stay as they are."""
        for strand in self.strands(source, target, plane):
            await self._on.enable(self._name(strand), True)

    async def reset(self, source: str, target: str, plane: str) -> None:
        """Open connections are closed; new ones are accepted afterwards, also if this is cancelled."""
        await undisturbed(self._reset(source, target, plane))

    async def _reset(self, source: str, target: str, plane: str) -> None:
        try:
            await self.disable(source, target, plane)
        finally:
            await self.enable(source, target, plane)

    async def heal(self, source: str, target: str, plane: str) -> None:
        """Takes every toxic away and enables the proxy. Connections that were cut are closed (toxiproxy's rule)."""
        for strand in self.strands(source, target, plane):
            await self._on.heal(self._name(strand))

    async def toxics(self, source: str, target: str, plane: str) -> list[dict[str, Any]]:
        """What the proxy server itself says is in effect; of a strand."""
        (strand,) = self.strands(source, target, plane)
        return await self._on.toxics(self._name(strand))

    async def in_force(self, source: str, target: str, plane: str) -> tuple[Toxic, ...]:
        """Of `toxics` those that are on every connection, over all strands."""
        found = [await self._on_all_connections(strand) for strand in self.strands(source, target, plane)]
        return tuple(toxic for toxic in found[0] if all(same(others, toxic) for others in found))

    async def _on_all_connections(self, strand: Link) -> list[Toxic]:
        there = [toxic for toxic in await self.toxics(*strand) if toxic["toxicity"] == 1]
        return [Toxic(toxic["type"], toxic["stream"], toxic["attributes"]) for toxic in there]

    def _name(self, link: Link) -> str:
        return self._prefix + "-".join(link)

    def strands(self, source: str, target: str, plane: str) -> tuple[Link, ...]:
        """The link itself, if it has one; to an ensemble that to each server. Raises EnvironmentFailure: there is none."""
        link = (source, target, plane)
        to_ensemble = (
            tuple(self._to_zookeeper(int(source))) if link[1:] == (ZOOKEEPER, "zk") and source != CLIENT else ()
        )
        strands = (link,) if link in self._addresses else to_ensemble
        if not strands or strands[0] not in self._addresses:
            raise EnvironmentFailure(f"there is no link from {source} to {target} on the plane {plane}")
        return strands

    async def stop(self) -> None:
        """Ends the server that was started here, or deletes the proxies from one that was not. Idempotent."""
        try:
            if self._process is not None:
                await self._process.stop(scaled(2))
            else:
                await self._on.delete_all(self._asked)
        finally:  # while a proxy listens, its port is nobody else's
            for held in self._held:
                held.release()
            self._held.clear()
        self._addresses.clear()
        self._asked.clear()
        self._client.close()


def _host(link: Link) -> str:
    source, target, plane = link
    ends = [OCTETS[end] if end in OCTETS else int(end) + 1 for end in (source, target)]
    return f"127.{PLANES[plane]}.{ends[0]}.{ends[1]}"
