"""Selectors are asked once before there is anything to elect: one that hangs would hold up a recovery by its whole limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from pytest_kcontroller.hookspecs import LeaderSelector
from pytest_kcontroller.model.cluster import Assignment
from pytest_kcontroller.model.election import BrokerTable, BrokerView, ElectionReason, PartitionView
from pytest_kcontroller.runtime.foreign import GivenUp, NoAnswerError, answer_within

TOPIC = "__trial"
"""Of the partition that a selector is asked about; it is in no cluster."""


def without_answer(
    selectors: Mapping[ElectionReason, LeaderSelector], trusted: Iterable[type], *, limit_s: float
) -> dict[str, str]:
    """Selector -> what is said of it, of those that gave no answer in `limit_s` of real time. What another answers, or
    raises, is of no interest yet."""
    late: dict[str, str] = {}
    for reason, selector in selectors.items():
        if type(selector) in trusted or selector.name in late:
            continue
        try:
            answer_within(limit_s, partial(_ask, selector, reason))
        except NoAnswerError as passed:
            late[selector.name] = f"{passed}, when it was tried at the start of the node; it is not asked in any term"
    return late


def _ask(selector: LeaderSelector, reason: ElectionReason) -> None:
    try:
        selector.select(_view(reason), reason)
    except GivenUp:
        raise
    except BaseException:  # noqa: BLE001 - a plugin may raise anything
        return


def _view(reason: ElectionReason) -> PartitionView:
    """A partition as it is when a leader is needed for this reason: of the brokers 0, 1 and 2; reassigned, it has got 3."""
    brokers = {broker: BrokerView(id=broker) for broker in range(4)}
    assignment, leader = Assignment((0, 1, 2)), 0
    isr: tuple[int, ...] = (0, 1, 2)
    match reason:
        case ElectionReason.OFFLINE:
            del brokers[0]
        case ElectionReason.REASSIGNED:
            assignment, isr = Assignment((1, 2, 3)), (0, 1, 2, 3)
        case ElectionReason.PREFERRED:
            leader = 1
        case ElectionReason.CONTROLLED_SHUTDOWN:
            brokers[0] = BrokerView(id=0, shutting_down=True)
    return PartitionView(
        topic=TOPIC,
        partition=0,
        assignment=assignment,
        leader=leader,
        isr=isr,
        leader_epoch=0,
        partition_epoch=0,
        controller_epoch=1,
        unclean_allowed=False,
        brokers=BrokerTable(brokers, {leader: 1}),
    )
