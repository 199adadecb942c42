"""Asking a selector for a leader, and checking its answer before anything is written.

A selector is a team's own code. What it answers is checked against the rules that keep data safe; if it is bad, or it
raises, the stock rule of the reason decides, and the answer is recorded with the plugin's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.hookspecs import LeaderSelector
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.election import BrokerTable, ElectionReason, LeaderChoice, PartitionView

Selectors = Mapping[ElectionReason, LeaderSelector]


class Elections:
    """The chosen selectors, and the stock ones behind them."""

    def __init__(
        self, chosen: Selectors, stock: Selectors, record: Callable[..., None], unclean: Callable[[str], bool]
    ) -> None:
        self._chosen, self._stock, self._record, self._unclean = chosen, stock, record, unclean

    def choose(
        self, context: Context, states: Sequence[tuple[TopicPartition, LeaderAndIsr]], reason: ElectionReason
    ) -> list[LeaderChoice | None]:
        """An answer per partition, None: nobody. The counts in the view include the choices already made."""
        counts = context.leaders_of()
        table = context.table(counts)
        choices = []
        for tp, state in states:
            choice = self._one(_view(context, tp, state, table, self._unclean(tp.topic)), reason)
            if choice is not None:
                counts[state.leader] = counts.get(state.leader, 0) - 1
                counts[choice.leader] = counts.get(choice.leader, 0) + 1
            choices.append(choice)
        return choices

    def _one(self, view: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        selector = self._chosen[reason]
        try:
            choice = selector.select(view, reason)
            why = None if choice is None else rejection(choice, view, reason)
        except Exception as raised:  # noqa: BLE001 - a plugin may raise anything, and no partition may suffer
            choice, why = None, f"it raised {raised!r}"
        if why is None:
            return choice
        self._record("selector.bad-answer", plugin=selector.name, topic=view.topic, partition=view.partition, why=why)
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


def rejection(choice: object, view: PartitionView, reason: ElectionReason) -> str | None:
    """Why an answer is not safe, or None."""
    if not isinstance(choice, LeaderChoice):
        return f"{choice!r} is no LeaderChoice"
    replicas, isr = view.assignment.replicas, choice.isr
    if not all(isinstance(broker, int) for broker in (choice.leader, *isr, *(choice.recipients or ()))):
        return f"{choice!r} names brokers by something else than their ids"
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
