"""The way between one simulated process and ZooKeeper: delay, cut, hold, and what of it arrives.

Both directions of a connection are a Pipe: in order, one item per turn of the receiver's loop, each `delay_us` after it
was sent. A cut loses what has not arrived yet, except for so many of the oldest as are told or drawn: requests still have
their effect and nobody hears of it; replies and events are still heard.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.model.toxics import LATENCY, RESET_PEER, STREAMS, Stream, Toxic
from pytest_kcontroller.sim.zookeeper.replica import Follower
from pytest_kcontroller.zookeeper.session import Request, WatchKind

if TYPE_CHECKING:
    from pytest_kcontroller.runtime.rng import NamedRng
    from pytest_kcontroller.runtime.scheduler import SimLoop
    from pytest_kcontroller.sim.zookeeper.server import ServerSession, SimZooKeeper
    from pytest_kcontroller.sim.zookeeper.session import SimSession

Call = Callable[..., None]


class Pipe:
    """Calls what was sent, in the receiver's loop: the next one only after those whom the one before has woken have run."""

    __slots__ = ("_armed", "_delivering", "_held_us", "_last_us", "_loop", "_queue", "_scheduler", "_turn")

    def __init__(self, loop: SimLoop) -> None:
        self._loop, self._scheduler = loop, loop.scheduler
        self._turn = asyncio.Handle(self._deliver, (), loop)
        self._queue: deque[tuple[int, Call, tuple[Any, ...]]] = deque()
        self._last_us = 0
        self._held_us: int | None = None
        self._armed, self._delivering = False, False

    def __len__(self) -> int:
        return len(self._queue)

    def count(self, call: Call) -> int:
        """How many of these calls are on their way."""
        return sum(sent == call for _, sent, _ in self._queue)

    @property
    def held(self) -> bool:
        return self._held_us is not None

    def send(self, delay_us: int, call: Call, *args: Any) -> None:
        self._last_us = due_us = max(self._last_us, self._scheduler.now_us + delay_us)
        self._queue.append((due_us, call, args))
        if not self._armed:
            self._arm(due_us)

    def hold(self) -> None:
        """What has not arrived by now waits for `release`."""
        if self._held_us is None:
            self._held_us = self._scheduler.now_us

    def release(self) -> None:
        self._held_us = None
        if self._queue and not self._armed:
            self._arm(self._queue[0][0])

    def break_off(self, arriving: int = 0) -> None:
        """Of what has not arrived so far, the `arriving` oldest arrive now and the rest never.

        What is sent from now on is the receiver's own, and is never held.
        """
        if self._armed and not self._delivering:
            self._turn.cancel()  # it may be far off
            self._turn, self._armed = asyncio.Handle(self._deliver, (), self._loop), False
        here = len(self._queue) - self.on_the_way
        self.keep_oldest(here + arriving)
        now_us = self._last_us = self._scheduler.now_us
        for at in range(here, len(self._queue)):
            self._queue[at] = (now_us, *self._queue[at][1:])
        self.release()

    @property
    def on_the_way(self) -> int:
        """How many have not arrived yet."""
        limit_us = self._scheduler.now_us if self._held_us is None else self._held_us
        return sum(due_us > limit_us for due_us, _, _ in self._queue)

    def keep_oldest(self, count: int) -> None:
        while len(self._queue) > count:
            self._queue.pop()

    def _arm(self, due_us: int) -> None:
        self._armed = True
        self._scheduler.schedule(self._loop, due_us, self._turn)

    def _deliver(self) -> None:
        queue = self._queue
        if not queue or (self._held_us is not None and queue[0][0] > self._held_us):
            self._armed = False
            return
        _, call, args = queue.popleft()
        self._delivering = True
        try:
            call(*args)
        finally:
            self._delivering = False
            if queue:
                self._arm(queue[0][0])
            else:
                self._armed = False


class Connection:
    """One TCP connection of a client. `session` is the server's, once the handshake was answered."""

    __slots__ = ("chroot", "client", "link", "open", "session", "up")

    def __init__(self, link: ZkLink, client: SimSession, chroot: str) -> None:
        self.link, self.client, self.chroot = link, client, chroot
        self.up = Pipe(link.server.loop)
        self.open = True
        self.session: ServerSession | None = None

    # --- the client's end

    def shake_hands(self, session_id: int, password: bytes, timeout_ms: int) -> None:
        if not self._breaks():
            self.up.send(self.link.late("upstream"), self.link.server.accept, self, session_id, password, timeout_ms)

    def _breaks(self) -> bool:
        """Whether what is said breaks it."""
        if breaks := self.link.resets("upstream"):
            self.break_off(heard=0)
        return breaks

    def send(self, request: Request | None, xid: int) -> None:
        """`None`: closes the session. On a broken connection whose client has not heard of it yet: nothing."""
        if not self.open or self._breaks():
            return
        if request is not None and self.link.server.on_submit is not None:
            self.link.server.on_submit(self.link.name, request)
        self.up.send(self.link.late("upstream"), self.link.server.serve, self, request, xid)

    @property
    def attached(self) -> bool:
        """Whether the client still holds it for its connection: the server may have closed it, which takes its time."""
        return self.client.connection is self

    @property
    def in_use(self) -> bool:
        return self.client.alive and (self.open or self.attached)

    @property
    def flows(self) -> bool:
        """Whether a ping would be answered."""
        server_loop = self.link.server.loop
        return self.open and not self.up.held and server_loop.alive and not server_loop.paused

    # --- the server's end

    def tell(self, call: Call, *args: Any) -> None:
        if not self.open:
            return
        if self.link.resets("downstream"):
            # Not now: the server may be telling all who watch.
            self.link.server.loop.call_soon(self.break_off, None, 0)
        else:
            self.client.inbox.send(self.link.late("downstream"), call, *args)

    def event(self, kind: WatchKind, path: str) -> None:
        self.tell(self.client.on_watch, kind, path[len(self.chroot) :] or "/")

    def close(self) -> None:
        """By the server: the client learns of it after all that was sent before."""
        self.tell(self.client.on_loss, self)
        self._ended(0)

    def close_with_session(self) -> None:
        """As the answer to the client's request to close its session."""
        self.tell(self.client.on_closed)
        self._ended(0)

    # --- whoever breaks it

    def break_off(self, arriving: int | None = None, heard: int | None = None) -> None:
        """Of the requests on their way the `arriving` oldest still have their effect, and of the replies and events on their
        way the `heard` oldest are heard; None: drawn. Nothing is heard over a link that is held."""
        if self.attached:
            inbox = self.client.inbox
            if inbox.held:
                heard = 0
            elif heard is None:
                heard = self.link.drawn(inbox.on_the_way)
            inbox.break_off(heard)
            inbox.send(0, self.client.on_loss, self)
        self.abandon(arriving)

    def abandon(self, arriving: int | None = None) -> None:
        """The client's end is gone."""
        if self.open:
            self._ended(self.link.drawn(len(self.up)) if arriving is None else arriving)

    def _ended(self, arriving: int) -> None:
        if self.open:
            self.open = False
            self.up.keep_oldest(arriving)
            self.link.server.forget(self)


class ZkLink:
    """All connections between one process and ZooKeeper, and the faults on them."""

    def __init__(self, server: SimZooKeeper, name: str, delay_us: int, rng: NamedRng) -> None:
        self.server, self.name, self.delay_us = server, name, delay_us
        """`delay_us`: how long everything is on the way, in each direction, without a toxic."""
        self.draw = rng.stream(f"zookeeper/{name}")
        self.is_cut = False
        self._held: tuple[Stream, ...] = ()
        self._toxics: dict[str, Toxic] = {}
        self.follower: Follower | None = None
        self._connections: list[Connection] = []
        self.grants: list[Connection] = []
        """The connections on which the server granted or resumed a session, oldest first."""
        self.refused = False
        """Whether the last handshake on it was refused: its session is gone."""

    def answered(self, connection: Connection, *, refused: bool) -> None:
        """The server's answer to a handshake passes."""
        self.refused = refused
        if not refused:
            self.grants.append(connection)

    def connect(self, client: SimSession, chroot: str) -> Connection | None:
        """None: refused."""
        if self.is_cut or not self.server.loop.alive:
            return None
        connection = Connection(self, client, chroot)
        self._connections = [old for old in self._connections if len(old.up) or old.in_use]
        self._connections.append(connection)
        if "upstream" in self._held:
            connection.up.hold()
        if "downstream" in self._held:
            client.inbox.hold()
        return connection

    @property
    def flying(self) -> int:
        """How many requests are on their way."""
        return sum(len(connection.up) for connection in self._connections if connection.open)

    @property
    def unheard(self) -> int:
        """How many watch events are on their way to the process, or would be if its follower did not lag behind."""
        behind = 0 if self.follower is None else self.follower.behind
        clients = [connection.client for connection in self._connections if connection.attached]
        return behind + sum(client.inbox.count(client.on_watch) for client in clients)

    def cut(self, arriving: int | None = None, heard: int | None = None) -> None:
        """Resets the connections and refuses new ones until `heal`. For the numbers see Connection.break_off. Idempotent."""
        self.is_cut = True
        self.reset(arriving, heard)

    def reset(self, arriving: int | None = None, heard: int | None = None) -> None:
        """Resets the connections; the client may connect again."""
        for connection in self._connections:
            connection.break_off(arriving, heard)

    def drawn(self, most: int) -> int:
        return self.draw.randint(0, most) if most else 0

    @property
    def toxics(self) -> tuple[Toxic, ...]:
        return tuple(self._toxics.values())

    def impair(self, toxic: Toxic) -> None:
        """`latency`, `timeout` 0 and `reset_peer` 0: nothing here has bytes. A cut is in force with the next `hold`."""
        self._toxics[toxic.name] = toxic

    def restore(self, toxic: Toxic) -> None:
        """Takes it back."""
        self._toxics.pop(toxic.name, None)

    @property
    def cut_ways(self) -> tuple[Stream, ...]:
        """The directions that a toxic has cut."""
        return tuple(toxic.stream for toxic in self._toxics.values() if toxic.is_cut)

    def late(self, stream: Stream) -> int:
        """How long what is said now in this direction is on its way, in microseconds."""
        toxic = self._toxics.get(Toxic(LATENCY, stream).name)
        if toxic is None:
            return self.delay_us
        jitter_us = toxic.attributes.get("jitter", 0) * 1000
        spread_us = self.draw.randint(-jitter_us, jitter_us) if jitter_us else 0
        return self.delay_us + max(0, toxic.attributes["latency"] * 1000 + spread_us)

    def usual_us(self, stream: Stream) -> int:
        """As `late`, without jitter."""
        toxic = self._toxics.get(Toxic(LATENCY, stream).name)
        return self.delay_us + (0 if toxic is None else toxic.attributes["latency"] * 1000)

    def resets(self, stream: Stream) -> bool:
        """Whether what is said in this direction breaks the connection."""
        return Toxic(RESET_PEER, stream).name in self._toxics

    async def round_trip_us(self, loop: SimLoop) -> int:
        """How long a question from a process on `loop`, which changes nothing, and its answer are on the way."""
        began_us, answered = self.server.loop.scheduler.now_us, loop.create_future()
        if self._held or any(map(self.resets, STREAMS)):
            await answered  # nobody answers: what is held passes when the asker does not wait any more
        there, back = Pipe(self.server.loop), Pipe(loop)
        there.send(self.late("upstream"), lambda: back.send(self.late("downstream"), answered.set_result, None))
        await asyncio.shield(answered)
        return self.server.loop.scheduler.now_us - began_us

    def follow(self, lag_us: int) -> None:
        """The process talks to a follower from now on, which lags behind; its connections are reset as by a move.

        Again: only the lag changes.
        """
        if self.follower is None:
            self.reset()
            self.follower = Follower(self.server, lag_us)
            self.server.followers.append(self.follower)
        self.follower.lag_us = lag_us
        self.follower.rearm()

    def hold(self, held: tuple[Stream, ...] = STREAMS) -> None:
        """Nothing passes any more in these directions, and nobody is told; connections stay until a client hears nothing
        for too long. What was held in another direction arrives now. Idempotent."""
        changed = [stream for stream in STREAMS if (stream in held) != (stream in self._held)]
        self._held = held
        for connection in self._connections:
            for stream in changed:
                if stream == "upstream":
                    _hold_or_release(connection.up, stream in held)
                elif connection.attached:
                    _hold_or_release(connection.client.inbox, stream in held)

    def heal(self) -> None:
        """Ends `cut` and `hold`: what was held arrives now. Idempotent."""
        self.is_cut = False
        self.hold(())


def _hold_or_release(pipe: Pipe, hold: bool) -> None:
    if hold:
        pipe.hold()
    else:
        pipe.release()
