"""Who leads a partition: a selector is asked, and its answer checked before anything is written.

A selector is a team's own code. What it answers is checked against the rules that keep data safe; if it is bad, or it
raises, or it does not come in time, the stock rule of the reason decides, and that is recorded with the plugin's name.

Source: kafka.controller.Election and ZkPartitionStateMachine.initializeLeaderAndIsrForPartitions (3.9).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import partial

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide import trial
from pytest_kcontroller.hookspecs import LeaderSelector
from pytest_kcontroller.model.cluster import INITIAL_LEADER_EPOCH, LeaderAndIsr, TopicPartition, make_state, next_epoch
from pytest_kcontroller.model.election import BrokerTable, ElectionReason, LeaderChoice, PartitionView, told
from pytest_kcontroller.model.history import Record, SelectorBadAnswer
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.model.values import value
from pytest_kcontroller.runtime.foreign import LIMIT_S, GivenUp, NoAnswerError, answer_within

Selectors = Mapping[ElectionReason, LeaderSelector]


@value(frozen=True, slots=True)
class Elected:
    """The state to be written, with the partition epoch that it replaces, and the brokers that get a LeaderAndIsr."""

    state: LeaderAndIsr
    recipients: tuple[int, ...]


def first_leader(context: Context, tp: TopicPartition) -> LeaderAndIsr | None:
    """Of a new partition: the first live replica leads, all live ones are in sync. None: none is live."""
    live = tuple(replica for replica in context.assignments[tp].replicas if context.online(tp, replica))
    if not live:
        return None
    return LeaderAndIsr(leader=live[0], leader_epoch=INITIAL_LEADER_EPOCH, isr=live, controller_epoch=context.epoch)


@value(frozen=True, slots=True)
class _Answer:
    """Of a selector for one partition; `why`: the stock rule decided, since the selector's own could not be used."""

    choice: LeaderChoice | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """One batch of partitions that need a leader."""

    context: Context
    states: Mapping[TopicPartition, LeaderAndIsr]
    reason: ElectionReason
    unclean: Container[TopicPartition]
    counts: Mapping[int, int]
    """Who leads how many partitions before."""


class Elections:
    """The chosen selectors, and the stock ones behind them, which are trusted. `limit_s`: so long a batch may take that
    asks another one, in real time."""

    def __init__(
        self,
        chosen: Selectors,
        stock: Selectors,
        record: Record,
        *,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._chosen, self._stock, self._record = chosen, stock, record
        self._limit_s = limit_s
        self._trusted = tuple(type(selector) for selector in stock.values())
        self._silent: dict[str, int] = {}
        """Selector -> the epoch of the term in which it is not asked any more."""
        self._stuck: dict[str, str] = {}
        """Selector -> why it is never asked."""

    def try_out(self, selectors: Selectors) -> None:
        """Asks these, which are like the chosen ones, about a partition that is in no cluster: one that gives no answer is
        never asked again, since that would hold up a recovery."""
        self._stuck = trial.without_answer(selectors, self._trusted, limit_s=self._limit_s)

    def elect(
        self,
        context: Context,
        states: Mapping[TopicPartition, LeaderAndIsr],
        reason: ElectionReason,
        unclean: Container[TopicPartition] = (),
        counts: dict[int, int] | None = None,
    ) -> list[tuple[TopicPartition, Elected | None]]:
        """An answer per partition, None: nobody. The counts in the view include the choices already made.

        `unclean`: where a leader may come from outside the ISR if no member of it is live. `counts`, who leads how many
        partitions, becomes what it is after these elections: it is for the next ones, if they come before all are written.
        """
        counts = context.leader_counts() if counts is None else counts
        asked, answers = _Asked(context, states, reason, unclean, counts), list[_Answer]()
        selector = self._chosen[reason]
        if type(selector) in self._trusted:
            self._ask(asked, selector, answers)
        else:
            if states and self._silent.get(selector.name) != context.epoch:
                answers = self._ask_within(asked, selector)
            self._ask(asked, self._stock[reason], answers)
        for state, answer in zip(states.values(), answers, strict=True):
            _count(counts, state, answer)
        return [
            (tp, None if answer.choice is None else _elected(context, tp, state, answer.choice, reason))
            for (tp, state), answer in zip(states.items(), answers, strict=True)
        ]

    def _ask_within(self, asked: _Asked, selector: LeaderSelector) -> list[_Answer]:
        """Of all partitions, or of those before the one that it did not answer for in time."""
        answers: list[_Answer] = []
        late = self._stuck.get(selector.name)
        if late is None:
            try:
                answer_within(self._limit_s, partial(self._ask, asked, selector, answers))
            except NoAnswerError as passed:
                answers = answers[:]  # what a call that was given up still adds is nobody's
                late = f"{passed}; it is not asked again in this term"
        if late is not None:
            self._silent[selector.name] = asked.context.epoch
        for tp, why in zip(asked.states, [*(answer.why for answer in answers), late], strict=False):
            if why is not None:
                self._record(SelectorBadAnswer(plugin=selector.name, topic=tp.topic, partition=tp.partition, why=why))
        return answers

    def _ask(self, asked: _Asked, selector: LeaderSelector, answers: list[_Answer]) -> None:
        """Adds the answers that are still missing, in the order of the partitions. It changes nothing else: it may run in a
        thread that nobody waits for any more."""
        counts = dict(asked.counts)
        table = asked.context.table(counts)
        for at, (tp, state) in enumerate(asked.states.items()):
            if at == len(answers):
                view = _view(asked.context, tp, state, table, tp in asked.unclean)
                answers.append(self._one(view, asked.reason, selector))
            _count(counts, state, answers[at])

    def _one(self, view: PartitionView, reason: ElectionReason, selector: LeaderSelector) -> _Answer:
        try:
            choice = selector.select(view, reason)
            why = None if choice is None else rejection(choice, view, reason)
            choice = choice if choice is None or why is not None else choice.of_tuples()
        except BaseException as raised:  # a plugin may raise anything, and no partition may suffer
            ours = isinstance(raised, GivenUp) or type(selector) in self._trusted
            if ours and not isinstance(raised, Exception):
                raise
            choice, why = None, f"it raised {shown(raised)}"
        return _Answer(choice) if why is None else _Answer(self._stock[reason].select(view, reason), why)


def _count(counts: dict[int, int], state: LeaderAndIsr, answer: _Answer) -> None:
    """Who led leads one partition less, and who is chosen one more."""
    if (choice := answer.choice) is not None:
        counts[state.leader] = counts.get(state.leader, 0) - 1
        counts[choice.leader] = counts.get(choice.leader, 0) + 1


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
        brokers=context.table_of(tp, table),
    )


def _elected(
    context: Context, tp: TopicPartition, state: LeaderAndIsr, choice: LeaderChoice, reason: ElectionReason
) -> Elected:
    elected = make_state(
        leader=choice.leader,
        leader_epoch=next_epoch(state.leader_epoch),
        isr=choice.isr,
        controller_epoch=context.epoch,
        partition_epoch=state.partition_epoch,
        recovering=state.recovering or choice.leader not in state.isr,
    )
    return Elected(elected, choice.recipients or told(context.assignments[tp], context.table({}), reason))


def rejection(choice: object, view: PartitionView, reason: ElectionReason) -> str | None:
    """Why an answer is not safe, or None."""
    if not isinstance(choice, LeaderChoice):
        return f"{shown(choice)} is no LeaderChoice"
    if not choice.names_brokers:
        return f"{shown(choice)} names brokers by something else than their ids, in lists or tuples"
    replicas, isr = view.assignment.replicas, choice.isr
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
        return None if len(isr) == 1 else f"after an unclean election the ISR is the leader, not {list(isr)}"
    if strangers := [replica for replica in isr if replica not in view.isr]:
        return f"the ISR gains {strangers}, which only the leader can know to be in sync"
    return None
