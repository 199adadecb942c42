"""What `campaign run` and `replay` print: plain lines, on a terminal also what goes on now."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.play.runner import Options, RunResult
from pytest_kcontroller import cli
from pytest_kcontroller.cli._colour import paint
from pytest_kcontroller.cli._original import outcome
from pytest_kcontroller.cli._output import of_playing
from pytest_kcontroller.cli._playing import (
    SUMMARY_ROWS,
    Playing,
    Screen,
    _append_step_summary,
    batches,
    duration,
)
from pytest_kcontroller.cli._results import Planned, counts, failing, in_common, line_of, why
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


def test_why_a_run_failed_is_told_once() -> None:
    part = {"verdict": "environment", "detail": "the cluster failed: ZooKeeper has ended", "count": 0, "of": 0}
    held = {"verdict": "held", "detail": "", "count": 0, "of": 0}
    details = {"invariants": [], "parts": {"injected": part, "observed": held}}
    lines = why(RunResult(Path("runs/x"), "violated", 1.0, details, "ZooKeeper has ended\n  -> look there"))
    assert lines == ["ZooKeeper has ended\n  -> look there", "again: kcontroller replay runs/x"]


def test_the_last_line_counts_every_verdict() -> None:
    known = result("violated", expected=["why"], unexpected="held")
    results = [result("held"), result("violated"), result("held"), known]
    assert counts(results) == "4 runs: 2 held, 2 violated (1 expected)"
    assert [r.status for r in results] == [0, 1, 0, 0]


def test_what_a_known_violation_does_not_hide_is_the_verdict_wherever_runs_are_counted(campaign: Campaign) -> None:
    hides = result("violated", expected=["why"], unexpected="environment")
    assert hides.status == 6
    assert counts([hides]) == "1 runs: 1 environment (1 expected)"
    planned = Planned(campaign, 1)
    playing = Playing(planned=[planned], options=Options(), played=[(planned, hides)])
    assert of_playing("campaign run", playing, 6)["verdicts"] == {"environment": 1}
    broken = [{"name": "fenced", "verdict": "violated"}]
    verdicts = {"overall": "violated", "unexpected": "environment", "invariants": broken}
    assert outcome(verdicts) == ("environment", "fenced"), "the last line of a replay says it"


def test_the_step_summary_has_what_did_not_hold_first_and_no_markup_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, campaign: Campaign
) -> None:
    file = tmp_path / "summary.md"
    file.write_text("what was there\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    bad = RunResult(Path("runs/x"), "environment", 1.0, {}, "<img src=x> | `a`\n[b](c)")
    first, second = Planned(campaign, 1), Planned(campaign, 2)
    _append_step_summary([first, second], [(first, result("held")), (second, bad)])
    lines = file.read_text().splitlines()
    assert lines[0] == "what was there"
    assert lines[1] == "### kcontroller campaign run: 2 runs: 1 environment, 1 held"
    assert lines[5] == r"| x seed 2 | environment | \<img src=x\> \| \`a\` \[b\](c) |"
    assert lines[6] == "| x seed 1 | held |  |"


@pytest.mark.parametrize(
    ("runs", "jobs", "sizes"), [(8, 4, [2, 2, 2, 2]), (9, 4, [3, 3, 3]), (3, 8, [1, 1, 1]), (25, 2, [10, 10, 5])]
)
def test_all_processes_have_work(campaign: Campaign, runs: int, jobs: int, sizes: list[int]) -> None:
    planned = [Planned(campaign, seed) for seed in range(runs)]
    found = list(batches(Playing(planned=planned, options=Options(), jobs=jobs)))
    assert [len(seeds) for _, seeds in found] == sizes
    assert [seed for _, seeds in found for seed in seeds] == list(range(runs))


@pytest.mark.parametrize("may_stop", [{"max_seconds": 1.0}, {"fail_fast": True}])
def test_where_runs_may_stop_each_is_asked_for(campaign: Campaign, may_stop: dict[str, Any]) -> None:
    planned = [Planned(campaign, seed) for seed in range(8)]
    found = list(batches(Playing(planned=planned, options=Options(), jobs=2, **may_stop)))
    assert [seeds for _, seeds in found] == [[seed] for seed in range(8)]


def test_a_long_step_summary_says_what_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, campaign: Campaign
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    count = SUMMARY_ROWS + 3
    planned = [Planned(campaign, n) for n in range(count)]
    _append_step_summary(planned, [(run, result("held")) for run in planned])
    assert "and 3 more runs" in (tmp_path / "summary.md").read_text()


def test_a_step_summary_is_what_github_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, campaign: Campaign
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    planned = [Planned(campaign, n) for n in range(SUMMARY_ROWS)]
    long = RunResult(Path("runs/x"), "environment", 1.0, {}, "it ended: " + "\U0001f525|" * 20_000)
    _append_step_summary(planned, [(run, long) for run in planned])
    assert (tmp_path / "summary.md").stat().st_size < 1024 * 1024
    assert "it ended: " in (tmp_path / "summary.md").read_text()


def test_a_step_summary_that_cannot_be_written_is_a_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, campaign: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    _append_step_summary([Planned(campaign, 1)], [(Planned(campaign, 1), result("held"))])
    assert f"{tmp_path}: cannot be written" in capsys.readouterr().err


def test_a_hunt_of_what_only_real_nodes_can_be_names_who_plays_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[campaign]\nname = "mine"\nduration_s = 5\n[system]\ncommand = "{python} -c pass {zk}"\n')
    assert cli.main(["hunt", str(file)]) == 2
    said = (
        f"programs of yours\n  -> a hunt is in simulated time: play it with kcontroller campaign run {file} --seeds 1\n"
    )
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "/", "-1/2", f"1/{'9' * 5000}"])
def test_what_is_no_shard_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is no shard"):
        _shard(text)
    assert _shard("2/8") == (2, 8)


def failed(name: str, seen: str, **more: Any) -> dict[str, Any]:
    entry = {"name": name, "kind": "safety", "verdict": "violated", "seen": seen, "where": "y", "expected": "z"}
    return {**entry, "witness": None, "known": "", **more}


def test_equal_failures_are_told_together_and_the_seeds_named(campaign: Campaign) -> None:
    """Numbers differ from seed to seed: the cause does not."""
    details = [f"fault-{n} (pause): no evidence within 5 s" for n in (1, 2)]
    environment = [
        result("environment", parts={"observed": {"verdict": "environment", "detail": detail}}) for detail in details
    ]
    violated = [result("violated", invariants=[failed("epochs-grow", f"{n} after 7")]) for n in (3, 5)]
    other = result(
        "violated", invariants=[failed("leader-in-isr", "x"), failed("epochs-grow", "y", known="why, until")]
    )
    results = [environment[0], violated[0], result("held"), environment[1], other, violated[1]]
    played = [(Planned(campaign, seed), one) for seed, one in enumerate(results, start=1)]
    assert in_common(played) == [
        "environment in 2 of 6 runs: fault-1 (pause): no evidence within 5 s",
        "violated in 2 of 6 runs: epochs-grow",
        "violated in 1 of 6 runs: leader-in-isr",
    ]
    assert [seeds for _, seeds in failing(played).values()] == [[1, 2, 4, 5, 6]]


def test_invariants_whose_names_differ_in_a_number_are_two_failures(campaign: Campaign) -> None:
    names = [f"one_owner(/shard-{n}/leader)" for n in (1, 2)]
    results = [result("violated", invariants=[failed(name, "two owners")]) for name in names]
    played = [(Planned(campaign, seed), one) for seed, one in enumerate(results, start=1)]
    assert in_common(played) == [f"violated in 1 of 2 runs: {name}" for name in names]


def test_what_no_run_has_tested_is_said(campaign: Campaign) -> None:
    entries = [{"name": name, "kind": "safety", "verdict": "never exercised", "checks": 0} for name in ("a", "b")]
    results = [result("held", invariants=entries), result("held", invariants=[{**entries[0]}, failed("b", "x")])]
    played = [(Planned(campaign, seed), one) for seed, one in enumerate(results, start=1)]
    assert in_common(played)[0] == "never exercised in any run: a"


def test_what_nothing_was_tested_of_is_said_once() -> None:
    entry = {"kind": "safety", "verdict": "never exercised", "checks": 0}
    entries = [{"name": name, **entry} for name in ("one-owner(/x)", "epochs-grow")]
    note = "never exercised: one-owner(/x) (nobody made /x)"
    parts = {"invariants": {"verdict": "held", "count": 1, "of": 3, "detail": ""}}
    told = why(result("held", invariants=entries, parts=parts, notes=[note], transactions=1, faults=[]), verbose=True)
    assert [line for line in told if line.startswith("never")] == [note, "never exercised: epochs-grow"]


def test_a_run_says_how_much_of_its_plan_came_about() -> None:
    parts = {
        name: {"verdict": "held", "count": 3, "of": of, "detail": ""}
        for name, of in (("injected", 4), ("operations", 0))
    }
    assert line_of("x seed 1", result("held", parts=parts)) == "x seed 1: held in 1.0 s, faults 3 of 4  runs/x"
    refused = {"id": "admin-0", "action": "create_topic", "status": "fail", "why": "the topic exists"}
    drawn = {**refused, "id": "drawn-3"}
    played = result("held", parts=parts, operations=[refused, drawn])
    assert why(played) == ["operations: 1 refused: the topic exists"]


def test_what_is_odd_about_what_held_is_told_to_who_wants_to_know_more() -> None:
    entries = [{"name": "a", "verdict": "held", "kind": "safety", "seen": 'node 0\'s epoch "x" does not count'}]
    played = result("held", invariants=entries, parts={}, transactions=7, faults=[])
    assert why(played) == []
    assert why(played, verbose=True) == ["judged: ; 7 transactions", 'a: node 0\'s epoch "x" does not count']


def test_an_environment_verdict_names_its_reason_first() -> None:
    parts = {"observed": {"verdict": "environment", "detail": "fault-0 (kill): nothing"}}
    entries = [{"name": "a", "kind": "safety", "verdict": "unknown", "seen": "its checker raised"}]
    assert why(result("environment", parts=parts, invariants=entries))[0] == "not observed: fault-0 (kill): nothing"


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert paint("held", "held", Terminal()) == "\x1b[32mheld\x1b[0m"
    assert paint("held", "held", io.StringIO()) == "held"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("held", "held", Terminal()) == "held"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert paint("held", "held", Terminal()) == "held"
