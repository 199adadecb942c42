"""Who leads a partition: a selector is asked, and its answer checked before anything is written.

A selector is a team's own code. What it answers is checked against the rules that keep data safe; if it is bad, or it
raises, the stock rule of the reason decides, and the answer is recorded with the plugin's name.

Source: kafka.controller.Election and ZkPartitionStateMachine.initializeLeaderAndIsrForPartitions (3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.hookspecs import LeaderSelector
from pytest_kcontroller.model.cluster import INITIAL_LEADER_EPOCH, Assignment, LeaderAndIsr, TopicPartition, make_state
from pytest_kcontroller.model.election import BrokerTable, ElectionReason, LeaderChoice, PartitionView
from pytest_kcontroller.model.history import Record, SelectorBadAnswer
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.model.values import value

Selectors = Mapping[ElectionReason, LeaderSelector]


@value(frozen=True, slots=True)
class Elected:
    """The state to be written, with the partition epoch that it replaces, and the brokers that get a LeaderAndIsr."""

    state: LeaderAndIsr
    recipients: tuple[int, ...]


def first_leader(context: Context, assignment: Assignment) -> LeaderAndIsr | None:
    """Of a new partition: the first live replica leads, all live ones are in sync. None: none is live."""
    live = tuple(replica for replica in assignment.replicas if context.live(replica))
    if not live:
        return None
    return LeaderAndIsr(leader=live[0], leader_epoch=INITIAL_LEADER_EPOCH, isr=live, controller_epoch=context.epoch)


class Elections:
    """The chosen selectors, and the stock ones behind them."""

    def __init__(self, chosen: Selectors, stock: Selectors, record: Record, unclean: Callable[[str], bool]) -> None:
        self._chosen, self._stock, self._record, self._unclean = chosen, stock, record, unclean

    def elect(
        self, context: Context, states: Mapping[TopicPartition, LeaderAndIsr], reason: ElectionReason
    ) -> Iterator[tuple[TopicPartition, Elected | None]]:
        """An answer per partition, None: nobody. The counts in the view include the choices already made."""
        counts = context.leader_counts()
        table = context.table(counts)
        for tp, state in states.items():
            choice = self._one(_view(context, tp, state, table, self._unclean(tp.topic)), reason)
            if choice is None:
                yield tp, None
                continue
            counts[state.leader] = counts.get(state.leader, 0) - 1
            counts[choice.leader] = counts.get(choice.leader, 0) + 1
            yield tp, _elected(context, tp, state, choice)

    def _one(self, view: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        selector = self._chosen[reason]
        try:
            choice = selector.select(view, reason)
            why = None if choice is None else rejection(choice, view, reason)
        except Exception as raised:  # noqa: BLE001 - a plugin may raise anything, and no partition may suffer
            choice, why = None, f"it raised {shown(raised)}"
        if why is None:
            return choice
        self._record(SelectorBadAnswer(plugin=selector.name, topic=view.topic, partition=view.partition, why=why))
        return self._stock[reason].select(view, reason)


def _view(
    context: Context, tp: TopicPartition, state: LeaderAndIsr, table: BrokerTable, unclean: bool
) -> PartitionView:
    return PartitionView(
        topic=tp.topic,
        partition=tp.partition,
        assignment=context.assignments[tp],
        leader=state.leader,
        isr=state.isr,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        controller_epoch=context.epoch,
        unclean_allowed=unclean,
        brokers=table,
    )


def _elected(context: Context, tp: TopicPartition, state: LeaderAndIsr, choice: LeaderChoice) -> Elected:
    elected = make_state(
        leader=choice.leader,
        leader_epoch=state.leader_epoch + 1,
        isr=choice.isr,
        controller_epoch=context.epoch,
        partition_epoch=state.partition_epoch,
        recovering=state.recovering or choice.leader not in state.isr,
    )
    registered = context.brokers
    recipients = choice.recipients or tuple(r for r in context.assignments[tp].replicas if r in registered)
    return Elected(elected, recipients)


def rejection(choice: object, view: PartitionView, reason: ElectionReason) -> str | None:
    """Why an answer is not safe, or None."""
    if not isinstance(choice, LeaderChoice):
        return f"{shown(choice)} is no LeaderChoice"
    replicas, isr = view.assignment.replicas, choice.isr
    if not all(isinstance(broker, int) for broker in (choice.leader, *isr, *(choice.recipients or ()))):
        return f"{shown(choice)} names brokers by something else than their ids"
    if not view.brokers.live(choice.leader):
        return f"leader {choice.leader} is not live"
    if choice.leader not in replicas:
        return f"leader {choice.leader} is not in the assignment {list(replicas)}"
    if choice.leader not in isr:
        return f"leader {choice.leader} is not in the ISR {list(isr)}"
    if len(dict.fromkeys(isr)) != len(isr):
        return f"the ISR {list(isr)} names a replica twice"
    if choice.leader not in view.isr:
        if not view.unclean_allowed:
            return f"leader {choice.leader} was not in the ISR {list(view.isr)}, and unclean election is not allowed"
        if any(view.brokers.live(replica) and replica in replicas for replica in view.isr):
            return f"leader {choice.leader} was not in the ISR {list(view.isr)}, of which a member is live"
        return None if isr == (choice.leader,) else f"after an unclean election the ISR is the leader, not {list(isr)}"
    if strangers := [replica for replica in isr if replica not in view.isr]:
        return f"the ISR gains {strangers}, which only the leader can know to be in sync"
    return None
