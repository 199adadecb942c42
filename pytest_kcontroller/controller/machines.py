"""Transitions of partitions and replicas: decided without I/O, written in one fenced batch, then told to the brokers.

Sources: kafka.controller.ZkPartitionStateMachine and ZkReplicaStateMachine (3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_kcontroller.controller.batch import Batch
from pytest_kcontroller.controller.context import Context, Replica
from pytest_kcontroller.controller.elections import Elections
from pytest_kcontroller.controller.fences import fence_of_states
from pytest_kcontroller.controller.states import PartitionState, ReplicaState
from pytest_kcontroller.model.cluster import (
    INITIAL_LEADER_EPOCH,
    NO_LEADER,
    LeaderAndIsr,
    TopicPartition,
)
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE, Holds
from pytest_kcontroller.runtime.seams import seam
from pytest_kcontroller.zookeeper.session import Create, SetData
from pytest_kcontroller.zookeeper.store import FencedError, Stale, Store, WriteResult, Written
from pytest_kcontroller.zookeeper.znodes import (
    CorruptZnodeError,
    decode_state,
    encode_state,
    state_parents,
    state_path,
)

PATHS_RECORDED = 10

States = dict[TopicPartition, LeaderAndIsr]


class Machines:
    """Both machines of one reign."""

    def __init__(
        self,
        node: int,
        context: Context,
        store: Store,
        elections: Elections,
        holds: Holds,
        record: Callable[..., None],
        send: Callable[[int, Any], None],
    ) -> None:
        self._node, self.context, self._store = node, context, store
        self._elections, self._holds, self._record, self._send = elections, holds, record, send

    # --- start-up (failover)

    async def start_replicas(self) -> None:
        """Online ones are told their state; dead ones leave the ISR (since 2.3, KAFKA-3143)."""
        online: list[Replica] = []
        offline: list[Replica] = []
        for tp, broker in list(self.context.replicas()):
            live = self.context.live(broker)
            (online if live else offline).append((tp, broker))
            state = ReplicaState.ONLINE if live else ReplicaState.DELETION_INELIGIBLE
            self.context.replica_states[tp, broker] = state
        self.online_replicas(online)
        await offline_at_start(self, offline)

    async def start_partitions(self) -> None:
        for tp in sorted(self.context.assignments):
            self.context.partition_states[tp] = self._initial(tp)
        await self.trigger_online()

    def _initial(self, tp: TopicPartition) -> PartitionState:
        state = self.context.leadership.get(tp)
        if state is None:
            return PartitionState.NEW
        return PartitionState.ONLINE if self.context.live(state.leader) else PartitionState.OFFLINE

    # --- partitions

    async def create(self, tps: Iterable[TopicPartition]) -> None:
        """onNewPartitionCreation: New, replicas New, Online, replicas Online."""
        new = self.context.may_become(tps, PartitionState.NEW)
        self.context.partition_states.update(dict.fromkeys(new, PartitionState.NEW))
        replicas = [(tp, broker) for tp in new for broker in self.context.assignments[tp].replicas]
        for replica in self.context.replicas_may_become(replicas, ReplicaState.NEW):
            self.context.replica_states[replica] = ReplicaState.NEW
        await self.online(new)
        self.online_replicas(replicas)

    def offline(self, tps: Iterable[TopicPartition]) -> None:
        """State only: what is in ZooKeeper changes with the replicas."""
        for tp in self.context.may_become(tps, PartitionState.OFFLINE):
            self.context.partition_states[tp] = PartitionState.OFFLINE

    async def trigger_online(self) -> None:
        """Every new or offline partition is tried."""
        await self.online(self.context.partitions_in(PartitionState.NEW, PartitionState.OFFLINE))

    async def online(
        self, tps: Iterable[TopicPartition], reason: ElectionReason = ElectionReason.OFFLINE
    ) -> tuple[TopicPartition, ...]:
        """Those that have a leader now."""
        legal = self.context.may_become(tps, PartitionState.ONLINE)
        new = [tp for tp in legal if self.context.state_of(tp) == PartitionState.NEW]
        old = [tp for tp in legal if self.context.state_of(tp) != PartitionState.NEW]
        batch = Batch(self._node, self.context)
        done = await self._initialise(new, batch) if new else []
        done += await self._elect(old, reason, batch) if old else []
        self._flush(batch)
        return tuple(done)

    async def _initialise(self, tps: Sequence[TopicPartition], batch: Batch) -> list[TopicPartition]:
        """New partitions: the first live replica leads, all live ones are in sync; no selector is asked."""
        states: States = {}
        for tp in tps:
            live = tuple(r for r in self.context.assignments[tp].replicas if self.context.live(r))
            if live:
                states[tp] = LeaderAndIsr(
                    leader=live[0], leader_epoch=INITIAL_LEADER_EPOCH, isr=live, controller_epoch=self.context.epoch
                )
        if not states:
            return []
        await self._holds.reach(BEFORE_STATE_WRITE)
        for depth in (0, 1):  # they may be there already
            parents = dict.fromkeys(state_parents(tp)[depth] for tp in states)
            await self._write([Create(path) for path in parents])
        results = await self._write([Create(state_path(tp), encode_state(state)) for tp, state in states.items()])
        done = []
        for (tp, state), result in zip(states.items(), results, strict=True):
            if isinstance(result, Written):  # else somebody has made it: stays New, as in Kafka
                self._led(tp, replace(state, partition_epoch=result.version), "new")
                batch.leader_and_isr(state.isr, tp, self.context.leadership[tp], is_new=True)
                done.append(tp)
        return done

    async def _elect(self, tps: Sequence[TopicPartition], reason: ElectionReason, batch: Batch) -> list[TopicPartition]:
        """Reads the state, asks the selector, writes; whoever was stale is read and asked again."""
        done: list[TopicPartition] = []
        while tps:
            states = await self._read(tps)
            choices = self._elections.choose(self.context, list(states.items()), reason)
            decided: States = {}
            recipients: dict[TopicPartition, tuple[int, ...]] = {}
            for (tp, state), choice in zip(states.items(), choices, strict=True):
                if choice is None:
                    continue
                decided[tp] = replace(
                    state,
                    leader=choice.leader,
                    isr=choice.isr,
                    leader_epoch=state.leader_epoch + 1,
                    controller_epoch=self.context.epoch,
                    recovering=state.recovering or choice.leader not in state.isr,
                )
                replicas = self.context.assignments[tp].replicas
                told = choice.recipients or tuple(r for r in replicas if r in self.context.brokers)
                recipients[tp] = told
            written, tps = await self._set(decided)
            for tp, state in written.items():
                self._led(tp, state, reason.value)
                batch.leader_and_isr(recipients[tp], tp, state, is_new=False)
                done.append(tp)
        return done

    def _led(self, tp: TopicPartition, state: LeaderAndIsr, reason: str) -> None:
        self.context.leadership[tp] = state
        self.context.partition_states[tp] = PartitionState.ONLINE
        self._record(
            "leader.elected",
            topic=tp.topic,
            partition=tp.partition,
            leader=state.leader,
            isr=list(state.isr),
            leader_epoch=state.leader_epoch,
            epoch=state.controller_epoch,
            reason=reason,
        )

    # --- replicas

    def online_replicas(self, replicas: Iterable[Replica]) -> None:
        """A New replica has been told already; any other is told its state, if there is leadership."""
        batch = Batch(self._node, self.context)
        for tp, broker in self.context.replicas_may_become(replicas, ReplicaState.ONLINE):
            was_new = self.context.replica_states.get((tp, broker)) == ReplicaState.NEW
            self.context.replica_states[tp, broker] = ReplicaState.ONLINE
            if not was_new and (state := self.context.leadership.get(tp)) is not None:
                batch.leader_and_isr([broker], tp, state, is_new=False)
        self._flush(batch)

    async def offline_replicas(self, replicas: Iterable[Replica]) -> None:
        """They are told to stop and leave the ISR; the last member stays in it, without a leader (KAFKA-5083)."""
        legal = self.context.replicas_may_become(replicas, ReplicaState.OFFLINE)
        batch = Batch(self._node, self.context)
        for broker in sorted({broker for _, broker in legal}):
            await self._offline_on(broker, [tp for tp, b in legal if b == broker], batch)
        self._flush(batch)

    async def _offline_on(self, broker: int, tps: Sequence[TopicPartition], batch: Batch) -> None:
        for tp in tps:
            batch.stop_replica([broker], tp, delete=False)
        pending: Sequence[TopicPartition] = [tp for tp in tps if tp in self.context.leadership]
        for tp in tps:
            self.context.replica_states[tp, broker] = ReplicaState.OFFLINE
            if tp not in self.context.leadership:
                batch.metadata(self.context.registered_ids(), [tp])
        while pending:
            states = await self._read(pending)
            removed = {tp: _without(state, broker, self.context.epoch) for tp, state in states.items()}
            written, pending = await self._set({tp: new for tp, new in removed.items() if new is not None})
            for tp in states:
                if tp in pending:
                    continue
                state = self.context.leadership[tp] = written.get(tp, states[tp])
                told = told_of_removal(self.context.assignments[tp].replicas, broker, state)
                batch.leader_and_isr(told, tp, state, is_new=False)

    async def relieve(self, broker: int) -> tuple[tuple[TopicPartition, ...], tuple[TopicPartition, ...]]:
        """A controlled shutdown: (what was to be done, what `broker` still leads), of the partitions with other replicas.

        Others lead what it led, in one batch; it stops following the rest, and leaves the ISR.
        """
        leadership, assignments = self.context.leadership, self.context.assignments
        mine = [
            tp for tp, _ in self.context.replicas_on(broker) if len(assignments[tp].replicas) > 1 and tp in leadership
        ]
        followed = [tp for tp in mine if leadership[tp].leader != broker]
        await self.online([tp for tp in mine if tp not in followed], ElectionReason.CONTROLLED_SHUTDOWN)
        batch = Batch(self._node, self.context)
        for tp in followed:
            batch.stop_replica([broker], tp, delete=False)
        self._flush(batch)
        await self.offline_replicas([(tp, broker) for tp in followed])
        return tuple(mine), tuple(tp for tp in mine if leadership[tp].leader == broker)

    # --- ZooKeeper

    async def refresh(self, tps: Sequence[TopicPartition]) -> None:
        """Takes over what ZooKeeper has: somebody else may have written it."""
        self.context.leadership.update(await self._read(tps))

    async def alter_isr(self, wanted: Mapping[TopicPartition, LeaderAndIsr]) -> States:
        """Leaders' own changes of the ISR; what could be written. The others are read anew."""
        written, stale = await self._set(dict(wanted))
        self.context.leadership.update(written)
        if written:  # else it would be told for nothing, and whoever was refused would ask again at once
            self._tell_metadata(written)
        await self.refresh(stale)
        return written

    def _tell_metadata(self, tps: Iterable[TopicPartition]) -> None:
        batch = Batch(self._node, self.context)
        batch.metadata(self.context.registered_ids(), tps)
        self._flush(batch)

    def tell_brokers(self, brokers: Iterable[int], tps: Iterable[TopicPartition] = ()) -> None:
        """UpdateMetadata; without partitions it says only who is live."""
        batch = Batch(self._node, self.context)
        batch.metadata(brokers, tps)
        self._flush(batch)

    async def _read(self, tps: Sequence[TopicPartition]) -> States:
        """The states that are there and that this reign may change; one of a newer controller is left alone."""
        states: States = {}
        for tp, node in zip(tps, await self._store.get_many([state_path(tp) for tp in tps]), strict=True):
            if node is None:
                continue
            try:
                state = decode_state(tp, node.data, node.stat.version)
            except CorruptZnodeError as bad:
                self._record("controller.event-failed", event="read state", error=str(bad))
                continue
            if state.controller_epoch <= self.context.epoch:
                states[tp] = state
        return states

    async def _set(self, states: States) -> tuple[States, tuple[TopicPartition, ...]]:
        """Compare and set by partition epoch: (written, stale)."""
        if not states:
            return {}, ()
        await self._holds.reach(BEFORE_STATE_WRITE)
        ops = [SetData(state_path(tp), encode_state(state), state.partition_epoch) for tp, state in states.items()]
        written: States = {}
        stale = []
        for (tp, state), result in zip(states.items(), await self._write(ops), strict=True):
            if isinstance(result, Written):
                written[tp] = replace(state, partition_epoch=result.version)
            elif isinstance(result, Stale) and result.now is not None:
                stale.append(tp)
        return written, tuple(stale)

    async def _write(self, ops: Sequence[Create | SetData]) -> list[WriteResult]:
        """Fenced. Raises FencedError, and records what was refused."""
        try:
            return await self._store.write_each(ops, fence=await fence_of_states(self.context, self._store))
        except FencedError:
            paths = [op.path for op in ops[:PATHS_RECORDED]]
            self._record("controller.fenced", epoch=self.context.epoch, paths=paths, count=len(ops))
            raise

    def _flush(self, batch: Batch) -> None:
        for broker, request in batch.build():
            self._send(broker, request)


def _without(state: LeaderAndIsr, broker: int, epoch: int) -> LeaderAndIsr | None:
    """The state when `broker` is gone; None: nothing changes, and then no epoch either."""
    if broker not in state.isr:
        return None
    isr = isr_without(state.isr, broker)
    leader = NO_LEADER if state.leader == broker else state.leader
    return replace(state, leader=leader, isr=isr, leader_epoch=state.leader_epoch + 1, controller_epoch=epoch)


@seam("controller.isr-without")
def isr_without(isr: tuple[int, ...], broker: int) -> tuple[int, ...]:
    """The last member stays: nobody else could ever lead cleanly (KAFKA-5083)."""
    return isr if len(isr) == 1 else tuple(r for r in isr if r != broker)


@seam("controller.told-of-removal")
def told_of_removal(replicas: tuple[int, ...], broker: int, state: LeaderAndIsr) -> list[int]:
    """Who hears that `broker` is not in sync any more, and of the new leader epoch: all the others (KAFKA-1188)."""
    return [r for r in replicas if r != broker]


@seam("controller.offline-at-start")
async def offline_at_start(machines: Machines, replicas: list[Replica]) -> None:
    """Who died while nobody was the controller leaves the ISR now, or never (KAFKA-3143)."""
    await machines.offline_replicas(replicas)
