"""The replica state machine, broker by broker (kafka.controller.ZkReplicaStateMachine, 3.9)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from pytest_kcontroller.controller.batch import Batch, Requests
from pytest_kcontroller.controller.context import Context, Replicas
from pytest_kcontroller.controller.decide.isr import recipients_of_removal, without
from pytest_kcontroller.controller.machines.refusals import Refusals
from pytest_kcontroller.controller.machines.states import StateZnodes
from pytest_kcontroller.controller.transitions import REPLICA_FROM, ReplicaState, ReplicaTransition, Why
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.runtime.seams import seam

Refused = dict[tuple[TopicPartition, int], Why]


class ReplicaMachine:
    """The replicas of one term."""

    def __init__(self, context: Context, states: StateZnodes, requests: Requests, refusals: Refusals) -> None:
        self._context, self._states, self._requests, self._refusals = context, states, requests, refusals
        self._actions: Mapping[
            ReplicaState, Callable[[int, Sequence[TopicPartition], Batch], Awaitable[dict[TopicPartition, Why]]]
        ] = {
            ReplicaState.NEW: self._new,
            ReplicaState.ONLINE: self._online,
            ReplicaState.OFFLINE: self._offline,
        }

    async def start(self) -> None:
        """At failover: those on live brokers are sent their state; those on dead ones leave the ISR (KAFKA-3143)."""
        online: dict[int, list[TopicPartition]] = {}
        offline: dict[int, list[TopicPartition]] = {}
        for broker, tps in self._context.replicas_on(self._context.hosts()).items():
            live = self._context.live(broker)
            (online if live else offline)[broker] = tps
            state = ReplicaState.ONLINE if live else ReplicaState.DELETION_INELIGIBLE
            self._context.set_replica_state(broker, tps, state)
        await self.transition(online, ReplicaTransition(target=ReplicaState.ONLINE, cause="Failover"))
        await offline_at_start(self, offline)

    async def transition(self, replicas: Replicas, to: ReplicaTransition) -> Refused:
        """Those that could not follow, and why; all others are where they should be. Raises FencedError."""
        refused: Refused = {}
        batch = self._requests.batch()
        for broker, tps in replicas.items():
            legal = self._legal(broker, tps, to.target)
            if len(legal) < len(tps):
                refused |= dict.fromkeys(((tp, broker) for tp in _left_out(tps, legal)), Why.ILLEGAL)
            failed = await self._actions[to.target](broker, legal, batch)
            refused |= {(tp, broker): why for tp, why in failed.items()}
        self._requests.send(batch)
        self._refusals.report("replica", to.target, to.cause, refused)
        return refused

    def _legal(self, broker: int, tps: Sequence[TopicPartition], target: ReplicaState) -> Sequence[TopicPartition]:
        states, origins = self._context.replica_states(broker), REPLICA_FROM[target]
        return [tp for tp in tps if states.get(tp, ReplicaState.NON_EXISTENT) in origins]

    async def _new(self, broker: int, tps: Sequence[TopicPartition], batch: Batch) -> dict[TopicPartition, Why]:
        """Its first LeaderAndIsr comes with the partition's first leader."""
        self._context.set_replica_state(broker, tps, ReplicaState.NEW)
        return {}

    async def _online(self, broker: int, tps: Sequence[TopicPartition], batch: Batch) -> dict[TopicPartition, Why]:
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
        """It stops and leaves the ISR; the last member stays in it, without a leader (KAFKA-5083)."""
        context, leadership = self._context, self._context.leadership
        batch.stop_replicas(broker, tps, delete=False)
        context.set_replica_state(broker, tps, ReplicaState.OFFLINE)
        known = [tp for tp in tps if tp in leadership]
        if len(known) < len(tps):
            batch.update_metadata(context.registered_ids(), (tp for tp in tps if tp not in leadership))
        rewrite = self._states.rewrite(known)
        while states := rewrite.states():
            await rewrite.write(without(states, broker, context.epoch))
        for tp in known:
            if tp not in rewrite.changed.refused:
                state = leadership[tp]
                batch.leader_and_isr(
                    recipients_of_removal(context.assignments[tp].replicas, broker, state), tp, state, is_new=False
                )
        return rewrite.changed.refused


def _left_out(tps: Sequence[TopicPartition], chosen: Sequence[TopicPartition]) -> list[TopicPartition]:
    kept = frozenset(chosen)
    return [tp for tp in tps if tp not in kept]


@seam("controller.offline-at-start")
async def offline_at_start(machine: ReplicaMachine, replicas: Replicas) -> None:
    """Who died while nobody was the controller leaves the ISR now, or never (KAFKA-3143)."""
    await machine.transition(replicas, ReplicaTransition(target=ReplicaState.OFFLINE, cause="Failover"))
