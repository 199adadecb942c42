"""Links of the simulated network: what happens to a thing that is said, between its saying and its arrival.

    source --- upstream way ---> target        each way: hold -> toxics (sim/toxics.py) -> delay -> cut -> arrival
    source <-- downstream way -- target

Things said over one channel arrive in their order, whatever the faults; channels of a way do not wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Protocol

from pytest_kcontroller.model.toxics import LATENCY, RESET_PEER, TIMEOUT, Direction, Toxic, cut_toxics, streams_of
from pytest_kcontroller.runtime.ports import Rng
from pytest_kcontroller.runtime.scheduler import SimHandle, SimLoop
from pytest_kcontroller.sim.toxics import Shaping

LEAST_US, MOST_US = 50, 500
"""How long a thing is on its way if no fault says otherwise; drawn evenly."""

Thing = bytes | Callable[[], None]
"""Bytes, or a call that is made at arrival (a connection's opening, its end)."""


class Way:
    """One direction of a link. Faults are set by Link."""

    def __init__(self, loop: SimLoop, rng: Rng, name: str) -> None:
        """`loop` runs the arrivals; the delays come from the stream `name`, one draw for each thing sent."""
        self.loop, self.scheduler, self.context = loop, loop.scheduler, Context()
        self.least_us, self.most_us = LEAST_US, MOST_US
        self.held = self.is_cut = self.resets = False
        self.toxics: dict[str, Toxic] = {}
        """By type; `shaping` is there while some of them look at the bytes."""
        self.shaping: Shaping | None = None
        self._draw = rng.stream(name).random
        self._cuts = rng.stream(f"{name}/slices")
        self._holding: deque[tuple[Channel, Thing]] = deque()
        self._stopped: list[Channel] = []

    def delay_us(self) -> int:
        return self.least_us + int(self._draw() * (self.most_us - self.least_us + 1))

    def impair(self, toxic: Toxic) -> None:
        self.toxics[toxic.type] = toxic
        self._take_up(toxic.type)

    def restore(self, kind: str) -> bool:
        """Takes back the toxic of this type; whether there was one."""
        if self.toxics.pop(kind, None) is None:
            return False
        self._take_up(kind)
        return True

    def _take_up(self, kind: str) -> None:
        """What is in force follows from the toxics."""
        toxic = self.toxics.get(kind)
        given = {} if toxic is None else toxic.attributes
        if kind == LATENCY:
            late, jitter = given.get("latency", 0), given.get("jitter", 0)
            self.least_us, self.most_us = LEAST_US + max(0, late - jitter) * 1000, MOST_US + (late + jitter) * 1000
        elif kind == RESET_PEER:
            self.resets = toxic is not None
        elif kind == TIMEOUT:
            if toxic is not None and toxic.is_cut:
                self.is_cut = True
            elif self.is_cut:
                self.mend()
        self.shaping = Shaping.of(self.toxics.values(), self._cuts)

    def keep(self, channel: Channel, thing: Thing) -> None:
        """Said while the way is held."""
        self._holding.append((channel, thing))

    def stop(self, channel: Channel) -> None:
        """One arrival of `channel` came while the way was cut: it is due again when the cut is healed."""
        self._stopped.append(channel)

    def release(self, count: int | None) -> int:
        let_go = len(self._holding) if count is None else min(count, len(self._holding))
        for _ in range(let_go):
            channel, thing = self._holding.popleft()
            channel.send(thing)
        return let_go

    def mend(self) -> None:
        self.is_cut, stopped, self._stopped = False, self._stopped, []
        for channel in stopped:
            channel.plan_arrival()

    @property
    def holding(self) -> int:
        """How many things are held."""
        return len(self._holding)


class Channel:
    """What one end of a connection says to the other, in order."""

    def __init__(self, way: Way, receive: Callable[[bytes], None], break_off: Callable[[str], None]) -> None:
        """`break_off` ends the connection for both of its ends."""
        self._way, self._receive, self._break_off = way, receive, break_off
        self._on_the_way: deque[Thing] = deque()
        self._last_due_us = 0
        self._dropped = False
        self._passed, self._free_us, self._heard_us = 0, 0, 0
        """For Shaping: bytes so far; when a narrow line has carried them; when something was said last."""
        # One handle for all arrivals: which thing an arrival is for is decided by the order in which they were said.
        self._arrival = SimHandle(self._arrive, (), way.loop, way.context)

    def say(self, thing: Thing) -> None:
        if self._way.held:
            self._way.keep(self, thing)
        else:
            self.send(thing)

    def send(self, thing: Thing) -> None:
        """Passes by a hold."""
        if self._way.shaping is not None:
            self._shape(self._way.shaping, thing)
            return
        self._on_the_way.append(thing)
        self.plan_arrival()

    def _shape(self, shaping: Shaping, thing: Thing) -> None:
        """See Shaping. Of what is no bytes only the end is late (`end`)."""
        now_us = self._way.scheduler.now_us
        if not isinstance(thing, bytes):
            self._on_the_way.append(thing)
            self.plan_arrival()
            self.watch_silence()
            return
        if shaping.silence_us is not None:
            self.watch_silence()
            return
        thing, is_last = shaping.limited(thing, self._passed)
        self._passed += len(thing)
        at_us = max(now_us, self._free_us)
        for piece in shaping.pieces(thing):
            at_us += shaping.carrying_us(piece)
            self._on_the_way.append(piece)
            self.plan_arrival(at_us - now_us)
            at_us += shaping.pause_us
        self._free_us = at_us
        if is_last:
            self._on_the_way.append(lambda: self._break_off("the network ended it"))
            self.plan_arrival(at_us - now_us)

    def say_end(self, tell: Callable[[], None]) -> None:
        shaping = self._way.shaping
        if shaping is None or not shaping.close_late_us:
            self.say(tell)
            return
        way = self._way
        due_us = way.scheduler.now_us + shaping.close_late_us
        way.scheduler.schedule(way.loop, due_us, SimHandle(self.say, (tell,), way.loop, way.context))

    def watch_silence(self) -> None:
        """From now on: after so much of it the connection is closed."""
        way = self._way
        if way.shaping is None or way.shaping.silence_us is None:
            return
        self._heard_us = way.scheduler.now_us
        due_us = self._heard_us + way.shaping.silence_us
        way.scheduler.schedule(way.loop, due_us, SimHandle(self._end_silence, (), way.loop, way.context))

    def _end_silence(self) -> None:
        shaping = self._way.shaping
        if shaping is None or shaping.silence_us is None or self._dropped:
            return
        if self._way.scheduler.now_us - self._heard_us >= shaping.silence_us:
            self._break_off("the network ended it")

    def plan_arrival(self, after_us: int = 0) -> None:
        way = self._way
        due_us = way.scheduler.now_us + after_us + way.delay_us()
        if due_us < self._last_due_us:
            due_us = self._last_due_us
        self._last_due_us = due_us
        way.scheduler.schedule(way.loop, due_us, self._arrival)

    def drop(self) -> None:
        """What is on its way is lost, and whatever is said later."""
        self._dropped = True
        self._on_the_way.clear()

    def _arrive(self) -> None:
        if self._way.is_cut:
            self._way.stop(self)
            return
        if self._dropped:
            return
        thing = self._on_the_way.popleft()
        if isinstance(thing, bytes):
            self._receive(thing)
        else:
            thing()


class Wire(Protocol):
    """What a link needs of an open connection."""

    upstream: Channel
    downstream: Channel

    def break_off(self, why: str) -> None:
        """For both ends at once."""
        ...


class Link:
    """From one process (the one that connects) to another, by their names; outlives both. All faults may be repeated."""

    def __init__(self, source: str, target: str, loop: SimLoop, rng: Rng) -> None:
        self.source, self.target = source, target
        self.upstream = Way(loop, rng, f"net/{source}-{target}/upstream")
        self.downstream = Way(loop, rng, f"net/{source}-{target}/downstream")
        self.enabled = True
        self.requests = 0
        """How many writes the source has made, over all connections."""
        self.open: dict[Wire, None] = {}
        """The open connections, oldest first."""

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"

    def _ways(self, direction: Direction) -> tuple[Way, ...]:
        if direction == "both":
            return (self.upstream, self.downstream)
        return (self.upstream,) if direction == "upstream" else (self.downstream,)

    @property
    def toxics(self) -> tuple[Toxic, ...]:
        """What `impair` set, upstream first."""
        return tuple(toxic for way in self._ways("both") for toxic in way.toxics.values())

    def impair(self, toxic: Toxic) -> None:
        """From now on, in the toxic's direction; in the place of another of its type. `reset_peer` has no time-out."""
        way = self._ways(toxic.stream)[0]
        way.impair(toxic)
        for wire in list(self.open):
            (wire.upstream if way is self.upstream else wire.downstream).watch_silence()

    def restore(self, toxic: Toxic) -> None:
        """Takes it back. Connections whose bytes were dropped are closed, as toxiproxy does."""
        way = self._ways(toxic.stream)[0]
        dropped = way.shaping is not None and way.shaping.silence_us is not None
        if way.restore(toxic.type) and dropped and toxic.type == TIMEOUT:
            self._break_all()

    def slow(self, least_us: int, most_us: int, direction: Direction = "both") -> None:
        """What is said from now on takes from `least_us` to `most_us`."""
        if not 0 <= least_us <= most_us:
            raise ValueError(f"a delay from {least_us} to {most_us} microseconds cannot be")
        for way in self._ways(direction):
            way.least_us, way.most_us = least_us, most_us

    def cut(self, direction: Direction = "both") -> None:
        """Nothing arrives any more, also what is on its way already; connections stay, new ones wait. `heal` lets all
        of it arrive, since TCP sends again what was lost: there toxiproxy closes the connections."""
        for toxic in cut_toxics(direction):
            self.impair(toxic)

    def hold(self, direction: Direction = "both") -> None:
        """What is said from now on is kept until `release`; what is on its way still arrives."""
        for way in self._ways(direction):
            way.held = True

    def release(self, count: int | None = None, direction: Direction = "both") -> int:
        """Lets the `count` oldest held things go, in each direction named, and the hold stays; without a count all of
        them, and the hold ends. Returns how many. A thing is a connection's opening, a write, or an end."""
        if count is None:
            for way in self._ways(direction):
                way.held = False
        return sum(way.release(count) for way in self._ways(direction))

    def reset(self, direction: Direction = "both") -> None:
        """A connection breaks for both ends as soon as bytes are said in a direction named, until `heal`."""
        for stream in streams_of(direction):
            self.impair(Toxic(RESET_PEER, stream))

    def disable(self) -> None:
        """Open connections break at once, what is on its way is lost; new ones are refused, until `enable` or `heal`."""
        self.enabled = False
        self._break_all()

    def _break_all(self) -> None:
        for wire in list(self.open):
            wire.break_off("the network broke it")

    def enable(self) -> None:
        """Takes `disable` back."""
        self.enabled = True

    def heal(self) -> None:
        """Takes every fault back."""
        self.enabled = True
        for way in self._ways("both"):
            way.least_us, way.most_us = LEAST_US, MOST_US  # what a cut stopped is not late any more
        for toxic in self.toxics:
            self.restore(toxic)
        self.release()
