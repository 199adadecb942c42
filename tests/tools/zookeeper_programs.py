"""Random programs of two ZooKeeper sessions, drawn from a seed, and their transcripts: alike on every server that is right.

A transcript has, per client, every reply, watch event and state in the order in which it came, then the tree at the end
and the transaction log.
Left out or renamed is what no two servers have in common: times, session ids (named by client and number), and zxids
(relative to the one that made the program's root). What one closeSession deletes comes in any order: a hash's on the real
server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimLoop
from pytest_kcontroller.sim.zookeeper.server import SimZooKeeper
from pytest_kcontroller.sim.zookeeper.session import SimConnector
from pytest_kcontroller.zookeeper.session import (
    Check,
    Children,
    Create,
    Created,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Listener,
    Multi,
    MultiRead,
    Node,
    ReadOp,
    Request,
    SessionEvent,
    SessionState,
    SetData,
    Stat,
    UnexpectedZkError,
    WatchEvent,
    WriteOp,
    ZkError,
    ZkSession,
)
from pytest_kcontroller.zookeeper.txn import Txn

OPERATIONS = 200
CLIENTS = ("A", "B")
TIMEOUT_MS = 30_000
SILENT_TIMEOUT_MS = 2_500
"""Whoever is not silent keeps a session of that, on a machine that is busy too."""
ALL = 1_000_000
POLL_S = 0.02


# --- programs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """Sent at once; the next step begins when all are answered."""

    client: str
    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Close:
    """The client closes its session and opens a new one."""

    client: str


@dataclass(frozen=True, slots=True)
class Expire:
    """A second client closes the session; when this one has seen it, it opens a new one."""

    client: str


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing passes between the client and the server until the server has given the session up by itself."""

    client: str


@dataclass(frozen=True, slots=True)
class Lose:
    """The connection breaks before this request reaches the server, or before its answer reaches the client."""

    client: str
    request: Request
    done: bool


Step = Batch | Close | Expire | Silence | Lose


def program(seed: int) -> list[Step]:
    """Two sessions, 200 operations, pipelined in batches; sessions are closed, also by a second client."""
    return _Drawing(seed).steps()


def silent_program(seed: int) -> list[Step]:
    """A few of those steps, and sessions that expire naturally. For short time-outs: each waits for one."""
    steps = [step for step in program(seed) if isinstance(step, Batch)]
    return [*steps[:12], Silence("A"), *steps[12:20], Silence("B"), *steps[20:24]]


def lossy_program(seed: int) -> list[Step]:
    """Those steps, and lost connections: before the effect of a request, and after it."""
    return _Drawing(seed).losses()


class _Drawing:
    def __init__(self, seed: int) -> None:
        self._draw = NamedRng(seed).stream("program")

    def steps(self) -> list[Step]:
        draw, left = self._draw, OPERATIONS
        steps: list[Step] = [Batch("A", tuple(Create(path) for path in ("/a", "/b", "/a/x", "/a/y")))]
        while left > 0:
            client = draw.choice(CLIENTS)
            dice = draw.random()
            if dice < 0.02:
                steps.append(Close(client))
            elif dice < 0.05:
                steps.append(Expire(client))
            else:
                requests = tuple(self._request() for _ in range(min(left, draw.choice((1, 2, 4, 8)))))
                steps.append(Batch(client, requests))
                left -= len(requests)
        return steps

    def losses(self) -> list[Step]:
        steps: list[Step] = []
        for step in self.steps()[:30]:
            steps.append(step)
            if self._chance(0.2):
                draws = (self._request, self._create, lambda: SetData("/a", self._data()))
                steps.append(Lose(step.client, self._draw.choice(draws)(), done=self._chance(0.5)))
        return steps

    def _request(self) -> Request:
        kind = self._draw.choices(range(8), (22, 14, 12, 12, 12, 10, 13, 5))[0]
        if kind == 0:
            return self._create()
        if kind == 1:
            return SetData(self._path(), self._data(), self._version())
        if kind == 2:
            return self._delete()
        if kind == 3:
            return Exists(self._path(), watch=self._chance(0.7))
        if kind == 4:
            return GetData(self._path(), watch=self._chance(0.7))
        if kind == 5:
            return GetChildren(self._path(), watch=self._chance(0.8))
        if kind == 6:
            return Multi(tuple(self._part() for _ in range(self._draw.randint(1, 4))))
        return MultiRead(tuple(self._read() for _ in range(self._draw.randint(1, 4))))

    def _path(self) -> str:
        """Few, so that requests meet each other; at most three deep."""
        if self._chance(0.3):
            return self._draw.choice(("/", "/a", "/b", "/a/x", "/a/y"))
        first = self._draw.choice(("/a", "/a", "/b", "/c", "/"))
        if first == "/" or self._chance(0.35):
            return first
        second = self._draw.choice(("x", "x", "y", "s-0000000002", "s-0000000003"))
        if self._chance(0.7):
            return f"{first}/{second}"
        return f"{first}/{second}/{self._draw.choice(('q', 'r'))}"

    def _data(self) -> bytes:
        return bytes(self._draw.randrange(97, 123) for _ in range(self._draw.randint(0, 3)))

    def _version(self) -> int:
        return self._draw.choice((-1, -1, -1, 0, 0, 1))

    def _chance(self, probability: float) -> bool:
        return self._draw.random() < probability

    def _create(self) -> Create:
        ephemeral = self._chance(0.3)
        if self._chance(0.25):
            parent = self._draw.choice(("/a", "/a", "/b", "/c", "/a/x"))
            return Create(f"{parent}/s-", self._data(), ephemeral=ephemeral, sequence=True)
        path = self._path()
        if path.count("/") == 1 and self._chance(0.8):
            ephemeral = False  # else there is too often no place for children
        return Create(path, self._data(), ephemeral=ephemeral)

    def _delete(self) -> Delete:
        path = self._path()
        return Delete("/c" if path == "/" else path, self._version())  # without its root a program would end

    def _part(self) -> WriteOp:
        """More often than not one that succeeds: a multi does so only if all of them do."""
        if self._chance(0.5):
            return SetData(self._draw.choice(("/", "/a", "/a/x")), self._data())
        kind = self._draw.choices(range(4), (4, 4, 2, 2))[0]
        if kind == 0:
            return self._create()
        if kind == 1:
            return SetData(self._path(), self._data(), self._draw.choice((-1, -1, -1, 0, 1)))
        return self._delete() if kind == 2 else Check(self._path(), self._version())

    def _read(self) -> ReadOp:
        return GetData(self._path()) if self._chance(0.6) else GetChildren(self._path())


# --- transcripts ------------------------------------------------------------------------------------------------------


class Server(Protocol):
    """Opens sessions in the program's root, which is made already, and ends them from outside."""

    async def open(self, client: str, listener: Listener) -> ZkSession: ...

    async def expire(self, client: str, session: ZkSession) -> None: ...

    async def silence(self, client: str) -> None: ...

    async def heal(self, client: str) -> None: ...

    def lose(self, client: str, request: Request, done: bool) -> None:
        """The next request of that client, which is this one, loses its connection."""
        ...

    def txns(self) -> Sequence[Txn]:
        """The transaction log."""
        ...


class _Client:
    """One client, its sessions one after the other, and the lines of its transcript."""

    def __init__(self, server: Server, name: str, owners: dict[int, str]) -> None:
        self._server, self.name, self._owners = server, name, owners
        self.lines: list[str] = []
        self.base = 0
        """The zxid that made the program's root."""
        self._opened = 0
        self._ended, self._back = asyncio.Event(), asyncio.Event()

    async def open(self) -> None:
        self._opened += 1
        self._ended.clear()
        self._session = await self._server.open(self.name, self._hear)
        self._owners[self._session.session_id] = f"{self.name}{self._opened}"
        self.lines.append(f"session {self._opened}, {self._session.timeout_ms} ms")

    async def begin(self) -> None:
        await self.open()
        stat = await self._session.submit(Exists("/"))
        assert isinstance(stat, Stat)
        self.base = stat.czxid

    def _hear(self, event: SessionEvent) -> None:
        if isinstance(event, WatchEvent):
            self.lines.append(f"watch {event.kind} {event.path}")
            return
        self.lines.append(f"state {event.state}")
        if event.state == SessionState.CONNECTED:
            self._back.set()
        if event.state in (SessionState.EXPIRED, SessionState.CLOSED):
            self._ended.set()

    async def do(self, requests: Sequence[Request]) -> None:
        """All at once. A line is written in the reply's own turn, before anything that came after it is heard."""
        futures = [self._session.submit(request) for request in requests]
        for request, future in zip(requests, futures, strict=True):
            future.add_done_callback(partial(self._note, request))
        for future in futures:
            with suppress(ZkError):
                await future

    def _note(self, request: Request, future: asyncio.Future[object]) -> None:
        failure = future.exception()
        self.lines.append(f"{_shown(request)} -> {self._plain(future.result() if failure is None else failure)}")

    async def settle(self) -> int:
        """After it everything that the server has sent so far is in `lines`; returns their number."""
        with suppress(ZkError):
            await self._session.submit(Exists("/"))
        return len(self.lines)

    async def close(self) -> None:
        await self._session.close()
        await self.do([GetData("/a")])

    async def expire(self) -> None:
        await self._server.expire(self.name, self._session)
        await self._ended.wait()
        await self.do([GetData("/a")])

    async def lose(self, request: Request, done: bool) -> None:
        self._back.clear()
        self._server.lose(self.name, request, done)
        await self.do([request])
        await self._back.wait()

    async def silence(self, other: _Client) -> None:
        """`other` sees that the session has gone."""
        await self._session.submit(Create("/mark", ephemeral=True))
        await self._server.silence(self.name)
        while await other._session.submit(Exists("/mark")) is not None:  # noqa: ASYNC110  # no watch: it would be told
            await asyncio.sleep(POLL_S)
        await self._server.heal(self.name)
        await self._ended.wait()

    async def tree(self, path: str = "/") -> list[str]:
        node, children = await self._session.submit(GetData(path)), await self._session.submit(GetChildren(path))
        assert isinstance(node, Node)
        assert isinstance(children, Children)
        lines = [f"{path} {node.data!r} {self._plain(node.stat)}"]
        for name in children.names:
            lines += await self.tree(f"{path.rstrip('/')}/{name}")
        return lines

    def _plain(self, result: object) -> str:
        match result:
            case Stat() as stat:
                zxids = [zxid - self.base for zxid in (stat.czxid, stat.mzxid, stat.pzxid)]
                owner = self._owners.get(stat.ephemeral_owner, "-") if stat.ephemeral_owner else ""
                return f"Stat({zxids} v{stat.version} c{stat.cversion} {owner}/{stat.children})"
            case Node(data, stat):
                return f"Node({data!r} {self._plain(stat)})"
            case Children(names, stat):
                return f"Children({' '.join(names)} {self._plain(stat)})"
            case Created(path):
                return f"Created({path})"
            case UnexpectedZkError():
                return f"{result.zk_code}({result.path})"
            case ZkError():
                return str(result)
            case tuple():
                return " ".join(self._plain(part) for part in result)
            case _:
                return repr(result)


def _shown(request: Request) -> str:
    match request:
        case Multi(ops):
            return f"Multi({', '.join(map(repr, ops))})"
        case MultiRead(reads):
            return f"MultiRead({', '.join(map(repr, reads))})"
        case _:
            return repr(request)


async def play(steps: Sequence[Step], server: Server) -> list[str]:
    """Plays a program on an empty root and returns its transcript."""
    owners: dict[int, str] = {}
    clients = {name: _Client(server, name, owners) for name in CLIENTS}
    for client in clients.values():
        await client.begin()
    for step in steps:
        client = clients[step.client]
        if isinstance(step, Batch):
            await client.do(step.requests)
        elif isinstance(step, Lose):
            await client.lose(step.request, step.done)
        else:
            await _end(client, step, list(clients.values()))
            await client.open()
    first = clients[CLIENTS[0]]
    tree = await first.tree()
    for client in clients.values():
        await _end(client, Close(client.name), list(clients.values()))
    transcript = [f"{client.name}: {line}" for client in clients.values() for line in client.lines]
    transcript += [f"tree: {line}" for line in tree]
    counted = not any(isinstance(step, Silence) for step in steps)  # what waits for the end of a silence is not counted
    for txn in server.txns():
        if txn.zxid > first.base:
            transcript.append(f"log: {_logged(txn, first.base, owners, counted)}")
    return transcript


def _logged(txn: Txn, base: int, owners: dict[int, str], counted: bool) -> str:
    """Without the program's root, and the deletions of one closeSession as a set."""
    ops = [(op.type, _below_root(op.path), op.data, op.version, op.ephemeral, op.code) for op in txn.ops]
    closed = sorted(_below_root(path) or "" for path in txn.closed)
    details = [*ops, *closed, *(part for part in (txn.error, txn.timeout_ms) if part is not None)]
    cxid = txn.cxid if counted else ""
    return f"{txn.zxid - base} {owners.get(txn.session, '-')} {cxid} {txn.type} {' '.join(map(str, details))}"


def _below_root(path: str | None) -> str | None:
    return path if path is None else "/" + path[1:].partition("/")[2]


async def _end(ending: _Client, step: Step, clients: Sequence[_Client]) -> None:
    """One closeSession. What every client hears of it is compared as a set."""
    marks = [await client.settle() for client in clients]
    if isinstance(step, Silence):
        await ending.silence(next(client for client in clients if client is not ending))
    else:
        await (ending.close() if isinstance(step, Close) else ending.expire())
    for client, mark in zip(clients, marks, strict=True):
        await client.settle()
        ends = next((at for at in range(mark, len(client.lines)) if not client.lines[at].startswith("watch")), None)
        client.lines[mark:ends] = sorted(client.lines[mark:ends])


# --- the simulated server ---------------------------------------------------------------------------------------------


class SimServer:
    """A simulated server of its own for one program."""

    def __init__(self, world: SimZooKeeper, loop: SimLoop, root: str, timeout_ms: int) -> None:
        self._world, self._loop, self._root, self._timeout_ms = world, loop, root, timeout_ms

    async def make_root(self) -> None:
        admin = await SimConnector(self._world, self._loop, timeout_ms=TIMEOUT_MS).open(lambda _: None)
        await admin.submit(Create(self._root))
        await asyncio.sleep(1)  # of simulated time: a follower hears of it

    async def open(self, client: str, listener: Listener) -> ZkSession:
        connector = SimConnector(self._world, self._loop, timeout_ms=self._timeout_ms, chroot=self._root, link=client)
        return await connector.open(listener)

    async def expire(self, client: str, session: ZkSession) -> None:
        self._world.expire(session.session_id)

    async def silence(self, client: str) -> None:
        self._world.link(client).hold()

    async def heal(self, client: str) -> None:
        self._world.link(client).heal()

    def lose(self, client: str, request: Request, done: bool) -> None:
        def look(link: str, _: Request, is_done: bool) -> None:
            if link == client and is_done == done:
                self._world.on_request = None
                self._world.link(link).reset(heard=ALL)  # the watch events that were sent before the reply

        self._world.on_request = look

    def txns(self) -> Sequence[Txn]:
        return [txn for _, txn in self._world.txns]


def simulated(
    steps: Sequence[Step], server_type: type[SimZooKeeper] = SimZooKeeper, timeout_ms: int = TIMEOUT_MS
) -> list[str]:
    """The transcript of a program on a simulated server."""
    with Scheduler() as world:
        return run_on(server_type(world, NamedRng(0)), steps, timeout_ms)


def run_on(zookeeper: SimZooKeeper, steps: Sequence[Step], timeout_ms: int = TIMEOUT_MS) -> list[str]:
    loop = zookeeper.scheduler.process("clients")
    server = SimServer(zookeeper, loop, "/p", timeout_ms)

    async def run() -> list[str]:
        await server.make_root()
        return await play(steps, server)

    return zookeeper.scheduler.run_until_complete(loop.create_task(run()))
