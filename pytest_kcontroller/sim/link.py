"""Links of the simulated network: what happens to a thing that is said, between its saying and its arrival.

    source --- upstream way ---> target        each way: hold -> delay -> cut -> arrival
    source <-- downstream way -- target

Things said over one channel arrive in their order, whatever the faults; channels of a way do not wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Literal

from pytest_kcontroller.runtime.ports import Rng
from pytest_kcontroller.runtime.scheduler import SimHandle, SimLoop

LEAST_US, MOST_US = 50, 500
"""How long a thing is on its way if no fault says otherwise; drawn evenly."""

Direction = Literal["both", "upstream", "downstream"]
"""`upstream`: what the source says to the target; `downstream`: what it hears from it."""
Thing = bytes | Callable[[], None]
"""Bytes, or a call that is made at arrival (a connection's opening, its end)."""


class Way:
    """One direction of a link. Faults are set by Link."""

    def __init__(self, loop: SimLoop, rng: Rng, name: str) -> None:
        """`loop` runs the arrivals; the delays come from the stream `name`, one draw for each thing sent."""
        self.loop, self.scheduler, self.context = loop, loop.scheduler, Context()
        self.least_us, self.most_us = LEAST_US, MOST_US
        self.held = self.is_cut = self.resets = False
        self._draw = rng.stream(name).random
        self._holding: deque[tuple[Channel, Thing]] = deque()
        self._stopped: list[Channel] = []

    def delay_us(self) -> int:
        return self.least_us + int(self._draw() * (self.most_us - self.least_us + 1))

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

    def __init__(self, way: Way, receive: Callable[[bytes], None]) -> None:
        self._way, self._receive = way, receive
        self._on_the_way: deque[Thing] = deque()
        self._last_due_us = 0
        self._dropped = False
        # One handle for all arrivals: which thing an arrival is for is decided by the order in which they were said.
        self._arrival = SimHandle(self._arrive, (), way.loop, way.context)

    def say(self, thing: Thing) -> None:
        if self._way.held:
            self._way.keep(self, thing)
        else:
            self.send(thing)

    def send(self, thing: Thing) -> None:
        """Passes by a hold."""
        self._on_the_way.append(thing)
        self.plan_arrival()

    def plan_arrival(self) -> None:
        way = self._way
        due_us = way.scheduler.now_us + way.delay_us()
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


class Link:
    """From one process (the one that connects) to another, by their names; outlives both. All faults may be repeated."""

    def __init__(self, source: str, target: str, loop: SimLoop, rng: Rng) -> None:
        self.source, self.target = source, target
        self.upstream = Way(loop, rng, f"net/{source}-{target}/upstream")
        self.downstream = Way(loop, rng, f"net/{source}-{target}/downstream")
        self.enabled = True
        self.requests = 0
        """How many writes the source has made, over all connections."""
        self.breakers: dict[Callable[[str], None], None] = {}
        """What breaks each open connection, oldest first."""

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"

    def _ways(self, direction: Direction) -> tuple[Way, ...]:
        if direction == "both":
            return (self.upstream, self.downstream)
        return (self.upstream,) if direction == "upstream" else (self.downstream,)

    def slow(self, least_us: int, most_us: int, direction: Direction = "both") -> None:
        """What is said from now on takes from `least_us` to `most_us`."""
        if not 0 <= least_us <= most_us:
            raise ValueError(f"a delay from {least_us} to {most_us} microseconds cannot be")
        for way in self._ways(direction):
            way.least_us, way.most_us = least_us, most_us

    @property
    def late_us(self) -> int:
        """How late at least everything is in each direction, besides what it takes anyway."""
        return min(way.least_us for way in self._ways("both")) - LEAST_US

    @property
    def is_cut(self) -> bool:
        """In both directions."""
        return all(way.is_cut for way in self._ways("both"))

    def cut(self, direction: Direction = "both") -> None:
        """Nothing arrives any more, also what is on its way already; connections stay, new ones wait. `heal` lets all
        of it arrive, since TCP sends again what was lost."""
        for way in self._ways(direction):
            way.is_cut = True

    def mend(self) -> None:
        """Takes `cut` back."""
        for way in self._ways("both"):
            way.mend()

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
        for way in self._ways(direction):
            way.resets = True

    def disable(self) -> None:
        """Open connections break at once, what is on its way is lost; new ones are refused, until `enable` or `heal`."""
        self.enabled = False
        for break_it in list(self.breakers):
            break_it("the network broke it")

    def enable(self) -> None:
        """Takes `disable` back."""
        self.enabled = True

    def heal(self) -> None:
        """Takes every fault back."""
        self.enabled = True
        for way in self._ways("both"):
            way.least_us, way.most_us, way.resets = LEAST_US, MOST_US, False
            way.mend()
        self.release()
