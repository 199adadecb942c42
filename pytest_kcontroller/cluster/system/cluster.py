"""A cluster whose nodes are a program of the user's; ZooKeeper, proxies and relays are those of the backend `process`.

Nothing is known of a node but what is seen from outside: its process, its sessions on their way to ZooKeeper, what ZooKeeper
holds, and what it prints. There is no controller that could say that all is well: each node is as ready as when it started.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_kcontroller.cluster.capabilities import PEERS, Capability
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.process.connections import established
from pytest_kcontroller.cluster.process.node import SupervisedNode
from pytest_kcontroller.cluster.process.session_relays import Child
from pytest_kcontroller.cluster.program import Program, peer
from pytest_kcontroller.cluster.system.node import ProgramNode
from pytest_kcontroller.cluster.system.output import Output
from pytest_kcontroller.cluster.system.peers import WHAT, LookTransport, run_here, start_relays
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, StartError, UsageError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import Toxic
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.session import GetData, NoNodeError, ZkSession

CONNECT_S = 1.0
RESPAWN_S = 0.5
HEAR_S = 30.0
"""What programs have printed is read within this time, unscaled, or it is too much."""


class SystemCluster(ProcessCluster):
    """See ProcessCluster; `settings.program` are its nodes."""

    python = sys.executable
    """Its {python}."""
    on_respawn: Callable[[int], None] | None = None
    """Called when a node is started again because it has ended by itself."""
    _output: Output | None = None
    _peer_relays: Child | None = None

    def __init__(self, *more: Any) -> None:
        super().__init__(*more)
        self.relays_peers = self.has(PEERS)
        self._wanted_down: set[int] = set()
        """Nodes that somebody has ended, and is to start again."""
        self._respawning: dict[int, asyncio.Task[None]] = {}
        self._launching: dict[int, asyncio.Lock] = {}
        self._ended: list[int] = []
        """Nodes whose process has ended, in that order."""
        self._begun = False
        """All nodes have been ready: what ends before cannot be started here."""

    @property
    def program(self) -> Program:
        assert self.settings.program is not None
        return self.settings.program

    def has(self, wanted: Capability[object]) -> bool:
        return wanted in self.program.offers

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        (self.directory / "history").mkdir(parents=True, exist_ok=True)
        self._output = Output(
            self.directory / "history", self.run_start, lambda why: _soon(loop, lambda: self._flooded(why))
        )
        await super()._start()
        self._begun = True

    async def _start_nodes(self) -> None:
        """One that was ready, and has ended, is why another is not perhaps, which says less."""
        try:
            await super()._start_nodes()
        except StartError as failed:
            if (ended := self._ended[:1]) and f"node {ended[0]}" != failed.name:
                phase = f"it ended by itself, and {failed.name} is not ready: {failed.phase}"
                raise self.process(ended[0]).start_error(phase, failed.seconds) from None
            raise

    def _flooded(self, why: str) -> None:
        self._fail(why, self.directory / "logs")

    async def _start_ground(self) -> None:
        await super()._start_ground()
        if self.relays_peers:
            log = self.directory / "logs" / "peer-relay.log"
            self._peer_relays = await start_relays(self.links.relays(self.relayed), log=log, run=self._run_peer_relays)
            self._watch(f"{WHAT} have ended", log.name, self._peer_relays_ended(self._peer_relays))

    async def _run_peer_relays(self, arguments: Sequence[str], log: Path) -> Child:
        """See peers.start_relays."""
        return await run_here(arguments, log)

    async def _peer_relays_ended(self, process: Child) -> str:
        return f"their process ended with status {await process.wait()}"

    async def _end_ground(self, keep_log_in: Path | None) -> None:
        try:
            await super()._end_ground(keep_log_in)
        finally:
            if self._peer_relays is not None:
                await self._peer_relays.stop(scaled(2))

    def _values_of(self, node: int, nodes: Iterable[int]) -> Mapping[str, object]:
        """What is filled in for PLACES, where there are these nodes."""
        peers = {each: self._reached_by(node, each) for each in nodes}
        return {
            "zk": ",".join(map(str, self.links.to_zookeeper(node))),
            "id": node,
            "port": self.listens(node).port,
            "peers": ",".join(f"{each}={address}" for each, address in peers.items()),
            **{peer(each): address for each, address in peers.items()},
            "dir": self._work / f"node-{node}",
            "python": self.python,
            "session_timeout_ms": self.settings.session_timeout_ms,
        }

    def _reached_by(self, node: int, other: int) -> Address:
        return self.listens(node) if other == node else self.links.address(str(node), str(other), "control")

    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        """To the relay before the target."""
        return LookTransport(), super().route(source, target)[1]

    async def impair(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        """Raises EnvironmentFailure for two nodes of which one is connected with the other itself: that would go on."""
        if plane == "control":
            self._check_passed(int(source), int(target))
        await super().impair(source, target, plane, toxic)

    def _check_passed(self, source: int, target: int) -> None:
        straight = self.listens(target)
        ends: list[tuple[Address, Address]] = []
        for process in self.process(source).processes():
            with contextlib.suppress(EnvironmentFailure):  # it has ended this moment, or may not be looked at
                ends += established(process.pid)
        if any(remote == straight for _, remote in ends):
            raise EnvironmentFailure(
                f"node {source} is connected with node {target} itself, at {straight}, and not over the link between them",
                hint="it must connect with the address that {peers} has",
            )

    def _new_process(self, node: int) -> ProgramNode:
        assert self._output is not None
        work = self._work / f"node-{node}"
        values = self._values_of(node, sorted({*self.nodes_to_start, *self.nodes, node}))
        return self._new_program(node, self.program, values, self.directory, work, self._exited, self._output)

    def _new_program(self, node: int, *more: Any, **named: Any) -> ProgramNode:
        """What ProgramNode takes."""
        return ProgramNode(node, *more, **named)

    def process(self, node: int) -> ProgramNode:
        found: SupervisedNode = super().process(node)
        assert isinstance(found, ProgramNode)
        return found

    def listens(self, node: int) -> Address:
        """Where the program may listen: its {port}."""
        return Address.parse(self.links.listen(node))

    async def _introduce(self, node: int) -> None:
        """At their next start: a program that runs can only learn of another one from ZooKeeper."""
        for other in self.nodes:
            self.process(other).values = self._values_of(other, (*self.nodes, node))

    @property
    def fallen(self) -> tuple[int, ...]:
        return tuple(node for node in self.nodes if node not in self.running and node not in self._wanted_down)

    @property
    def ready_s(self) -> float:
        return self.program.ready_s

    @property
    def stop_s(self) -> float:
        return self.program.stop_s

    @property
    def stop_statuses(self) -> tuple[int, ...]:
        """By the signal perhaps: a program may not have a word for it."""
        return ()

    @property
    def session_timeout_ms(self) -> int:
        """The longest that one of the nodes has negotiated: a program asks for what it likes."""
        found = [session.timeout_ms for node in self.nodes for session in self.sessions(node)[-1:]]
        return max(found, default=self.settings.session_timeout_ms)

    def said_otherwise(self, node: int) -> str:
        return "" if self._output is None else self._output.others(node)

    async def hear_out(self) -> None:
        assert self._output is not None
        await self._output.catch_up(scaled(HEAR_S))
        if self._output.failure:  # the thread that found it has told the loop, which may have had no turn since
            self._flooded(self._output.failure)
        self._check()

    async def unready(self, node: int) -> str | None:
        session = self.session(node)
        if session is None:
            return "it has no ZooKeeper session yet"
        if not session.connected:
            return "it is not connected to ZooKeeper"
        process, ready = self.process(node), self.program.ready
        if ready.kind == "znode":
            return await self._no_znode(node, process.filled(ready.about), own="{id}" in ready.about)
        if ready.kind == "port":
            return await _no_port(self.listens(node))
        if ready.kind == "log":
            text = process.filled(ready.about)
            return None if process.has_printed(text) else f"it has printed no line with {text!r}"
        return None

    async def _no_znode(self, node: int, path: str, *, own: bool) -> str | None:
        async def owner(session: ZkSession) -> int | None:
            try:
                found = await session.submit(GetData(path))
            except NoNodeError:
                return None
            return int(getattr(getattr(found, "stat", None), "ephemeral_owner", 0))

        found = await self._with_admin(owner)
        if found is None:
            return f"there is no znode {path}; {await self.around(path)}"
        mine = found in [each.session_id for each in self.relays.open_sessions(node)]
        return f"{path} belongs to another session ({found:#x})" if own and found and not mine else None

    # --- a process that ends by itself

    async def kill(self, node: int) -> int:
        with self._taking_down(node):
            return await super().kill(node)

    async def terminate(self, node: int) -> None:
        with self._taking_down(node):
            await super().terminate(node)

    async def stop_node(self, node: int) -> int:
        with self._taking_down(node):
            return await super().stop_node(node)

    @contextlib.contextmanager
    def _taking_down(self, node: int) -> Iterator[None]:
        """Known before it ends, which may be at once. If it is refused, since it has just ended by itself, nothing was done:
        it is started again as ever."""
        before = node in self._wanted_down
        self._wanted_down.add(node)
        try:
            yield
        except UsageError:
            if not before:
                self._wanted_down.discard(node)
            raise

    async def launch(self, node: int) -> None:
        """Once, if two want it: what respawns it, and a fault that is healed."""
        self._wanted_down.discard(node)
        lock = self._launching.setdefault(node, asyncio.Lock())
        another = lock.locked()
        async with lock:
            if not (another and self.process(node).alive):
                await super().launch(node)

    async def wait_ready(self, node: int) -> None:
        if not (self.program.respawn and self._begun):
            await super().wait_ready(node)
            return

        async def check() -> str | None:
            return await self.unready(node) if self.process(node).alive else "it has ended, and is to be started again"

        await self.wait_until(f"node {node} is ready", check, timeout_s=scaled(self.program.ready_s))

    def _exited(self, node: int, status: int) -> None:
        super()._exited(node, status)
        self._ended.append(node)
        if self.program.respawn and node not in self._wanted_down and self._begun and not self._stopped:
            self._respawning[node] = asyncio.create_task(self._respawn(node), name=f"respawn node {node}")

    async def _respawn(self, node: int) -> None:
        """After a moment: one that ends at once would be all that is done."""
        await asyncio.sleep(RESPAWN_S)
        if node in self._wanted_down or self._stopped or self.process(node).alive:
            return
        if self.on_respawn is not None:
            self.on_respawn(node)
        with contextlib.suppress(EnvironmentFailure):  # in the end it is not ready, and that is told
            await self.launch(node)

    async def wait_until_converged(self, *, timeout_s: float) -> None:
        await self.wait_until("every running node is ready", self._unconverged, timeout_s=timeout_s)

    async def _unconverged(self) -> str | None:
        if self.program.respawn and self.fallen:
            return f"node {self.fallen[0]} has ended, and is to be started again"
        for node in self.running:
            if self.process_state(node) == "T":
                return f"node {node} is paused"
            if (why := await self.unready(node)) is not None:
                return f"node {node}: {why}"
        return None

    async def _stop(self, keep_log_in: Path | None) -> None:
        for task in self._respawning.values():
            task.cancel()
        try:
            await super()._stop(keep_log_in)
        finally:
            if self._output is not None:
                self._output.stop()
                if self._output.failure and self._failure is None:  # `_fail` is deaf by now
                    self._failure = EnvironmentFailure(self._output.failure, where=str(self.directory / "logs"))


async def _no_port(address: Address) -> str | None:
    try:
        async with within(scaled(CONNECT_S)):
            _, writer = await asyncio.open_connection(address.host, address.port)
    except (OSError, TimeoutError):
        return f"nothing listens on {address}"
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None


def _soon(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    """In the loop, which may be gone by now."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(work)
