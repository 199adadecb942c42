"""A leader selector of a plugin that does not answer: the stock rule decides, and the rest of the term is spared it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView
from pytest_kcontroller.plugin.manager import load_plugins
from tests.tools.controller_box import ControllerBox

LIMIT_S = 0.2
STOCK = load_plugins(installed=False).selectors_for({})


class Sleepy:
    """Chooses the last in-sync replica that lives, and falls asleep over one partition."""

    name = "sleepy"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.threads: list[int] = []
        self.asleep_over = "t-1"
        self.raises: type[BaseException] | None = None

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        self.asked.append(str(partition))
        self.threads.append(threading.get_ident())
        while str(partition) == self.asleep_over:
            if self.raises is not None:
                raise self.raises
        alive = [broker for broker in partition.isr if partition.brokers.live(broker)]
        return LeaderChoice(alive[-1], tuple(alive)) if alive else None


@pytest.fixture
def sleepy() -> Sleepy:
    return Sleepy()


@pytest.fixture
def box(sleepy: Sleepy) -> Iterator[ControllerBox]:
    selectors = {**STOCK, ElectionReason.OFFLINE: sleepy}
    with ControllerBox(brokers=(1, 2, 3), selectors=selectors, plugin_limit_s=LIMIT_S) as box:
        box.create_topic("t", [[1, 2, 3]] * 3)
        box.start()
        yield box


def test_the_stock_rule_decides_from_the_partition_on_that_it_did_not_answer_for(
    box: ControllerBox, sleepy: Sleepy
) -> None:
    box.remove_broker(1)
    assert sleepy.asked == ["t-0", "t-1"]
    assert [box.state(f"t-{number}").leader for number in range(3)] == [3, 2, 2]
    (bad,) = box.events("selector.bad-answer")
    assert (bad["plugin"], bad["topic"], bad["partition"]) == ("sleepy", "t", 1)
    assert bad["why"].startswith("it gave no answer within 0.2 s, and stood at test_selectors_in_time.py:")
    assert bad["why"].endswith("; it is not asked again in this term")


def test_it_is_not_asked_again_in_this_term_and_again_in_the_next(box: ControllerBox, sleepy: Sleepy) -> None:
    box.remove_broker(1)
    box.remove_broker(2)
    assert sleepy.asked == ["t-0", "t-1"]
    assert [box.state(f"t-{number}").leader for number in range(3)] == [3, 3, 3]
    sleepy.asleep_over = ""
    box.expire_session()
    box.register_broker(2)
    box.remove_broker(3)
    assert sleepy.asked[2:] == ["t-0", "t-1", "t-2"]
    assert len(box.events("selector.bad-answer")) == 1


def test_a_batch_is_asked_in_one_thread(box: ControllerBox, sleepy: Sleepy) -> None:
    sleepy.asleep_over = ""
    box.remove_broker(1)
    assert len(sleepy.asked) == 3
    assert len(dict.fromkeys(sleepy.threads)) == 1
    assert sleepy.threads[0] != threading.get_ident()


@pytest.mark.parametrize("kind", [ValueError, SystemExit, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit])
def test_whatever_it_raises_the_stock_rule_decides_for_that_partition(
    box: ControllerBox, sleepy: Sleepy, kind: type[BaseException]
) -> None:
    sleepy.raises = kind
    box.remove_broker(1)
    assert [box.state(f"t-{number}").leader for number in range(3)] == [3, 2, 3]
    assert [bad["why"] for bad in box.events("selector.bad-answer")] == [f"it raised {kind.__name__}()"]


def test_one_that_hangs_when_it_is_tried_holds_up_no_recovery_in_any_term(box: ControllerBox, sleepy: Sleepy) -> None:
    sleepy.asleep_over = "__trial-0"
    box.controller.try_out(dict.fromkeys(ElectionReason, sleepy))
    assert sleepy.asked == ["__trial-0"]
    for removed in (1, 2):
        box.remove_broker(removed)
    box.expire_session()
    box.register_broker(2)
    box.remove_broker(3)
    assert sleepy.asked == ["__trial-0"]
    bad = box.events("selector.bad-answer")
    assert [(event["topic"], event["partition"]) for event in bad] == [("t", 0)] * 2, "once in a term"
    for event in bad:
        assert event["why"].startswith("it gave no answer within 0.2 s, and stood at test_selectors_in_time.py:")
        assert event["why"].endswith(", when it was tried at the start of the node; it is not asked in any term")


@pytest.mark.parametrize("raises", [None, ValueError, SystemExit, asyncio.CancelledError])
def test_what_it_answers_or_raises_when_it_is_tried_is_of_no_interest(
    box: ControllerBox, sleepy: Sleepy, raises: type[BaseException] | None
) -> None:
    sleepy.asleep_over, sleepy.raises = ("__trial-0", raises) if raises else ("", None)
    box.controller.try_out(dict.fromkeys(ElectionReason, sleepy))
    assert sleepy.asked == ["__trial-0"] * len(ElectionReason)
    box.remove_broker(1)
    assert [box.state(f"t-{number}").leader for number in range(3)] == [3, 3, 3]
    assert box.events("selector.bad-answer") == []
