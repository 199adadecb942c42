"""The network of one cluster, and what stands in it besides nodes and ZooKeeper: the relays and the proxies.

Every address is fixed before anything starts, so all of it can start at once. Links end at the proxies' own address, a port
for each. What the harness and clients use is published on this machine's loopback; the nodes' own links are reached at
their address, which a machine has a route to whose engine it is.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_kcontroller.cluster.children.processes import session_id
from pytest_kcontroller.cluster.docker.contained_process import ContainedProcess
from pytest_kcontroller.cluster.docker.containers import ContainerSpec
from pytest_kcontroller.cluster.docker.network import Network
from pytest_kcontroller.cluster.process.links import Link, Links
from pytest_kcontroller.cluster.process.proxy_choice import CHOICE, OPTION, URL, Choice, chosen
from pytest_kcontroller.cluster.process.proxy_server import answering
from pytest_kcontroller.cluster.process.session_relays import MODULE
from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.cluster.system.peers import MODULE as PEER_MODULE
from pytest_kcontroller.cluster.system.peers import WHAT
from pytest_kcontroller.cluster.zookeeper.container import Place
from pytest_kcontroller.errors import NotOnThisBackend
from pytest_kcontroller.model.cluster import Address

PROXIES, RELAYS, PEER_RELAYS, ZOOKEEPERS, NODES = 2, 3, 4, 10, 20
"""Numbers of addresses in the network; of several, that of the first."""
API_PORT, NODE_PORT, CLIENT_PORTS, RELAY_PORTS = 8474, 9092, 9100, 9100
"""`CLIENT_PORTS`: of the clients' link to node 0, `RELAY_PORTS`: of the relay before it; the others follow."""
EVERYWHERE = "0.0.0.0"
"""In its own network."""
OWN_PYTHON = ("python3", "-m")
TOXIPROXY = "pytest_kcontroller.cluster.toxiproxy"


def disk(node: int) -> Path:
    """Where it is, in every container that has it."""
    return Path("/disks") / str(node)


def chosen_here() -> Choice:
    """Which toxiproxy server proxies are on: what happens to be on this machine's path does not count. Raises UsageError;
    NotOnThisBackend, if it is to be one that cannot be in the containers' network."""
    choice, said = chosen(), next((name for name in (CHOICE, URL) if os.environ.get(name)), None)
    if said is not None and choice.kind in ("url", "path"):
        other = "a server of others" if choice.kind == "url" else "a program of this machine"
        raise NotOnThisBackend(
            f"the proxies of nodes in containers are in the containers' network, and not on {other}",
            where=f"${said}",
            hint=f"leave it out, or set ${CHOICE} to container or embedded (--kc-toxiproxy)",
        )
    return Choice("embedded") if choice.kind == "path" else choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """`image` is the nodes'; of so many nodes clients' link is `published`; `disks`: the nodes whose disk has a size of its
    own; `work` is removed if we die."""

    network: Network
    image: str
    published: int
    disks: Sequence[int]
    work: Path
    logs: Path

    def spec(self, what: str, address: int, **more: object) -> ContainerSpec:
        """Of a container in the network, that is whoever we are."""
        values: dict[str, object] = {
            "name": f"kcontroller-{what}-{session_id()}-{secrets.token_hex(4)}",
            "image": self.image,
            "network": self.network.name,
            "ip": self.network.address(address),
            "user": f"{os.getuid()}:{os.getgid()}",
            "cleanup": (str(self.work),),
        }
        return ContainerSpec(**{**values, **more})  # type: ignore[arg-type]

    def places(self, count: int) -> Sequence[Place]:
        """Of ZooKeeper's servers."""
        return [Place(self.network.name, self.network.address(ZOOKEEPERS + number)) for number in range(count)]

    def disk_volumes(self, nodes: Sequence[int]) -> Mapping[str, str]:
        """See ContainerSpec.disks."""
        return {f"{self.network.name}-disk-{node}": str(disk(node)) for node in nodes}

    async def relays(self, arguments: Sequence[str], log: Path) -> ContainedProcess:
        """See session_relays.Run; the work directory has the file. They begin before every node and end after all, so they
        have the nodes' disks too: else a disk would be empty when its node is started again."""
        command = (*OWN_PYTHON, MODULE, *arguments, self.network.address(RELAYS))
        disks = self.disk_volumes(self.disks)
        spec = self.spec("relays", RELAYS, command=command, volumes={str(self.work): str(self.work)}, disks=disks)
        return await ContainedProcess.start("the relays to ZooKeeper", spec, log=log)

    async def peer_relays(self, arguments: Sequence[str], log: Path) -> ContainedProcess:
        """See peers.start_relays."""
        spec = self.spec("peer-relays", PEER_RELAYS, command=(*OWN_PYTHON, PEER_MODULE, *arguments))
        return await ContainedProcess.start(WHAT, spec, log=log)

    async def proxies(self, seed: int) -> tuple[ContainedProcess, str]:
        """And the URL of their API. Raises StartError."""
        choice, log = chosen_here(), self.logs / "toxiproxy.log"
        server: dict[str, object] = {
            "command": (*OWN_PYTHON, TOXIPROXY, "--host", EVERYWHERE, "--port", str(API_PORT), "--seed", str(seed)),
        }
        if choice.kind == "container":
            server = {
                "image": choice.what,
                "named_by": OPTION,
                "command": ("-host", EVERYWHERE, "-port", str(API_PORT)),
            }
        spec = self.spec(
            "proxies",
            PROXIES,
            port=API_PORT,
            more_ports=tuple(CLIENT_PORTS + node for node in range(self.published)),
            **server,
        )
        process = await ContainedProcess.start("the proxies", spec, log=log)
        return process, await answering(process, process.pid, process.contained.address, log, spec.by_hand)


class RoomLinks(Links):
    """See Links: the proxies are in a container, and nodes have addresses of their own."""

    def __init__(
        self,
        zookeeper: Mapping[int, Sequence[Address]],
        room: Room,
        process: ContainedProcess,
        url: str,
        *,
        relayed: bool,
    ) -> None:
        super().__init__(zookeeper, ToxiproxyClient(url), process, by_name=False, relayed=relayed)
        self._room, self._published = room, process.contained.published

    def _reserve_all(self, node: int) -> None:
        """Nobody else is at its address."""

    def listen(self, node: int, plane: str = "control") -> str:
        return f"{self._room.network.address(NODES + node)}:{NODE_PORT}"

    def relay(self, node: int) -> str:
        return f"{self._room.network.address(PEER_RELAYS)}:{RELAY_PORTS + node}"

    def _listen_at(self, link: Link, end: Address) -> str:
        _, target, plane = link
        port = CLIENT_PORTS + int(target) if plane == "client" else 0
        return f"{self._room.network.address(PROXIES)}:{port}"

    def _reached_at(self, link: Link, listening: Address) -> Address:
        """Clients are outside: theirs are published, but for nodes that join later."""
        port = self._published.get(listening.port) if link[2] == "client" else None
        return listening if port is None else Address("127.0.0.1", port)
