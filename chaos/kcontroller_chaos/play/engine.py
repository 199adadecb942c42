"""Plays a schedule on a cluster and writes down what happened. It judges nothing and repairs nothing but its own faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcontroller_chaos.campaign.actions import ADMIN, Action
from kcontroller_chaos.campaign.file import is_crash_point
from kcontroller_chaos.campaign.schedule import Schedule
from kcontroller_chaos.faults import work_of
from kcontroller_chaos.feed import Feed, writer_is
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, FaultWork, Injection
from kcontroller_chaos.play.group import Group
from kcontroller_chaos.play.player import FaultPlayer
from kcontroller_chaos.play.targets import resolve
from kcontroller_chaos.play.triggers import wait_for
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentError_, KControllerError
from pytest_kcontroller.model.history import (
    AdminInfo,
    AdminInvoke,
    AdminOk,
    FaultAsked,
    FaultNotApplied,
    FaultSkipped,
    HostOverload,
    NodeMetadata,
    Record,
    RunEnded,
    RunStarted,
    TriggerMissed,
)
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Clock

CONVERGE_S = 10.0
"""After the last fault is healed the cluster gets this long, unscaled; what is not there then is the invariants' affair."""
TARGET_S = 5.0
"""A target such as `controller` may be nobody for the time of an election."""
DRAWN_TARGET_S = 0.2
"""So long for one that is skipped if there is nobody."""
UNTIL_S = 10.0
"""What a fault is healed on (`until`) comes within this time, or it is healed without it."""
POLL_US = 20_000
ENDS_OF_A_LINK = 2


class Noop:
    """Takes the place of a fault's inject: the test of observation."""

    def __init__(self, work: FaultWork) -> None:
        self._work = work
        self.observe, self.within_s = work.observe, work.within_s
        self.ends_session, self.claims, self.may_miss = work.ends_session, work.claims, False

    async def inject(self, on: Injection) -> None:
        """Nothing happens, but whoever stands at a crash point goes on."""
        if isinstance(self._work, AtPoint):
            await on.cluster.thaw(on.node)

    async def heal(self, on: Injection) -> None:
        """Nothing has happened."""


class AtPoint:
    """A fault on a node that stands at a crash point: once it is injected, and `still_us` later, the node goes on as far as
    it still can."""

    def __init__(self, work: FaultWork, still_us: int) -> None:
        self._work, self._still_us = work, still_us
        self.observe, self.heal, self.within_s = work.observe, work.heal, work.within_s
        self.ends_session = work.ends_session or still_us > 0  # who stands still does not ping
        self.claims, self.may_miss = work.claims, work.may_miss

    async def inject(self, on: Injection) -> None:
        try:
            await self._work.inject(on)
            await on.clock.sleep_us(self._still_us)
        finally:
            await on.cluster.thaw(on.node)


@dataclass(slots=True)
class Engine:
    """`play` is a run from the first action to the records of the end. `noop` is KIND or KIND:MODE, see Noop."""

    cluster: Cluster
    feed: Feed
    clock: Clock
    record: Record
    noop: str | None = None
    duration_s: float = 10.0
    """The campaign's: what a fault waits for (`when`) happens within it, or the fault is not applied."""
    excused: list[int] = field(default_factory=list)
    """Sessions that faults were to end; any other that ZooKeeper gives up shows an overloaded host."""
    claims: dict[tuple[str, int | None], str] = field(default_factory=dict)
    """What the faults that go on need for themselves: (claim, node) -> the fault's id."""

    async def play(self, schedule: Schedule) -> None:
        """Every action in a task of its own; cancelled, it heals and raises."""
        self.record(RunStarted())
        async with Nursery() as tasks:
            tasks.start(self.feed.follow(), name="feed")
            for topic in schedule.topics:
                await self.cluster.create_topic(
                    topic.name, partitions=topic.partitions, replication_factor=topic.replication_factor
                )
            await self.converge()
            begin_us = self.clock.now_us()
            playing = [
                tasks.start(self._play(action, begin_us, schedule), name=f"action {action.id}")
                for action in schedule.actions
            ]
            for task in playing:
                await task
            await self.converge()
            self.feed.poll()
            self._record_overload()
            await self._record_end()
            self.record(RunEnded())

    async def _play(self, action: Action, begin_us: int, schedule: Schedule) -> None:
        since = self.feed.position
        if action.at_us is not None:
            await self.clock.sleep_us(max(0, begin_us + action.at_us - self.clock.now_us()))
        if action.what == ADMIN:
            await self._play_admin(action)
        elif is_crash_point(action.when):
            await self._play_at_point(action, schedule)
        elif action.when is None or await self._happened(action.when, since, scaled(self.duration_s)):
            await self.clock.sleep_us(action.after_us)
            await self._play_fault(action, schedule)
        else:
            self._cannot(action, f"{action.when} did not happen in {self.duration_s:g} s")

    def _cannot(self, action: Action, why: str) -> None:
        """A fault that has nothing to hit."""
        fields = {**_identity(action), "node": None, "session": None}
        self.record(FaultAsked(**fields, nodes=[]))
        self.record(FaultSkipped(**fields, why=why) if action.if_possible else FaultNotApplied(**fields, why=why))

    async def _play_admin(self, action: Action) -> None:
        fields: dict[str, Any] = {"op": action.id, "action": action.kind, "arguments": action.parameters}
        self.record(AdminInvoke(**fields))
        arguments = dict(action.parameters)
        try:
            await self.cluster.create_topic(arguments.pop("topic"), **arguments)
        except KControllerError as failed:
            self.record(AdminInfo(**fields, error=str(failed)))
        else:
            self.record(AdminOk(**fields))

    async def _play_fault(self, action: Action, schedule: Schedule) -> None:
        try:
            members = await self._injections(action, await self._resolve(action, schedule))
        except KControllerError as failed:
            self._cannot(action, str(failed))
            return
        await self._strike(action, members, work_of(action.kind, action.mode))

    async def _play_at_point(self, action: Action, schedule: Schedule) -> None:
        """Who it hits is decided when it begins to count; at the point itself the node stands still until the injection."""
        point, _, count = str(action.when).partition(":")
        limit_s = scaled(self.duration_s) if action.within_us is None else action.within_us / 1e6
        nodes: tuple[int, ...] = ()
        try:
            nodes = await self._resolve(action, schedule)
            async with asyncio.timeout(limit_s):
                node = await self.cluster.reach(nodes, point, int(count))
        except TimeoutError:
            named = ", ".join(map(str, nodes))
            self._cannot(action, f"of the nodes {named} none came to {action.when} in {limit_s:g} s")
            return
        except KControllerError as failed:
            self._cannot(action, str(failed))
            return
        try:
            members = [await self._injection(action, node)]
        except KControllerError as failed:
            await self.cluster.thaw(node)
            self._cannot(action, str(failed))
            return
        await self._strike(action, members, AtPoint(work_of(action.kind, action.mode), action.still_us))

    async def _strike(self, action: Action, members: list[Injection], work: FaultWork) -> None:
        single = len(members) == 1
        claimed = [(claim, _whose(claim, member)) for member in members for claim in work.claims]
        if PROCESS in work.claims and len(self._free({member.node for member in members})) < ENDS_OF_A_LINK:
            claimed.append((NETWORK, None))  # no link would have somebody at its other end who could be asked
        other = next((self.claims[claim] for claim in claimed if claim in self.claims), None)
        if action.if_possible and other is not None:
            if isinstance(work, AtPoint):
                await self.cluster.thaw(members[0].node)
            self._cannot(action, f"node {members[0].node} is in the hands of {other}")
            return
        if work.ends_session:
            self.excused += [member.session for member in members]
        if not single:
            work = Group(work, members)
        if self.noop in (action.kind, f"{action.kind}:{action.mode}"):
            work = Noop(work)
        on = members[0]
        fields = _identity(action)
        fields |= {"node": on.node if single else None, "session": hex(on.session) if single else None}
        self.record(FaultAsked(**fields, nodes=[member.node for member in members]))
        mine = {claim: action.id for claim in claimed if claim not in self.claims}
        self.claims.update(mine)
        try:
            await FaultPlayer(self, work, on, fields, self._until(action), action.if_possible).play()
        finally:
            for claim in mine:
                del self.claims[claim]

    def _free(self, but: set[int]) -> list[int]:
        """The running nodes, but these, that are in the hands of no fault."""
        return [node for node in self.cluster.running if node not in but and (PROCESS, node) not in self.claims]

    def _until(self, action: Action) -> Callable[[], Awaitable[object]] | None:
        if (duration_us := action.duration_us) is not None:
            return lambda: self.clock.sleep_us(duration_us)
        if (until := action.until) is None:
            return None
        since = self.feed.position
        return lambda: self._happened(until, since, scaled(UNTIL_S))

    async def _happened(self, trigger: str, since: int, limit_s: float) -> bool:
        """Waits for it; False if it did not come in time, which is recorded."""
        try:
            async with asyncio.timeout(limit_s):
                await wait_for(trigger, self.feed, since=since)
        except TimeoutError:
            self.record(TriggerMissed(trigger=trigger, waited_s=limit_s))
            return False
        return True

    async def _resolve(self, action: Action, schedule: Schedule) -> tuple[int, ...]:
        limit_s = scaled(DRAWN_TARGET_S if action.if_possible else TARGET_S)
        deadline_us = self.clock.now_us() + round(limit_s * 1e6)
        draw = schedule.rng(action).randrange
        while not (nodes := await resolve(self.cluster, str(action.target), draw)):
            if self.clock.now_us() > deadline_us:
                raise EnvironmentError_(f"for {limit_s:g} s no node was {action.target!r}")
            await self.clock.sleep_us(POLL_US)
        return nodes

    async def _injections(self, action: Action, nodes: Sequence[int]) -> list[Injection]:
        """On all of them; `if_possible`, on those that can be hit now. Raises EnvironmentError_ if there is none."""
        members, failures = list[Injection](), list[KControllerError]()
        for node in nodes:
            try:
                members.append(await self._injection(action, node))
            except KControllerError as failed:
                failures.append(failed)
        if failures and not (members and action.if_possible):
            raise failures[0]
        return members

    async def _injection(self, action: Action, node: int) -> Injection:
        status = await self.cluster.status(node)
        if status is None or not status.session:
            raise EnvironmentError_(f"node {node} has no session, so nothing can be observed of a fault on it")
        if action.if_possible and status.raw.get("session_state") != "connected":
            raise EnvironmentError_(f"node {node} is not connected to ZooKeeper now, so it cannot lose it")
        self.feed.poll()
        session = hex(status.session)
        if self.feed.find(lambda e: e["kind"] == "zk.txn" and e["type"] == "close-session" and e["session"] == session):
            raise EnvironmentError_(
                f"the session {session} of node {node} has ended, and the node does not know it yet"
            )
        return Injection(
            cluster=self.cluster,
            feed=self.feed,
            clock=self.clock,
            fault=action.id,
            node=node,
            session=status.session,
            since=self.feed.position,
            asked_us=self.clock.now_us(),
            duration_s=None if action.duration_us is None else action.duration_us / 1e6,
            parameters=action.parameters,
        )

    def _record_overload(self) -> None:
        """Sessions that ZooKeeper gave up although no fault was on them, and whose process did not end either."""
        ended = [event["node"] for event in self.feed.events if event["kind"] == "process.exited"]
        excused = [hex(session) for session in self.excused]
        excused += [
            event["session"]
            for event in self.feed.events
            if event["kind"] == "zk.state" and any(writer_is(event["writer"], node) for node in ended)
        ]
        for event in self.feed.events:
            expired = event["kind"] == "zk.txn" and event["type"] == "close-session" and event["cxid"] == 0
            if expired and event["session"] not in excused:
                self.record(HostOverload(session=event["session"], zxid=event["zxid"]))

    async def converge(self) -> str | None:
        """Waits for it, within limits; gives the reason why not."""
        try:
            await self.cluster.wait_until_converged(timeout_s=scaled(CONVERGE_S))
        except KControllerError as not_converged:
            return str(not_converged)
        return None

    async def _record_end(self) -> None:
        for node in self.cluster.running:
            if (status := await self.cluster.status(node)) is not None:
                self.record(status.event())
            if (metadata := await self.cluster.metadata(node)) is not None:
                self.record(NodeMetadata(node=node, metadata=metadata))
        self.record((await self.cluster.tree()).event())


def _whose(claim: str, member: Injection) -> int | None:
    """What a claim is on. Two sessions of a node, one after the other, are two."""
    return {NETWORK: None, SESSION: member.session}.get(claim, member.node)


def _identity(action: Action) -> dict[str, Any]:
    """What names a fault in each of its events."""
    return {"fault": action.id, "fault_kind": action.kind, "mode": action.mode, "target": action.target}
