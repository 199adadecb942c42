"""A ZooKeeper behind proxies of its own, and the faults on the way to it.

Each method returns when ZooKeeper, or a question through the proxy, shows its effect; else it raises EnvironmentFailure with
what was seen instead, and BypassError if somebody goes round the proxies.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Literal, Self

from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.cluster.proxied.bypass import Watchman
from pytest_kcontroller.cluster.proxied.passing import Passed, Passing
from pytest_kcontroller.cluster.proxied.probe import ask
from pytest_kcontroller.cluster.proxied.proxies import Proxies
from pytest_kcontroller.cluster.proxied.seen import (
    ANSWER_S,
    Member,
    Usual,
    answer_s,
    probing,
    see_cut,
    see_healed,
    see_late,
    see_rate,
    see_usual,
    straight_s,
)
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.access import Access, Place
from pytest_kcontroller.cluster.zookeeper.end_session import close_session, resumes
from pytest_kcontroller.cluster.zookeeper.relay import Relay
from pytest_kcontroller.cluster.zookeeper.server import serving
from pytest_kcontroller.cluster.zookeeper.view import ServerView, WordNotAllowedError
from pytest_kcontroller.errors import EnvironmentFailure, UsageError, WaitTimeoutError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import BANDWIDTH, Direction, Toxic, cut_toxics, slow_toxics, streams_of

EXPIRE_S = 15.0
"""Beyond the session's own time-out."""
POLL_S = 0.05

Ending = Literal["server", "natural"]


class ProxiedZooKeeper:
    """Made by `start`, ended by `close`."""

    def __init__(
        self, access: Access, view: ServerView, passing: Passing, proxies: Proxies, watchman: Watchman
    ) -> None:
        self.view, self.passing, self._access = view, passing, access
        self._known = replace(access, opened=passing.reach)
        """What we connect to ZooKeeper with in a program's session is none that goes round the proxies."""
        self._proxies, self._watchman = proxies, watchman
        self._scratch = f"{watchman.below or '/kc'}-rate"
        """A znode beside the test's own, or among them, while a rate is measured."""
        self._relays: list[Relay] = []
        self._members: list[Member] = []
        self._cut_off: set[str] = set()
        """Streams."""
        self._connections_when_cut: int | None = None
        """How many there had been when the cut had been seen: what comes then, until the next call, is a program's."""
        self._tried = False
        """A program has come while all was cut."""
        self._faulted = False
        """There was a fault, or is."""
        self._late_s = 0.0
        """So much, at least, do answers come late."""
        self._longest_s: dict[str, float] = {}
        """How late is what is said, at most, by stream."""
        self._usual: dict[Member, Usual] = {}
        """How they were before."""
        self._flapping: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        place: Place,
        client: ToxiproxyClient,
        *,
        below: str,
        bystanders: Callable[[], Collection[int]],
    ) -> Self:
        """`below` and `bystanders` as in Watchman."""
        passing, proxies, view = Passing(), Proxies(client), ServerView(place.members, place.access)
        addresses: list[Address] = []
        made = cls(place.access, view, passing, proxies, Watchman(passing, view, below, addresses, bystanders))
        try:
            for server in place.members:
                relay = Relay(server, partial(passing.witness, server), access=made._known)
                made._relays.append(relay)
                behind = await relay.start()
                addresses.append(await proxies.add(behind))
                made._members.append(Member(server, behind, addresses[-1]))
        except BaseException:
            await made.close()
            raise
        return made

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where the proxies listen, in the order of the servers."""
        return tuple(member.proxy for member in self._members)

    @property
    def hit_somebody(self) -> bool:
        """Whether a program has had a session, or has come in vain while nothing passed."""
        self._look_who_came()
        return self._tried or bool(self.passing.sessions)

    def _look_who_came(self) -> None:
        before, self._connections_when_cut = self._connections_when_cut, None
        self._tried = self._tried or (before is not None and self.passing.connections > before)

    async def cut(self, direction: Direction) -> None:
        """Nothing passes in this direction, and connections stay open: as when packets vanish."""
        self._check_steady()
        self._look_who_came()
        members = await self._answering()
        usual_s = 0.0 if self._cut_off else max([await self._answer_s(member) for member in members])
        async with contextlib.AsyncExitStack() as stack:
            probes = [await stack.enter_async_context(probing(member, self.passing)) for member in members]
            self._cut_off |= set(streams_of(direction))
            await self._proxies.set(*cut_toxics(direction))
            for member, probe in zip(members, probes, strict=True):
                await see_cut(member, self.passing, probe, self._cut_off, usual_s=usual_s, late_s=self._most_late_s)
        await self._watchman.check(f"the proxy passes nothing ({direction})")
        self._connections_when_cut = self.passing.connections

    @property
    def _most_late_s(self) -> float:
        """An answer may be so late."""
        return sum(self._longest_s.values())

    async def _answer_s(self, member: Member) -> float:
        return await answer_s(member, self.passing, late_s=self._most_late_s)

    async def _answering(self) -> list[Member]:
        """A server of an ensemble may be down; what passes the proxy before it cannot be seen. Raises EnvironmentFailure."""
        there: list[Member] = []
        for member in self._members:
            try:
                await straight_s(member, self.passing)
            except EnvironmentFailure:
                if member is self._members[-1] and not there:
                    raise
            else:
                there.append(member)
        return there

    async def slow(self, ms: int, jitter_ms: int, direction: Direction) -> None:
        """Everything in this direction is late by `ms` +- `jitter_ms`."""
        self._check_passable("slow")
        streams = streams_of(direction)
        least_s = len(streams) * (ms - jitter_ms / 2) / 1000
        members = await self._answering()
        if not self._late_s:
            self._usual = {member: await see_usual(member, self.passing) for member in members}
        await self._proxies.set(*slow_toxics(ms, jitter_ms, direction))
        self._late_s = max(self._late_s, least_s)
        self._longest_s |= dict.fromkeys(streams, (ms + jitter_ms) / 1000)
        for member in members:
            usual = self._usual.get(member, Usual())
            most_s = self._most_late_s
            await see_late(member, self.passing, usual, least_s=least_s, most_s=most_s, jitter=jitter_ms > 0)
        await self._watchman.check(f"the proxy is late by {ms} ms ({direction})")

    async def bandwidth(self, kb_per_s: int, direction: Direction) -> None:
        """No more than this passes in this direction; 1 KB is 1000 bytes."""
        self._check_passable("bandwidth")
        await self._proxies.set(*(Toxic(BANDWIDTH, stream, {"rate": kb_per_s}) for stream in streams_of(direction)))
        for member in await self._answering():
            await see_rate(
                member,
                self.passing,
                self._scratch,
                self._access.identity,
                kb_per_s=kb_per_s,
                direction=direction,
                late_s=self._most_late_s,
            )
        await self._watchman.check(f"the proxy passes {kb_per_s} KB/s ({direction})")

    async def reset(self) -> None:
        """Every connection breaks, and new ones can be made."""
        self._check_passable("reset")
        await self._close_all()
        await self._open_again()
        await self._watchman.check("the proxy broke its connections")

    async def flap(self, down_ms: int, up_ms: int, times: int | None) -> None:
        """Connections break and new ones are refused for `down_ms`, then all is well for `up_ms`, and again: `times`, or
        until `heal`. Returns after the first time, or the last of `times`."""
        self._check_passable("flap")
        for _ in range(times or 1):
            await self._flap_once(down_ms, up_ms)
        await self._watchman.check("the proxy broke its connections")
        if times is None:
            self._flapping = asyncio.create_task(self._flap_on(down_ms, up_ms))

    async def _flap_on(self, down_ms: int, up_ms: int) -> None:
        while True:
            await self._flap_once(down_ms, up_ms)

    async def _flap_once(self, down_ms: int, up_ms: int) -> None:
        await self._close_all()
        await asyncio.sleep(down_ms / 1000)
        await self._open_again()
        await asyncio.sleep(up_ms / 1000)

    async def _close_all(self) -> None:
        """Returns when none is left, at the relays and for ZooKeeper, and none can be made."""
        await self._proxies.disable()
        await self._until("every connection through the proxy has ended", self._still_open, scaled(ANSWER_S))
        for member in self._members:
            if (await ask(member.proxy, self.passing, limit_s=scaled(ANSWER_S))).asked:
                raise EnvironmentFailure("the proxy refuses connections, and a new one passed", where=str(member.proxy))

    async def _still_open(self) -> str | None:
        if count := sum(self.passing.open_connections(member.server) for member in self._members):
            return f"{count} are open"
        with contextlib.suppress(WordNotAllowedError):
            for session, (server, connection) in (await self.view.connections()).items():
                if self.passing.came_from(connection.peer):
                    return f"for {server} there is still that of session {session:#x}"
        return None

    async def _open_again(self) -> None:
        await self._proxies.enable()
        for member in await self._answering():
            await self._answer_s(member)

    def _check_steady(self) -> None:
        self._faulted = True
        if self._flapping is not None:
            raise UsageError("the proxy flaps, so that nothing else can be seen", hint="heal() first")

    def _check_passable(self, what: str) -> None:
        """A fault whose effect nobody would notice is refused."""
        self._check_steady()
        if self._cut_off:
            raise UsageError(f"nothing passes the proxy, so that {what} has no effect", hint="heal() first")

    async def heal(self) -> None:
        """Everything passes again. Raises what went wrong in the meantime, too."""
        self._look_who_came()
        try:
            await self._stop_flapping()
            await self._watchman.check("the proxy had a fault")
        finally:
            await self._proxies.clear()
            late_s, self._late_s = self._late_s, 0.0
            self._cut_off.clear()
            self._longest_s.clear()
        for member in await self._answering():
            await see_healed(member, self.passing, late_s=late_s)

    async def _stop_flapping(self) -> None:
        flapping, self._flapping = self._flapping, None
        if flapping is not None:
            flapping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await flapping

    async def expire(self, session: Passed, mode: Ending) -> None:
        """Returns when ZooKeeper says that the session has ended: it is not in `dump`, or, where that is not allowed, it is
        refused to whoever wants to resume it. Raises WordNotAllowedError if only `dump` could tell (`natural`).

        `server`: a second connection resumes it and closes it. `natural`: nothing of it passes until ZooKeeper gives it up.
        """
        if mode == "server":
            await self._close(session)
            return
        self._faulted = True
        if session.session_id not in (await self.view.dump()).sessions:
            raise EnvironmentFailure(f"session {session.session_id:#x} has ended already")
        self.passing.hold(session.session_id)
        try:
            await self._until_gone(session, 2 * session.timeout_ms / 1000 + scaled(EXPIRE_S))
        finally:
            await self.passing.release(session.session_id)

    async def _close(self, session: Passed) -> None:
        server, limit_s = await serving(self.view.members, access=self._access), scaled(EXPIRE_S)
        who = session.session_id, session.password
        await close_session(server, *who, timeout_s=limit_s, access=self._known)
        try:
            await self._until_gone(session, limit_s)
        except WordNotAllowedError:
            if await resumes(server, *who, timeout_s=limit_s, access=self._known):
                what = f"session {session.session_id:#x} was closed, and can be resumed all the same"
                raise EnvironmentFailure(what, where=str(server)) from None

    async def wait_gone(self, session: Passed) -> None:
        """Until ZooKeeper does not know it any more."""
        await self._until_gone(session, scaled(EXPIRE_S))

    async def _until_gone(self, session: Passed, limit_s: float) -> None:
        async def seen() -> str | None:
            await self._watchman.check(f"session {session.session_id:#x} is to end")
            return "it lives" if session.session_id in (await self.view.dump()).sessions else None

        await self._until(f"ZooKeeper has given session {session.session_id:#x} up", seen, limit_s)

    async def _until(self, what: str, check: Callable[[], Awaitable[str | None]], limit_s: float) -> None:
        """Until `check` gives None; else WaitTimeoutError with what it gave last."""
        loop, seen = asyncio.get_running_loop(), await check()
        until = loop.time() + limit_s
        while seen is not None:
            if loop.time() > until:
                raise WaitTimeoutError(what, seen=seen, timeout_s=limit_s)
            await asyncio.sleep(POLL_S)
            seen = await check()

    def session(self, session_id: int) -> Passed:
        """Raises UsageError: no session with this id has passed."""
        if (found := self.passing.sessions.get(session_id)) is not None:
            return found
        known = ", ".join(map(hex, self.passing.sessions)) or "none"
        raise UsageError(f"no session {session_id:#x} has passed the proxy", hint=f"those that have: {known}")

    async def check_nothing_went_round(self) -> None:
        """Raises BypassError, if there was a fault: without one nothing is void."""
        if self._faulted:
            await self._watchman.check("the proxy had faults")

    async def close(self) -> None:
        """Idempotent."""
        if self._flapping is not None:
            self._flapping.cancel()
        await self._proxies.close()
        for relay in self._relays:
            await relay.stop()
