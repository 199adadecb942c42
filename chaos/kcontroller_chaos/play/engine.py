"""Plays a schedule on a cluster and writes down what happened. It judges nothing and repairs nothing but its own faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kcontroller_chaos.admin import AdminAction, CreateTopic
from kcontroller_chaos.backends.run import record_state
from kcontroller_chaos.campaign.actions import Action
from kcontroller_chaos.campaign.file import is_crash_point
from kcontroller_chaos.campaign.schedule import Schedule
from kcontroller_chaos.campaign.specs import TopicSpec
from kcontroller_chaos.checking import nodes_of_sessions
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.feed import Event, Feed, writer_is
from kcontroller_chaos.history.read import in_order
from kcontroller_chaos.history.transactions import ZkTxn
from kcontroller_chaos.injection import HEALING_S, NOBODY, Injection, Playable, asked, whom
from kcontroller_chaos.play.claims import Claims
from kcontroller_chaos.play.player import FaultPlayer
from kcontroller_chaos.play.targets import TARGET_S, nobody_is, resolve, session_meant
from kcontroller_chaos.play.triggers import wait_for
from kcontroller_chaos.play.wrappers import AtPoint, Group, Noop
from kcontroller_chaos.znode_invariants import ZnodeInvariant
from pytest_kcontroller.cluster.capabilities import BROKERS, CRASH_POINTS, ZOOKEEPERS
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, KControllerError, UsageError, WaitTimeoutError
from pytest_kcontroller.model.assignment import AssignmentError
from pytest_kcontroller.model.history import (
    AdminFail,
    AdminInfo,
    AdminInvoke,
    AdminOk,
    FaultNotApplied,
    FaultSkipped,
    HostOverload,
    ProcessExited,
    Record,
    RunEnded,
    RunStarted,
    TriggerMissed,
    ZkState,
)
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Clock
from pytest_kcontroller.runtime.timeouts import within

CONVERGE_S = 10.0
"""After the last fault is healed the cluster gets this long, unscaled; what is not there then is the invariants' affair."""
DRAWN_TARGET_S = 0.2
"""So long for one that is skipped if there is nobody."""
TURN_S = 10.0
"""So long a drawn fault waits for another that has what it needs, which takes longer to see and to heal than was planned,
and for its node to be back from that one."""
BACK_POLL_S = 0.1
"""Between two looks for the latter."""
UNTIL_S = 10.0
"""What a fault is healed on (`until`) comes within this time, or it is healed without it."""
POLL_US = 20_000
SETTLE_US = 100_000


@dataclass(slots=True)
class Engine:
    """`play` is a run from the first action to the records of the end. `noop` is as in Options.noop_fault, see Noop."""

    cluster: Cluster
    feed: Feed
    clock: Clock
    record: Record
    noop: str | None = None
    duration_s: float = 10.0
    """The campaign's: what a fault waits for (`when`) happens within it, or the fault is not applied."""
    excused: list[int] = field(default_factory=list)
    """Sessions that faults were to end; any other that ZooKeeper gives up shows an overloaded host."""
    claims: Claims = field(default_factory=Claims)
    awaited: tuple[ZnodeInvariant, ...] = ()
    """What is said of znodes at the end gets as long to come about as the cluster has to converge."""

    async def play(self, schedule: Schedule) -> None:
        """Every action in a task of its own; cancelled, it heals and raises."""
        self.record(RunStarted())
        async with Nursery() as tasks:
            tasks.start(self.feed.follow(), name="feed")
            await self._acquaint()
            for topic in schedule.topics:
                await self._create_first(topic)
            await self.converge()
            begin_us = self.clock.now_us()
            playing = [
                tasks.start(self._play(action, begin_us, schedule), name=f"action {action.id}")
                for action in schedule.actions
            ]
            for task in playing:
                await task
            if not self.cluster.has(BROKERS):  # nobody knows whether a program of others has done what it will do
                await self._until(begin_us + round(self.duration_s * 1e6))
            await self.converge()
            await self.settle()
            self.feed.poll()
            self._record_overload()
            await record_state(self.cluster, self.record)
            self.record(RunEnded())

    async def _play(self, action: Action, begin_us: int, schedule: Schedule) -> None:
        since = self.feed.position
        if action.at_us is not None:
            await self._until(begin_us + action.at_us)
        if isinstance(action.does, AdminAction):
            await self._play_admin(action, action.does)
        elif is_crash_point(action.when):
            await self._play_at_point(action, action.does, schedule)
        elif action.when is None or await self._happened(action.when, since, scaled(self.duration_s)):
            await self.clock.sleep_us(action.after_us)
            await self._play_fault(action, action.does, schedule)
        else:
            self._cannot(action, f"{action.when} did not happen in {self.duration_s:g} s")

    async def _until(self, at_us: int) -> None:
        await self.clock.sleep_us(max(0, at_us - self.clock.now_us()))

    def _cannot(self, action: Action, why: str) -> None:
        """A fault that has nothing to hit."""
        fields = {**_identity(action), "node": None, "session": None}
        self._asked(fields, action, [], None)
        self.record(FaultSkipped(**fields, why=why) if action.if_possible else FaultNotApplied(**fields, why=why))

    def _asked(
        self, fields: Mapping[str, Any], action: Action, members: Sequence[Injection], statuses: Sequence[int] | None
    ) -> None:
        self.record(asked(fields, members, self.feed, statuses=statuses, parameters=action.parameters))

    async def _play_admin(self, action: Action, asked: AdminAction) -> None:
        fields: dict[str, Any] = {"op": action.id, "action": asked.kind, "arguments": asked.parameters}
        self.record(AdminInvoke(**fields))
        try:
            await self._carry_out(asked)
        except UsageError as refused:  # nothing was written
            self.record(AdminFail(**fields, error=str(refused)))
        except KControllerError as failed:
            self.record(AdminInfo(**fields, error=str(failed)))
        else:
            self.record(AdminOk(**fields))

    async def _create_first(self, topic: TopicSpec) -> None:
        """One of the campaign's own. Raises EnvironmentFailure: without it there is nothing to play this seed on."""
        try:
            await self._carry_out(
                CreateTopic(topic=topic.name, partitions=topic.partitions, replication_factor=topic.replication_factor)
            )
        except UsageError as refused:
            strategy = refused.by if isinstance(refused, AssignmentError) else ""
            by = f" by the assignment strategy {strategy}" if strategy else ""
            what = f"the topic {topic.name!r} of the campaign was refused{by}: {refused}"
            hint = "name another strategy in the file, or with --assignment; if this one draws, another seed may do"
            raise EnvironmentFailure(what, hint=hint if strategy else "") from None

    async def _carry_out(self, asked: AdminAction) -> None:
        for event in await asked.carry_out(self.cluster):
            self.record(event)

    async def _play_fault(self, action: Action, fault: Fault, schedule: Schedule) -> None:
        try:
            members = await self._in_turn(action, fault, schedule)
        except KControllerError as failed:
            self._cannot(action, str(failed))
            return
        await self._strike(action, members, fault)

    async def _in_turn(self, action: Action, fault: Fault, schedule: Schedule) -> list[Injection]:
        """Who it hits. What need not happen waits until it can, but if it was to come at a moment, which would be over."""
        patience_s = scaled(TURN_S) if action.if_possible and action.when is None else 0.0
        last_us = self.clock.now_us() + round(patience_s * 1e6)
        while True:
            nodes = () if fault.on_zookeeper else await self._resolve(action, schedule)
            left_s = (last_us - self.clock.now_us()) / 1e6
            try:
                members = await self._members(action, fault, nodes)
                if not action.if_possible or (other := self._holder(fault, members)) is None:
                    return members
                why = _held(members[0], other)
            except KControllerError as failed:
                why, left_s = str(failed), min(left_s, BACK_POLL_S)
            if self.clock.now_us() >= last_us:
                raise EnvironmentFailure(f"{why} (it waited {patience_s:g} s)" if patience_s else why)
            with suppress(TimeoutError):
                async with within(left_s):
                    await self.claims.freed.wait()

    def _holder(self, fault: Fault, members: Sequence[Injection]) -> str | None:
        return self.claims.holder(self.claims.of(fault.claims, members, self.cluster.running))

    async def _members(self, action: Action, fault: Fault, nodes: Sequence[int]) -> list[Injection]:
        if not fault.on_zookeeper:
            return await self._injections(action, nodes)
        begin = partial(Injection.on_zookeeper, self.cluster, self.feed, self.clock)
        return [begin(fault=action.id, duration_s=_seconds(action.duration_us))]

    async def _play_at_point(self, action: Action, fault: Fault, schedule: Schedule) -> None:
        """Who it hits is decided when it begins to count; at the point itself the node stands still until the injection."""
        point, _, count = str(action.when).partition(":")
        limit_s = scaled(self.duration_s) if action.within_us is None else action.within_us / 1e6
        nodes: tuple[int, ...] = ()
        try:
            nodes = await self._resolve(action, schedule)
            async with within(limit_s):
                node = await self.cluster.capability(CRASH_POINTS).reach(nodes, point, int(count))
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
            await self.cluster.capability(CRASH_POINTS).thaw(node)
            self._cannot(action, str(failed))
            return
        await self._strike(action, members, fault, at_point=True)

    async def _strike(self, action: Action, members: list[Injection], fault: Fault, *, at_point: bool = False) -> None:
        on = members[0]
        if action.if_possible and (other := self._holder(fault, members)) is not None:
            if at_point:
                await self.cluster.capability(CRASH_POINTS).thaw(on.node)
            self._cannot(action, _held(on, other))
            return
        costs_session = fault.costs_session(self.cluster)
        if costs_session or action.still_us:  # who stands still does not ping
            self.excused += [member.session for member in members]
        fields = _identity(action) | whom(members)
        self._asked(fields, action, members, fault.statuses(self.cluster))
        mine = self.claims.take(self.claims.of(fault.claims, members, self.cluster.running), action.id)
        noop = not {action.kind, f"{action.kind}:{action.mode}"}.isdisjoint((self.noop or "").split(","))
        player = FaultPlayer(
            self.record,
            _wrapped(fault, members, still_us=action.still_us if at_point else None, noop=noop),
            on,
            fields,
            self._over(action),
            if_possible=action.if_possible,
            may_miss=fault.may_miss and not noop,
        )
        nodes = [] if fault.on_zookeeper else [member.node for member in members]
        known = self._granted(nodes)
        try:
            await player.play()
        finally:
            self.claims.give_back(mine)
            if costs_session:  # and those that were granted meanwhile
                self.excused += [session for session in self._granted(nodes) if session not in known]
            if fault.on_zookeeper:
                self.excused += self._granted(self.cluster.nodes)
                self.excused += self.cluster.capability(ZOOKEEPERS).harness_sessions

    def _granted(self, nodes: Sequence[int]) -> list[int]:
        """The sessions that ZooKeeper has granted them so far."""
        return [session.session_id for node in nodes for session in self.cluster.sessions(node)]

    def _over(self, action: Action) -> Callable[[], Awaitable[object]] | None:
        if (duration_us := action.duration_us) is not None:
            return lambda: self.clock.sleep_us(duration_us)
        if (until := action.until) is None:
            return None
        since = self.feed.position
        return lambda: self._happened(until, since, scaled(UNTIL_S))

    async def _happened(self, trigger: str, since: int, limit_s: float) -> bool:
        """Waits for it; False if it did not come in time, which is recorded."""
        try:
            async with within(limit_s):
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
                why = await nobody_is(self.cluster, str(action.target))
                raise EnvironmentFailure(f"for {limit_s:g} s no node was {action.target!r}{why}")
            await self.clock.sleep_us(POLL_US)
        return nodes

    async def _injections(self, action: Action, nodes: Sequence[int]) -> list[Injection]:
        """On all of them; `if_possible`, on those that can be hit now. Raises EnvironmentFailure if there is none."""
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
        duration_s = _seconds(action.duration_us)
        given = {"fault": action.id, "target": str(action.target)}
        found = await session_meant(self.cluster, str(action.target), node)
        begin = partial(Injection.begin, self.cluster, self.feed, self.clock)
        on = begin(node=node, duration_s=duration_s, session=found, **given)
        if action.if_possible and (found is None or not found.connected or apart(self.feed.events, node, on.session)):
            raise EnvironmentFailure(f"node {node} is not connected to ZooKeeper now, so it cannot lose it")
        return on

    def _record_overload(self) -> None:
        """Sessions that ZooKeeper gave up although no fault was on them, and whose process had not ended before either."""
        excused = [hex(session) for session in self.excused]
        nodes, first_end_us = nodes_of_sessions(in_order(self.feed.events)), dict[int | None, int]()
        for event in self.feed.events:
            if event["kind"] == ProcessExited.kind:
                first_end_us.setdefault(event["node"], event["t_us"])
        for event in self.feed.events:
            expired = event["kind"] == ZkTxn.kind and event["type"] == "close-session" and event["cxid"] == 0
            if not expired or event["session"] in excused:
                continue
            if event["t_us"] < first_end_us.get(nodes.get(event["session"]), event["t_us"] + 1):
                self.record(HostOverload(session=event["session"], zxid=event["zxid"]))

    async def _acquaint(self) -> None:
        """The campaign's topics are made once the controller knows all nodes: who leads them is then the same each time."""
        limit_s = scaled(CONVERGE_S)
        try:
            await self.cluster.wait_until_known(timeout_s=limit_s)
        except WaitTimeoutError:  # of one that cannot, the invariants judge what comes of it
            self.record(TriggerMissed(trigger="that a controller knows all nodes", waited_s=limit_s))

    async def converge(self) -> str | None:
        """Waits for it, within limits; gives the reason why not."""
        try:
            # Of a program's own time, what comes after the healing has waited for HEALING_S already.
            limit_s = max(CONVERGE_S, self.cluster.ready_s - HEALING_S)
            await self.cluster.wait_until_converged(timeout_s=scaled(limit_s))
        except KControllerError as not_converged:
            return str(not_converged)
        return None

    async def settle(self) -> None:
        """Until all that is awaited has come about, or its time is over."""
        if not self.awaited:
            return
        patience_s = max(CONVERGE_S, *(one.patience_s for one in self.awaited))
        last_us = self.clock.now_us() + round(scaled(patience_s) * 1e6)
        while self.clock.now_us() < last_us:
            self.feed.poll()
            history = in_order(self.feed.events)
            if not any(one.pending(history) for one in self.awaited):
                return
            await self.clock.sleep_us(SETTLE_US)


def apart(events: Sequence[Event], node: int, session: int) -> bool:
    """Whether the node's own client, if it reports, is not connected in this session: behind a cut the link does not
    know that it was given up, and a grant may still be on its way."""
    mine = (e for e in reversed(events) if e["kind"] == ZkState.kind and writer_is(e["writer"], node))
    return next(((event["state"], event["session"]) != ("connected", hex(session)) for event in mine), False)


def _held(on: Injection, other: str) -> str:
    whose = "something of ZooKeeper's" if on.node == NOBODY else f"node {on.node}"
    return f"{whose} is in the hands of {other}"


def _seconds(duration_us: int | None) -> float | None:
    return None if duration_us is None else duration_us / 1e6


def _identity(action: Action) -> dict[str, Any]:
    """What names a fault in each of its events."""
    return {"fault": action.id, "fault_kind": action.kind, "mode": action.mode, "target": action.target}


def _wrapped(fault: Fault, members: Sequence[Injection], *, still_us: int | None, noop: bool) -> Playable:
    """`still_us` None: not at a crash point."""
    played: Playable = fault if still_us is None else AtPoint(fault, still_us)
    played = played if len(members) == 1 else Group(played, members)
    return Noop(played) if noop else played
