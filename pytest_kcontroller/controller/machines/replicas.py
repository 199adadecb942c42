"""The replica state machine, broker by broker (kafka.controller.ZkReplicaStateMachine, 3.9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pytest_kcontroller.controller.batch import Batch, Requests
from pytest_kcontroller.controller.context import Context, Replicas
from pytest_kcontroller.controller.decide.broker_order import in_order
from pytest_kcontroller.controller.decide.isr import recipients_of_removal, without
from pytest_kcontroller.controller.machines.refusals import Refusals
from pytest_kcontroller.controller.machines.states import StateZnodes
from pytest_kcontroller.controller.transitions import REPLICA_FROM, ReplicaState, ReplicaTransition, Why
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.turns import Pieces
from pytest_kcontroller.seams import seam

Refused = dict[tuple[TopicPartition, int], Why]
_GONE = (Why.VANISHED, Why.NO_STATE)
"""There is no state to leave the ISR of."""


class ReplicaMachine:
    """The replicas of one term."""

    def __init__(self, context: Context, states: StateZnodes, requests: Requests, refusals: Refusals) -> None:
        self._context, self._states, self._requests, self._refusals = context, states, requests, refusals
        self._actions: Mapping[
            ReplicaState, Callable[[int, Sequence[TopicPartition], Batch], Mapping[TopicPartition, Why]]
        ] = {
            ReplicaState.NEW: self._new,
            ReplicaState.ONLINE: self._online,
            ReplicaState.DELETION_STARTED: self._start_deletion,
            ReplicaState.DELETION_SUCCESSFUL: partial(self._only, ReplicaState.DELETION_SUCCESSFUL),
            ReplicaState.DELETION_INELIGIBLE: partial(self._only, ReplicaState.DELETION_INELIGIBLE),
            ReplicaState.NON_EXISTENT: self._end,
        }

    async def start(self) -> None:
        """At failover: those on live brokers are sent their state; those on dead ones leave the ISR (KAFKA-3143)."""
        online: dict[int, list[TopicPartition]] = {}
        offline: dict[int, list[TopicPartition]] = {}
        for broker in self._context.hosts():
            live, tps = self._context.live(broker), self._context.hosted_by(broker)
            (online if live else offline)[broker] = tps
            state = ReplicaState.ONLINE if live else ReplicaState.DELETION_INELIGIBLE
            async for piece in Pieces(tps):
                self._context.set_replica_state(broker, piece, state)
        await self.transition(online, ReplicaTransition(target=ReplicaState.ONLINE, cause="Failover"))
        await offline_at_start(self, offline)

    async def transition(self, replicas: Replicas, to: ReplicaTransition) -> Refused:
        """Those that could not follow, and why; all others are where they should be. Raises FencedError."""
        refused: Refused = {}
        batch = self._requests.batch()
        for broker in in_order(replicas):
            tps = replicas[broker]
            legal = await self._legal(broker, tps, to.target)
            if len(legal) < len(tps):
                refused |= dict.fromkeys(((tp, broker) for tp in _left_out(tps, legal)), Why.ILLEGAL)
            failed = await self._act(broker, legal, to.target, batch)
            refused |= {(tp, broker): why for tp, why in failed.items()}
        await self._requests.send(batch)
        self._refusals.report("replica", to.target, to.cause, refused)
        return refused

    async def _legal(
        self, broker: int, tps: Sequence[TopicPartition], target: ReplicaState
    ) -> Sequence[TopicPartition]:
        states, origins = self._context.replica_states(broker), REPLICA_FROM[target]
        return [
            tp async for piece in Pieces(tps) for tp in piece if states.get(tp, ReplicaState.NON_EXISTENT) in origins
        ]

    async def _act(
        self, broker: int, tps: Sequence[TopicPartition], target: ReplicaState, batch: Batch
    ) -> Mapping[TopicPartition, Why]:
        if target is ReplicaState.OFFLINE:  # the only one for which something is written
            return await self._offline(broker, tps, batch)
        refused: dict[TopicPartition, Why] = {}
        async for piece in Pieces(tps):
            refused |= self._actions[target](broker, piece, batch)
        return refused

    def _new(self, broker: int, tps: Sequence[TopicPartition], batch: Batch) -> dict[TopicPartition, Why]:
        """It is told whom to follow; of a new partition its first LeaderAndIsr comes with the first leader."""
        leadership = self._context.leadership
        leads = dict.fromkeys((tp for tp in tps if tp in leadership and leadership[tp].leader == broker), Why.LEADS)
        followed = [tp for tp in tps if tp not in leads]
        for tp in followed:
            if (state := leadership.get(tp)) is not None:
                batch.leader_and_isr((broker,), tp, state, is_new=True)
        self._context.set_replica_state(broker, followed, ReplicaState.NEW)
        return leads

    def _online(self, broker: int, tps: Sequence[TopicPartition], batch: Batch) -> dict[TopicPartition, Why]:
        """A New replica has had its LeaderAndIsr already; any other is sent its state, if there is one."""
        leadership, states = self._context.leadership, self._context.replica_states(broker)
        batch.leader_and_isr_of(
            broker,
            {
                tp: state
                for tp in tps
                if states.get(tp) is not ReplicaState.NEW and (state := leadership.get(tp)) is not None
            },
        )
        self._context.set_replica_state(broker, tps, ReplicaState.ONLINE)
        return {}

    async def _offline(self, broker: int, tps: Sequence[TopicPartition], batch: Batch) -> dict[TopicPartition, Why]:
        """It stops and leaves the ISR; the last member stays in it, without a leader (KAFKA-5083).

        The state of a topic that is to be deleted may be gone already, and nobody is told of it.
        """
        context, leadership = self._context, self._context.leadership
        known: list[TopicPartition] = []
        async for piece in Pieces(tps):
            batch.stop_replicas(broker, piece, delete=False)
            if unknown := [tp for tp in piece if tp not in leadership]:
                batch.update_metadata(context.registered_ids(), unknown)
            known += [tp for tp in piece if tp in leadership]
        rewrite = self._states.rewrite(known)
        while states := await rewrite.states():
            left: dict[TopicPartition, LeaderAndIsr] = {}
            async for held in Pieces(states.items()):
                left |= without(context, dict(held), broker)
            await rewrite.write(left)
        failed = rewrite.changed.refused
        async for piece in Pieces(known):
            self._tell_of_removal(broker, [tp for tp in piece if tp not in failed], batch)
        refused = {tp: why for tp, why in failed.items() if why not in _GONE or not context.to_be_deleted(tp)}
        async for piece in Pieces(tps):
            context.set_replica_state(broker, [tp for tp in piece if tp not in refused], ReplicaState.OFFLINE)
        return refused

    def _tell_of_removal(self, broker: int, done: list[TopicPartition], batch: Batch) -> None:
        """Whoever needed no write is sent out under our epoch from now on too (doRemoveReplicasFromIsr)."""
        context, leadership = self._context, self._context.leadership
        context.set_leadership({tp: leadership[tp].by(context.epoch) for tp in done})
        for tp in context.not_deleted(done):
            state = leadership[tp]
            batch.leader_and_isr(
                recipients_of_removal(context.assignments[tp].replicas, broker, state), tp, state, is_new=False
            )

    def _start_deletion(self, broker: int, tps: Sequence[TopicPartition], batch: Batch) -> dict[TopicPartition, Why]:
        batch.stop_replicas(broker, tps, delete=True)
        self._context.set_replica_state(broker, tps, ReplicaState.DELETION_STARTED)
        return {}

    def _only(
        self, state: ReplicaState, broker: int, tps: Sequence[TopicPartition], batch: Batch
    ) -> dict[TopicPartition, Why]:
        """Nobody is told."""
        self._context.set_replica_state(broker, tps, state)
        return {}

    def _end(self, broker: int, tps: Sequence[TopicPartition], batch: Batch) -> dict[TopicPartition, Why]:
        """It is no replica any more."""
        for tp in tps:
            self._context.reassign(tp, self._context.assignments[tp].without(broker))
        self._context.set_replica_state(broker, tps, ReplicaState.NON_EXISTENT)
        return {}


def _left_out(tps: Sequence[TopicPartition], chosen: Sequence[TopicPartition]) -> list[TopicPartition]:
    kept = frozenset(chosen)
    return [tp for tp in tps if tp not in kept]


@seam("controller.offline-at-start")
async def offline_at_start(machine: ReplicaMachine, replicas: Replicas) -> None:
    """Who died while nobody was the controller leaves the ISR now, or never (KAFKA-3143)."""
    await machine.transition(replicas, ReplicaTransition(target=ReplicaState.OFFLINE, cause="Failover"))
