"""The partition state machine (kafka.controller.ZkPartitionStateMachine, 3.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_kcontroller.controller.batch import Batch, Requests
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.leader import Elections, first_leader
from pytest_kcontroller.controller.machines.refusals import Refusals
from pytest_kcontroller.controller.machines.states import Refused, States, StateZnodes
from pytest_kcontroller.controller.transitions import PARTITION_FROM, PartitionState, PartitionTransition, Why
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.model.history import LeaderElected, Record

FIRST_LEADER = "new"
"""The reason in the history of a partition's first leader, for which no selector is asked."""


class PartitionMachine:
    """The partitions of one term."""

    def __init__(
        self,
        context: Context,
        states: StateZnodes,
        elections: Elections,
        requests: Requests,
        refusals: Refusals,
        record: Record,
    ) -> None:
        self._context, self._states, self._elections = context, states, elections
        self._requests, self._refusals, self._record = requests, refusals, record

    async def start(self) -> None:
        """At failover: each has the state that its leadership says; those without a live leader are tried."""
        context, leadership = self._context, self._context.leadership
        by_state: dict[PartitionState, list[TopicPartition]] = {}
        for tp in context.partitions():
            if (known := leadership.get(tp)) is None:
                state = PartitionState.NEW
            else:
                state = PartitionState.ONLINE if context.live(known.leader) else PartitionState.OFFLINE
            by_state.setdefault(state, []).append(tp)
        for state, tps in by_state.items():
            context.set_partition_state(tps, state)
        await self.trigger_online("Failover")

    async def trigger_online(self, cause: str) -> None:
        """Every new or offline partition is tried (triggerOnlinePartitionStateChange)."""
        waiting = self._context.partitions_in(PartitionState.NEW, PartitionState.OFFLINE)
        await self.transition(waiting, PartitionTransition(target=PartitionState.ONLINE, cause=cause))

    async def transition(self, tps: Iterable[TopicPartition], to: PartitionTransition) -> Refused:
        """Those that could not follow, and why; all others are where they should be. Raises FencedError."""
        legal, refused = self._legal(tps, to.target)
        if to.target is PartitionState.ONLINE:
            refused |= await self._online(legal, to.election)
        else:  # what is in ZooKeeper changes with the replicas
            self._context.set_partition_state(legal, to.target)
        self._refusals.report("partition", to.target, to.cause, refused)
        return refused

    def _legal(self, tps: Iterable[TopicPartition], target: PartitionState) -> tuple[list[TopicPartition], Refused]:
        legal: list[TopicPartition] = []
        refused: Refused = {}
        origins, states = PARTITION_FROM[target], self._context.partition_states
        for tp in tps:
            if states.get(tp, PartitionState.NON_EXISTENT) in origins:
                legal.append(tp)
            else:
                refused[tp] = Why.ILLEGAL
        return legal, refused

    async def _online(self, tps: Sequence[TopicPartition], reason: ElectionReason) -> Refused:
        new: list[TopicPartition] = []
        old: list[TopicPartition] = []
        states = self._context.partition_states
        for tp in tps:
            (new if states[tp] is PartitionState.NEW else old).append(tp)
        batch = self._requests.batch()
        refused: Refused = {}
        if new:
            refused |= await self._initialise(new, batch)
        if old:
            refused |= await self._elect(old, reason, batch)
        self._requests.send(batch)
        return refused

    async def _initialise(self, tps: Sequence[TopicPartition], batch: Batch) -> Refused:
        """New partitions: no selector is asked. One whose state is there already stays New, as in Kafka."""
        first = {tp: first_leader(self._context, self._context.assignments[tp]) for tp in tps}
        changed = await self._states.create({tp: state for tp, state in first.items() if state is not None})
        self._led(changed.written, FIRST_LEADER)
        for tp, state in changed.written.items():
            batch.leader_and_isr(state.isr, tp, state, is_new=True)
        return dict.fromkeys((tp for tp in tps if first[tp] is None), Why.NO_LEADER) | changed.refused

    async def _elect(self, tps: Sequence[TopicPartition], reason: ElectionReason, batch: Batch) -> Refused:
        """Asks the selectors and writes what they chose; whoever was stale is asked for again."""
        recipients: dict[TopicPartition, tuple[int, ...]] = {}
        nobody: Refused = {}
        rewrite = self._states.rewrite(tps)
        while states := rewrite.states():
            elected: States = {}
            for tp, election in self._elections.elect(self._context, states, reason):
                if election is None:
                    nobody[tp] = Why.NO_LEADER
                else:
                    elected[tp], recipients[tp] = election.state, election.recipients
            await rewrite.write(elected)
        changed = rewrite.changed
        self._led(changed.written, reason.value)
        for tp, state in changed.written.items():
            batch.leader_and_isr(recipients[tp], tp, state, is_new=False)
        return nobody | changed.refused

    def _led(self, states: States, reason: str) -> None:
        self._context.set_partition_state(states, PartitionState.ONLINE)
        if states:
            self._record(LeaderElected.of_states(states, epoch=self._context.epoch, reason=reason))
