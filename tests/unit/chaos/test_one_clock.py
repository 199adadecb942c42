"""Transactions have times of the run's own clock, however often the wall clock that stamped them is set."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from kcontroller_chaos.history.clocks import steps_in
from kcontroller_chaos.history.following import LOOK_US, SETTLE_US, STEP_US, FollowedLog
from kcontroller_chaos.history.read import read_history, zk_import
from pytest_kcontroller.model.history import HistoryEvent, encoded, line_of
from pytest_kcontroller.runtime.real import RunStart
from tests.tools.zookeeper_log import LogWriter

START = RunStart(1_700_000_000_000_000_000, 0)
EXACT_US = 1_000 + STEP_US
"""What whole milliseconds, and steps too small to be noted, may cost."""


@dataclass
class Machine:
    """Its wall clock, which is set by `steps` ((run time, by how much), in microseconds), and the time of the run."""

    steps: list[tuple[int, int]]
    now: int = 0
    recorded: list[dict[str, Any]] = field(default_factory=list)

    def now_us(self) -> int:
        return self.now

    def wall_ahead_us(self) -> int | None:
        return self.ahead_us(self.now)

    def ahead_us(self, at_us: int) -> int:
        return sum(step_us for stepped_us, step_us in self.steps if stepped_us <= at_us)

    def stamp_ms(self, at_us: int) -> int:
        return (START.wall_ns // 1000 + at_us + self.ahead_us(at_us)) // 1000

    def record(self, event: HistoryEvent, /) -> None:
        self.recorded.append(line_of(event, "engine", len(self.recorded), self.now))

    async def sleep_us(self, duration_us: int) -> None:
        self.now += duration_us


SECONDS = 2
moments = st.integers(min_value=0, max_value=SECONDS * 1_000_000)
amounts = st.integers(min_value=-3_600_000_000, max_value=3_600_000_000) | st.integers(
    min_value=-90_000, max_value=90_000
)


def all_are_seen(steps: list[tuple[int, int]]) -> bool:
    """None was taken back before anybody looked."""
    by_look: dict[int, list[int]] = {}
    for at_us, by_us in steps:
        by_look.setdefault(-(-at_us // LOOK_US), []).append(by_us)
    return all(len(those) == 1 or abs(sum(those)) > 2 * STEP_US for those in by_look.values())


steps = st.lists(st.tuples(moments, amounts), max_size=4).map(sorted).filter(all_are_seen)
stamps = st.lists(moments, min_size=1, max_size=12).map(sorted)


@given(steps=steps, stamps=stamps, late_us=st.integers(min_value=0, max_value=SETTLE_US - 1))
@example(steps=[(1_000_000, -1_000_000)], stamps=[999_000, 1_001_000, 1_500_000, 1_999_500], late_us=2_000)
@example(steps=[(1_000_000, 1_000_000)], stamps=[999_000, 1_001_000, 1_500_000, 1_999_500], late_us=40_000)
@example(steps=[(1_000_000, -50_000), (1_030_000, 3_600_000_000)], stamps=[999_000, 1_015_000, 1_040_000], late_us=0)
def test_times_keep_the_order_of_zxids_and_are_near_the_truth(steps, stamps, late_us):
    """Zxids are 1, 2, ... at the times `stamps`; each is in the log `late_us` later."""
    machine = Machine(steps)
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory)
        writer = LogWriter(run / "zookeeper")
        log = FollowedLog(START, machine, machine.record)
        log.open([run / "zookeeper"])
        coming = list(enumerate(stamps, start=1))
        while coming or machine.now < (SECONDS + 1) * 1_000_000:
            while coming and coming[0][1] + late_us <= machine.now:
                zxid, at_us = coming.pop(0)
                writer.append(zxid, machine.stamp_ms(at_us))
            log.look()
            machine.now += LOOK_US
        log.settle()
        (run / "history").mkdir()
        (run / "history" / "engine.jsonl").write_text("".join(map(encoded, machine.recorded)), encoding="utf-8")
        zk_import(run, START)
        imported = read_history(run / "history").txns
        noted = steps_in(run / "history")
    assert [event["zxid"] for event in imported] == list(range(1, len(stamps) + 1))
    for found in (imported, log.events):
        times = [event["t_us"] for event in found]
        assert times == sorted(times)
        for at_us, said_us in zip(stamps, times, strict=True):
            around = [step for step in noted if step["since_us"] - late_us <= at_us <= step["until_us"]]
            apart_us = max((step["until_us"] - step["since_us"] for step in around), default=0)
            assert abs(said_us - at_us) <= EXACT_US + len(around) * (apart_us + late_us)
    assert abs(sum(step["step_us"] for step in noted) - sum(by_us for _, by_us in steps)) <= STEP_US
    assert all(0 <= step["since_us"] < step["until_us"] for step in noted)


def test_a_line_that_its_writer_has_not_finished_is_no_step(tmp_path):
    line = {"kind": "clock.stepped", "step_us": 1, "since_us": 1, "until_us": 2, "after_zxid": 1, "until_zxid": 1}
    told = {"kind": "test.action", "arguments": "clock.stepped"}
    text = f"{json.dumps(line)}\n{json.dumps(told)}\n{json.dumps(line)[:-9]}"
    (tmp_path / "engine.jsonl").write_text(text)
    assert steps_in(tmp_path) == [line]
