"""What `campaign run` and `replay` print: plain lines, on a terminal also what goes on now."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.play.runner import RunResult
from pytest_kcontroller.cli._playing import (
    SUMMARY_ROWS,
    Planned,
    Screen,
    _append_step_summary,
    _counts,
    duration,
    why,
)
from pytest_kcontroller.cli.campaign import _shard
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.scheduler import Scheduler, SimClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, done: int) -> str:
    """What is written while a run takes 2.5 s of virtual time, after others that took 10 s."""
    with Scheduler() as scheduler:
        clock = SimClock(scheduler)
        screen = Screen(stream, clock, 4)

        async def work() -> None:
            await clock.sleep_us(10_000_000)
            with screen.shows("smoke seed 3", done):
                await clock.sleep_us(2_500_000)
            screen.say("held")

        scheduler.run_until_complete(scheduler.process("terminal").create_task(work()))
    return stream.getvalue()


def test_a_pipe_gets_plain_lines() -> None:
    assert shown(io.StringIO(), 2) == "held\n"


def test_a_terminal_shows_what_goes_on_and_about_how_long_the_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screens = shown(Terminal(), 2).split("\r\x1b[K")
    assert screens[1:4] == [
        "[3/4] smoke seed 3: 0 s, about 10 s left",
        "[3/4] smoke seed 3: 1 s, about 9 s left",
        "[3/4] smoke seed 3: 2 s, about 8 s left",
    ]
    assert screens[-1] == "held\n"
    assert "left" not in shown(Terminal(), 0)


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown(Terminal(), 2) == "held\n"


def test_durations_are_for_people() -> None:
    assert [duration(s) for s in (0.4, 119, 120, 3600)] == ["0 s", "119 s", "2 min", "60 min"]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    (tmp_path / "c.toml").write_text('[campaign]\nname = "x"\nduration_s = 5\n')
    return load_campaign(tmp_path / "c.toml")


def result(verdict: str, **details: Any) -> RunResult:
    whole = {"invariants": [], "parts": {}, **details} if details else {}
    return RunResult(Path("runs/x"), verdict, 1.0, whole)


def test_what_must_never_happen_is_told_first(tmp_path: Path) -> None:
    common = {"verdict": "violated", "seen": "x", "where": "y", "expected": "z", "witness": None}
    broken = [{"name": "agrees", "kind": "liveness", **common}, {"name": "fenced", "kind": "safety", **common}]
    details = {"overall": "violated", "invariants": broken, "parts": {}}
    lines = why(RunResult(tmp_path, "violated", 1.0, details))
    assert [line.partition(":")[0] for line in lines[:2]] == ["fenced", "agrees"]


def test_the_last_line_counts_every_verdict() -> None:
    results = [result("held"), result("violated"), result("held"), result("violated", expected=["why"])]
    assert _counts(results) == "4 runs: 2 held, 2 violated (1 expected)"
    assert [r.status for r in results] == [0, 1, 0, 0]


def test_the_step_summary_has_what_did_not_hold_first_and_no_markup_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, campaign: Campaign
) -> None:
    file = tmp_path / "summary.md"
    file.write_text("what was there\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    bad = RunResult(Path("runs/x"), "environment", 1.0, {}, "<img src=x> | `a`\n[b](c)")
    _append_step_summary([Planned(campaign, 1), Planned(campaign, 2)], [result("held"), bad])
    lines = file.read_text().splitlines()
    assert lines[0] == "what was there"
    assert lines[1] == "### kcontroller campaign run: 2 runs: 1 environment, 1 held"
    assert lines[5] == r"| x seed 2 | environment | \<img src=x\> \| \`a\` \[b\](c) |"
    assert lines[6] == "| x seed 1 | held |  |"


def test_a_long_step_summary_says_what_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, campaign: Campaign
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    count = SUMMARY_ROWS + 3
    _append_step_summary([Planned(campaign, n) for n in range(count)], [result("held")] * count)
    assert "and 3 more runs" in (tmp_path / "summary.md").read_text()


def test_a_step_summary_that_cannot_be_written_is_a_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, campaign: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    _append_step_summary([Planned(campaign, 1)], [result("held")])
    assert f"{tmp_path}: cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "/", "-1/2"])
def test_what_is_no_shard_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is no shard"):
        _shard(text)
    assert _shard("2/8") == (2, 8)
