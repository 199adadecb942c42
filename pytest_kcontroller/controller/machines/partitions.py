"""The partition state machine (kafka.controller.ZkPartitionStateMachine, 3.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_kcontroller.controller.batch import Batch, Requests
from pytest_kcontroller.controller.configs import Configs
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.leader import Elections, first_leader
from pytest_kcontroller.controller.machines.refusals import Refusals
from pytest_kcontroller.controller.machines.states import Refused, States, StateZnodes
from pytest_kcontroller.controller.transitions import PARTITION_FROM, PartitionState, PartitionTransition, Why
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.model.history import LeaderElected, Record
from pytest_kcontroller.model.turns import Pieces

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
        configs: Configs,
        refusals: Refusals,
        record: Record,
    ) -> None:
        self._context, self._states, self._elections, self._configs = context, states, elections, configs
        self._requests, self._refusals, self._record = requests, refusals, record

    async def start(self) -> None:
        """At failover: each has the state that its leadership says; those without a live leader are tried."""
        context, leadership = self._context, self._context.leadership
        async for piece in Pieces(context.partitions()):
            by_state: dict[PartitionState, list[TopicPartition]] = {}
            for tp in piece:
                if (known := leadership.get(tp)) is None:
                    state = PartitionState.NEW
                else:
                    state = PartitionState.ONLINE if context.live(known.leader) else PartitionState.OFFLINE
                by_state.setdefault(state, []).append(tp)
            for state, tps in by_state.items():
                context.set_partition_state(tps, state)
        await self.trigger_online("Failover")

    async def trigger_online(self, cause: str, topic: str | None = None) -> bool:
        """Every new or offline partition (of `topic`) is tried; whether one of them got a leader.

        Source: triggerOnlinePartitionStateChange, triggerOnlineStateChangeForPartitions.
        """
        context = self._context
        waiting = context.not_deleted(context.partitions_in(PartitionState.NEW, PartitionState.OFFLINE))
        if topic is not None:
            waiting = [tp for tp in waiting if tp.topic == topic]
        online = PartitionTransition(target=PartitionState.ONLINE, cause=cause, election=ElectionReason.OFFLINE)
        refused = await self.transition(waiting, online)
        return len(refused) < len(waiting)

    async def transition(self, tps: Iterable[TopicPartition], to: PartitionTransition) -> Refused:
        """Those that could not follow, and why; all others are where they should be. Raises FencedError."""
        legal, refused = await self._legal(tps, to.target)
        if to.target is PartitionState.ONLINE:
            refused |= await self._online(legal, to)
        else:  # what is in ZooKeeper changes with the replicas
            async for piece in Pieces(legal):
                self._context.set_partition_state(piece, to.target)
        self._refusals.report("partition", to.target, to.cause, refused)
        return refused

    async def _legal(
        self, tps: Iterable[TopicPartition], target: PartitionState
    ) -> tuple[list[TopicPartition], Refused]:
        legal: list[TopicPartition] = []
        refused: Refused = {}
        origins, states = PARTITION_FROM[target], self._context.partition_states
        async for piece in Pieces(tps):
            for tp in piece:
                if states.get(tp, PartitionState.NON_EXISTENT) in origins:
                    legal.append(tp)
                else:
                    refused[tp] = Why.ILLEGAL
        return legal, refused

    async def _online(self, tps: Sequence[TopicPartition], to: PartitionTransition) -> Refused:
        new: list[TopicPartition] = []
        old: list[TopicPartition] = []
        states = self._context.partition_states
        async for piece in Pieces(tps):
            for tp in piece:
                (new if states[tp] is PartitionState.NEW else old).append(tp)
        batch = self._requests.batch()
        refused: Refused = {}
        if new:
            refused |= await self._initialise(new, batch)
        if old:
            refused |= await self._elect(old, to, batch)
        await self._requests.send(batch)
        return refused

    async def _initialise(self, tps: Sequence[TopicPartition], batch: Batch) -> Refused:
        """New partitions: no selector is asked. One whose state is there already stays New, as in Kafka."""
        first: States = {}
        nobody: Refused = {}
        async for piece in Pieces(tps):
            for tp in piece:
                if (state := first_leader(self._context, tp)) is None:
                    nobody[tp] = Why.NO_LEADER
                else:
                    first[tp] = state
        changed = await self._states.create(first)
        async for written in Pieces(changed.written.items()):
            self._led(dict(written), FIRST_LEADER)
            for tp, state in written:
                batch.leader_and_isr(state.isr, tp, state, is_new=True)
        return nobody | changed.refused

    async def _elect(self, tps: Sequence[TopicPartition], to: PartitionTransition, batch: Batch) -> Refused:
        """Asks the selectors and writes what they chose; whoever was stale is asked for again.

        So is who has no leader, if the state was changed unseen: a leader before Kafka 2.7 widens the ISR itself, and may
        die before it says so. Kafka reads all states before an election (doElectLeaderForPartitions).
        """
        assert to.election is not None
        recipients: dict[TopicPartition, tuple[int, ...]] = {}
        nobody: Refused = {}
        rewrite = self._states.rewrite(tps)
        while states := await rewrite.states():
            unclean, unreadable = await self._unclean(states, to)
            elected: States = {}
            leaderless: States = {tp: states[tp] for tp in unreadable}
            counts = self._context.leader_counts()
            async for piece in Pieces(states.items()):
                for tp, election in self._elections.elect(self._context, dict(piece), to.election, unclean, counts):
                    nobody.pop(tp, None)
                    if election is None:
                        nobody[tp], leaderless[tp] = Why.NO_LEADER, states[tp]
                    elif tp not in unreadable:
                        elected[tp], recipients[tp] = election.state, election.recipients
            nobody |= dict.fromkeys(unreadable, Why.NO_CONFIG)
            await rewrite.write(elected)
            await rewrite.read_again(leaderless)
        changed = rewrite.changed
        async for written in Pieces(changed.written.items()):
            self._led(dict(written), to.election.value)
            for tp, state in written:
                batch.leader_and_isr(recipients[tp], tp, state, is_new=False)
        return nobody | changed.refused

    async def _unclean(
        self, states: States, to: PartitionTransition
    ) -> tuple[frozenset[TopicPartition], list[TopicPartition]]:
        """Where a leader from outside the ISR would do, and where that cannot be known.

        Only topics of partitions without a live in-sync replica are looked up, as in Kafka.
        """
        if to.election is not ElectionReason.OFFLINE:
            return frozenset(), []
        online = self._context.online
        dead = [
            tp
            async for piece in Pieces(states.items())
            for tp, state in piece
            if not any(online(tp, replica) for replica in state.isr)
        ]
        if to.unclean or not dead:
            return frozenset(dead), []
        allowed = await self._configs.unclean(tp.topic for tp in dead)
        return frozenset(tp for tp in dead if allowed.get(tp.topic)), [tp for tp in dead if tp.topic not in allowed]

    def _led(self, states: States, reason: str) -> None:
        self._context.set_partition_state(states, PartitionState.ONLINE)
        if states:
            self._record(LeaderElected.of_states(states, epoch=self._context.epoch, reason=reason))
