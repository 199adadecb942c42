"""A cluster of more partitions than one request may have, and than one turn of the loop may handle."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from pytest_kcontroller.controller import batch
from pytest_kcontroller.controller.decide import leader
from pytest_kcontroller.controller.events.leader_and_isr_response import LeaderAndIsrResponseReceived
from pytest_kcontroller.controller.machines import replicas, states
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.turns import MOST, PIECE
from pytest_kcontroller.runtime.scheduler import Scheduler
from tests.tools.controller_box import ControllerBox
from tests.tools.recording_channels import Sent

BROKERS = (1, 2, 3)
PER_TOPIC = 400
TOPICS = 6
"""More than two pieces of partitions; no number of topics is one piece."""


@pytest.fixture
def big() -> Iterator[ControllerBox]:
    with ControllerBox(brokers=BROKERS) as box:
        for number in range(TOPICS):
            box.create_topic(f"t{number}", [[1 + at % 3, 1 + (at + 1) % 3] for at in range(PER_TOPIC)])
        box.start()
        yield box


def all_partitions(of: int) -> list[str]:
    """Those that have a replica on broker `of`, in the order of the protocol."""
    hosted = [at for at in range(PER_TOPIC) if of in (1 + at % 3, 1 + (at + 1) % 3)]
    return [f"t{number}-{at}" for number in range(TOPICS) for at in hosted]


def told(sent: list[Sent]) -> list[str]:
    return [name for one in sent for name in one.entries]


def test_requests_are_cut_and_say_the_same_in_the_same_order(big: ControllerBox) -> None:
    for broker in BROKERS:
        for kind in ("LeaderAndIsr", "UpdateMetadata"):
            sent = [one for one in big.sent(kind, to=broker) if one.entries]
            assert len(sent) > 1
            assert max(len(one.entries) for one in sent) == MOST
        assert told(big.sent("LeaderAndIsr", to=broker)) == all_partitions(broker)
        kinds = [one.kind for one in big.sent(to=broker) if one.entries]
        assert kinds == sorted(kinds)  # all of LeaderAndIsr, then all of UpdateMetadata
    leaders = {entry.leader for one in big.sent("LeaderAndIsr", to=1) for entry in one.entries.values()}
    (live,) = {tuple(leader.broker_id for leader in one.request.live_leaders) for one in big.sent("LeaderAndIsr", to=1)}
    assert set(live) == leaders


def test_stop_replica_is_cut_too(big: ControllerBox) -> None:
    big.forget()
    assert big.shut_down(1).result().error_code == 0
    stopped = big.sent("StopReplica", to=1)
    assert max(len(one.entries) for one in stopped) <= MOST < len(told(stopped))
    assert all(big.state(name).leader != 1 for name in ("t0-0", f"t{TOPICS - 1}-{PER_TOPIC - 1}"))


def turn() -> int:
    """The number of the step that the scheduler runs now, by its own count."""
    frame = sys._getframe()
    while frame.f_code is not Scheduler._run.__code__:
        assert frame.f_back is not None
        frame = frame.f_back
    return int(frame.f_locals["self"].ran + frame.f_locals["ran"])


class Turns:
    """How often a function is called in one turn of the loop."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.calls = dict[str, Counter[int]]()

    def watch(self, module: ModuleType, name: str) -> None:
        function, calls = getattr(module, name), self.calls.setdefault(name, Counter())

        def counted(*args: Any, **kwargs: Any) -> Any:
            calls[turn()] += 1
            return function(*args, **kwargs)

        self._patch.setattr(module, name, counted)


def test_no_turn_handles_two_pieces(big: ControllerBox, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(monkeypatch)
    for name in ("decode_state", "encode_state"):
        turns.watch(states, name)
    for name in ("_make_leader_and_isr", "_make_update_metadata"):
        turns.watch(batch, name)
    turns.watch(replicas, "recipients_of_removal")
    turns.watch(leader, "_view")
    big.expire_session()
    big.shut_down(1)
    big.remove_broker(2)
    for name, calls in turns.calls.items():
        assert max(calls.values()) < min(2 * PIECE, calls.total()), (name, calls)


def test_answers_that_wait_are_handled_in_many_turns(big: ControllerBox, monkeypatch: pytest.MonkeyPatch) -> None:
    handled = Counter[int]()
    act = LeaderAndIsrResponseReceived.act

    async def counted(event: LeaderAndIsrResponseReceived, term: Term) -> None:
        handled[turn()] += event.size
        await act(event, term)

    monkeypatch.setattr(LeaderAndIsrResponseReceived, "act", counted)
    big.answer(*big.sent("LeaderAndIsr"))
    assert max(handled.values()) < 2 * PIECE < handled.total()
