"""The files of a big or odd report, from values: what is cut is said, and the worst stays."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from kcontroller_reports.block import block_text, dates, make_block
from kcontroller_reports.failures import Consequence, Failure
from kcontroller_reports.junit import junit_xml
from kcontroller_reports.markdown import LIMIT, append_summary, plain, report_md
from kcontroller_reports.page import page_html
from kcontroller_reports.summary import Fault, FaultKind, FaultTrouble, Invariant, Recovery, Run, Summary
from kcontroller_reports.summary_json import summary_json
from kcontroller_reports.timelines import MOST_SPANS, Timeline, read_timeline
from kcontroller_reports.words import milliseconds, seconds, short
from pytest_kcontroller.model.text import printable

HELD: dict[str, str | None] = dict.fromkeys(("injected", "operations", "observed", "invariants", "healed"), "held")
RUN = Run(
    campaign="smoke", seed=1, run="r", directory="runs/smoke/r", setup="process", verdict="held", parts=HELD,
    judged={}, notes=None, unfinished=False, known=None, reason=None, overloaded=0,
    backend="process", zookeeper="3.9", kcontroller="0.1", python="3.11", java="17", cpus="4", system="Linux x86_64",
    selectors=None, assignment="striped", kafka_release=None, kafka_compat=None, program=None, plugins=None,
    campaign_file="smoke.toml", mutant=None, noop_fault=None, commit="4f2a91c",
    started="2026-01-02T03:04:05.000Z", ended="2026-01-02T03:04:10.000Z", duration_us=5_000_000,
)  # fmt: skip
FAILURE = Failure(
    setup="process", verdict="violated", cause="no-stale-epoch-write", runs=1, known=0, campaign="smoke",
    campaign_file="smoke.toml", seed=1,
    run="r", directory="runs/smoke/r", backend="process", mutant=None, noop_fault=None, expected="", seen="", where="",
    kind="safety", witness=None, began_us=None, parts=HELD, faults=("kill (node 1)",), consequences=(),
)  # fmt: skip


def summary(runs: tuple[Run, ...] = (RUN,), failures: tuple[Failure, ...] = (), **more: Any) -> Summary:
    empty: dict[str, Any] = dict.fromkeys(("recovery", "invariants", "fault_kinds", "fault_troubles"), ())
    given = {**empty, "failure_faults": {f.directory: () for f in failures}, **more}
    return Summary(runs=runs, failures=failures, **given)


def test_the_first_line_says_how_many_runs_had_the_mutant() -> None:
    bad = replace(RUN, seed=2, mutant="KAFKA-7235")
    assert "mutant KAFKA-7235 in 1 run" in make_block(summary((RUN, RUN, bad))).header
    assert "mutant KAFKA-7235" in make_block(summary((bad, bad))).header


def drawn_timeline(leaders: int = 200) -> dict[str, Any]:
    rows = [
        {"topic": f"t{n % 40}", "partition": 0, "leader": n % 3, "leader_epoch": n, "controller_epoch": 1}
        | {"from_us": n * 10_000, "to_us": (n + 40) * 10_000}
        for n in range(leaders)
    ]
    event = {"t_us": 1_000_000, "writer": "zookeeper", "text": "a write " * 20, "witness": True}
    window = {"about": "invariant", "name": "cause 1", "at_us": 1_000_000, "from_us": 0, "to_us": 3_000_000}
    controller = {"view": "zookeeper", "node": 1, "epoch": 1, "session": "0xa", "from_us": 0, "to_us": None}
    return {
        "schema": 1, "started_us": 0, "ended_us": 3_000_000, "last_us": 3_000_000, "controllers": [controller],
        "leaders": rows, "sessions": [], "faults": [], "windows": [{**window, "left_out": 7, "events": [event] * 40}],
    }  # fmt: skip


def big(root: Path, long: str = "x" * 400) -> Summary:
    """500 runs, each violated for a cause of its own, each with a timeline."""
    runs, failures = [], []
    for number in range(500):
        folder = root / f"run-{number}"
        folder.mkdir()
        (folder / "timeline.json").write_text(json.dumps(drawn_timeline()))
        runs.append(
            replace(
                RUN, run=folder.name, seed=number, directory=str(folder), verdict="violated", reason=f"{number} {long}"
            )
        )
        failures.append(
            replace(
                FAILURE, cause=f"cause {number}", seen=long * 5, seed=number, run=folder.name, directory=str(folder)
            )
        )
    kind = FaultKind("process", "kill", 4000, 0, 4000, 4000, 0, 1, 2, 3, 4)
    trouble = tuple(FaultTrouble("process", "kill", f"reason {n}", 1, "d") for n in range(300))
    recovery = Recovery(
        "process", "kill", 4000, 1, 0, 1e5, 2e5, 3e5, math.inf, (*(float(n) for n in range(3999)), math.inf)
    )
    return summary(
        tuple(runs), tuple(failures), fault_kinds=(kind,), fault_troubles=trouble, recovery=(recovery,),
    )  # fmt: skip


def test_what_nobody_was_is_no_empty_table(tmp_path: Path) -> None:
    """As of a program of the user's: it has owners of its znodes, and neither a controller of Kafka's nor partitions."""
    owner = {"view": "program", "path": "/my/leader", "node": 1, "epoch": None, "session": "", "from_us": 0, "to_us": 9}
    drawn = drawn_timeline() | {"controllers": [], "leaders": [], "owners": [owner]}
    (tmp_path / "timeline.json").write_text(json.dumps(drawn))
    failed = replace(FAILURE, directory=str(tmp_path))
    told = summary((replace(RUN, verdict="violated", directory=str(tmp_path), assignment=None),), (failed,))
    page = page_html(told, make_block(told))
    assert "The same as tables" in page
    assert "<h4>Owners</h4>" in page and "<td>the program</td>" in page
    assert not any(f"<h4>{title}</h4>" in page for title in ("Controller", "Leaders", "Sessions"))
    assert "assignment</" not in page


def test_the_head_of_a_group_counts_all_of_its_runs_and_not_only_those_that_are_shown() -> None:
    runs = [replace(RUN, directory=f"runs/{number}", verdict="held", reason=None) for number in range(510)]
    told = summary((*runs[:505], *(replace(run, verdict="unknown") for run in runs[505:])), ())
    page = page_html(told, make_block(told))

    assert "The first 500 of 510" in page
    assert ">5 runs unknown<" in page and ">505 runs held<" in page


def test_a_report_of_500_failing_runs_stays_small_and_says_what_it_left_out(tmp_path: Path) -> None:
    told = big(tmp_path)
    page = page_html(told, make_block(told))

    assert len(page.encode()) < 4_000_000
    assert page.count('class="card"') == 10
    assert "10 of 500 runs that did not hold" in page
    assert "390 more causes of failure are left out here" in page
    assert "200 more reasons are in" in page
    assert "7 more events of this window" in page
    assert page == page_html(told, make_block(told)), "the same input, the same bytes"


def test_the_markdown_is_cut_below_githubs_limit_and_the_worst_comes_first(tmp_path: Path) -> None:
    told = big(tmp_path, long="é" * 900)
    block = make_block(told)
    whole, small = report_md(told, block), report_md(told, block, 20_000)

    assert len(whole.encode()) <= LIMIT and len(small.encode()) <= 20_000
    assert "of 500 runs are cut here" in whole
    assert "**cause 0**" in small and "of 500 failures are cut here" in small
    cut = re.search(r"_(\d+) of 500 failures", small)
    assert cut and small.count("(violated)") + int(cut[1]) == 500
    assert small.count("<details>") == small.count("</details>")


def test_a_full_step_summary_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * (LIMIT - 10))
    append_summary(file, summary(), make_block(summary()))
    assert file.stat().st_size == LIMIT - 10
    file.write_bytes(b"x" * (LIMIT - 20_000))
    append_summary(file, told := summary(), make_block(told))
    assert LIMIT - 20_000 < file.stat().st_size <= LIMIT


def test_summary_json_has_no_infinite_number_and_fits_its_schema() -> None:
    recovery = Recovery("process", "kill", 1, 1, 2, None, None, None, math.inf, (math.inf,))
    failure = replace(FAILURE, witness='{"a": NaN}')
    told = summary((replace(RUN, seed=None, verdict="violated"),), (failure,), recovery=(recovery,))
    value = json.loads(summary_json(told, make_block(told)), parse_constant=pytest.fail)

    jsonschema.validate(value, json.loads((files("kcontroller_reports") / "summary.schema.json").read_text()))
    assert value["recovery"][0]["max_us"] is None and value["recovery"][0]["not_ended"] == 1
    few = dict.fromkeys(("p50_us", "p95_us", "p99_us"), "too few values")
    assert value["recovery"][0]["no_value"] == few | {"max_us": "no end seen"}


def test_a_clock_that_was_set_is_noted_in_the_short_form_too() -> None:
    told = summary((replace(RUN, notes="the wall clock was set 1.000 s ahead"),))
    for text in (report_md(told, make_block(told)), page_html(told, make_block(told))):
        assert "the wall clock was set 1.000 s ahead" in text


def test_a_known_failure_is_said_everywhere_and_turns_nothing_red() -> None:
    known = replace(RUN, verdict="violated", known="no-stale-epoch-write: ISSUE-<1>, until 2027-03-01")
    failure = replace(FAILURE, known=1)
    told = summary((known, replace(known, seed=2, known=None)), (replace(failure, runs=2),))
    block = make_block(told)
    assert block.verdicts[0] == ("violated", "2 of 2 runs violated (1 of them known)")
    assert "known: the campaign file expects it in 1 of them" in block.failures[0].details
    suite = ElementTree.fromstring(junit_xml(told))
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    (skipped,) = suite.iter("skipped")
    assert skipped.get("message") == f"known: {known.known}"
    value = json.loads(summary_json(told, block))
    assert value["runs"]["known"] == 1
    assert [result["known"] for result in value["results"]] == [known.known, None]
    assert "known: no-stale-epoch-write: ISSUE-&lt;1&gt;" in page_html(told, block)
    assert "known: no-stale-epoch-write: ISSUE-" in report_md(told, block)


def test_junit_says_violated_environment_and_unknown_differently() -> None:
    runs = tuple(
        replace(RUN, seed=seed, verdict=verdict, reason="why")
        for seed, verdict in enumerate(("held", "violated", "environment", "unknown"))
    )
    cases = ElementTree.fromstring(junit_xml(summary(runs))).iter("testcase")
    said = {case.get("name"): [(child.tag, child.get("message")) for child in case][1:] for case in cases}
    assert said == {
        "seed-0": [], "seed-1": [("failure", "why")], "seed-2": [("error", "why")], "seed-3": [("skipped", "why")],
    }  # fmt: skip


def test_no_two_test_cases_of_junit_have_one_name() -> None:
    """CI servers keep one of them: a violated run must not vanish behind one that held."""
    again = replace(RUN, run="r2", directory="runs/smoke/r2", verdict="violated")
    elsewhere = replace(again, directory="other/smoke/r2")
    simulated = replace(RUN, run="s", directory="runs/smoke/s", setup="sim", backend="sim")
    once = replace(RUN, seed=2, run="r3", directory="runs/smoke/r3")
    runs = (RUN, again, elsewhere, simulated, once)
    cases = ElementTree.fromstring(junit_xml(summary(runs))).iter("testcase")
    assert [case.get("name") for case in cases] == [
        "seed-1 (process) (r)",
        "seed-1 (process) (r2) (runs/smoke/r2)",
        "seed-1 (process) (r2) (other/smoke/r2)",
        "seed-1 (sim)",
        "seed-2",
    ]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no timeline.json"),
        ("", "damaged"),
        ('{"schema": 1', "damaged"),
        ("[1]", "damaged"),
        ('{"schema": 2}', "newer version"),
        (json.dumps({**drawn_timeline(), "leaders": [{"topic": 1}]}), "damaged"),
        (json.dumps({**drawn_timeline(), "last_us": "soon", "ended_us": None}), "damaged"),
        (json.dumps({**drawn_timeline(), "controllers": [{"view": "node", "from_us": 1e300}]}), "damaged"),
        ("[" * 100_000, "damaged"),
    ],
)
def test_a_timeline_that_cannot_be_read_is_a_sentence(tmp_path: Path, content: str | None, why: str) -> None:
    if content is not None:
        (tmp_path / "timeline.json").write_text(content)
    found = read_timeline(tmp_path)
    assert isinstance(found, str) and why in found
    told = summary((replace(RUN, directory=str(tmp_path)),))
    assert f"No picture: {found}" in page_html(told, make_block(told))


def test_a_timeline_without_end_is_cut(tmp_path: Path) -> None:
    (tmp_path / "timeline.json").write_text(json.dumps(drawn_timeline(MOST_SPANS + 100)))
    found = read_timeline(tmp_path)
    assert isinstance(found, Timeline) and len(found.leaders) == MOST_SPANS - 1 and found.cut == 101
    told = summary((replace(RUN, directory=str(tmp_path)),))
    assert len(page_html(told, make_block(told))) < 1_000_000


def test_a_host_that_was_too_busy_is_named() -> None:
    told = summary((RUN, replace(RUN, overloaded=2, verdict="environment")))
    assert "in 1 of 2 runs ZooKeeper gave up a session that no fault was on" in page_html(told, make_block(told))


def test_words() -> None:
    assert [seconds(us) for us in (0, 34_584, 410_000, 36_000_000, 2_500_000_000, math.inf)] == [
        "0 ms", "35 ms", "0.41 s", "36.0 s", "42 min", "no end seen",
    ]  # fmt: skip
    assert [milliseconds(us) for us in (None, 3_140, 410_000)] == ["", "3.1 ms", "0.41 s"]
    assert printable("a\x00b\u202ec\U000e0001é名") == "a\\x00b\\u202ec\\U000e0001é名"
    assert printable("x" * 30, longest=10) == "x" * 10 + "… (20 more characters)"
    assert short("a" * 10 + "b" * 10, 9) == "aaaa…bbbb"
    assert plain("a|b_c <d> [e](f) https://x www.y\nz") == "a\\|b\\_c \\<d\\> \\[e\\](f) https\\://x www\\.y\\\\x0az"


def test_the_block_names_the_command_only_where_a_run_can_be_played_again() -> None:
    told = summary((replace(RUN, verdict="violated"),), (FAILURE, replace(FAILURE, seed=None)))
    assert block_text(make_block(told)).count("-> kcontroller replay runs/smoke/r") == 1


# --- figures of different setups, what was odd, what did not finish --------------------------------------------------


SIMULATED = replace(RUN, seed=2, directory="runs/smoke/s", setup="sim", backend="sim")
BUGGY = replace(SIMULATED, seed=3, directory="runs/smoke/m", setup="sim, KAFKA-1", mutant="KAFKA-1", verdict="violated")


def test_figures_of_different_setups_are_never_one_figure() -> None:
    recoveries = tuple(
        Recovery(setup, "kill", 1, 0, 0, None, None, None, took, (took,))
        for setup, took in (("process", 9e6), ("sim", 1e3), ("sim, KAFKA-1", 5e3))
    )
    broken = replace(FAILURE, setup="sim, KAFKA-1", directory="runs/smoke/m", mutant="KAFKA-1")
    told = summary((RUN, SIMULATED, BUGGY), (broken,), recovery=recoveries)
    block = make_block(told)

    assert [setup.label for setup in told.setups] == ["process", "sim", "sim · mutant KAFKA-1"]
    assert block.setups == (
        ("what ran", "runs", "violated", "held"), ("process", "1", "", "1"), ("sim", "1", "", "1"),
        ("sim · mutant KAFKA-1", "1", "1", ""),
    )  # fmt: skip
    assert block.failures[0].details[0] == "in 1 of 1 run with sim · mutant KAFKA-1, first in runs/smoke/m"
    assert [(lines.setup, lines.rows[0].n, lines.rows[0].largest) for lines in block.recovery] == [
        ("process", "1", "9.00 s"), ("sim", "1", "1 ms"), ("sim · mutant KAFKA-1", "1", "5 ms"),
    ]  # fmt: skip
    page = page_html(told, block)
    assert page.count('aria-label="recovery time') == 3, "a picture of its own for each"


def test_one_setup_has_no_label() -> None:
    (setup,) = summary((RUN, replace(RUN, seed=2))).setups
    assert (setup.label, make_block(summary()).setups) == ("", ())


def test_a_run_that_did_not_finish_is_no_headline_and_no_failure() -> None:
    killed = replace(RUN, seed=4, verdict="unknown", unfinished=True, reason="verdicts.json is missing")
    told = summary((RUN, killed))
    block = make_block(told)
    assert block.verdicts == (("held", "1 of 2 runs held"), ("unfinished", "1 did not finish"))
    assert make_block(summary((killed,))).verdicts == (("unfinished", "1 of 1 run did not finish"),)
    value = json.loads(summary_json(told, block))
    assert (value["verdict"], value["runs"]["unknown"], value["runs"]["unfinished"]) == ("unknown", 0, 1)
    assert "1 run did not finish" in page_html(told, block)


def test_what_was_broken_after_the_first_violation_is_folded_under_it() -> None:
    after = Consequence("all-led-after-healing", "liveness", 2, "orders-0 has no leader", "orders-0", 8_000_000)
    told = summary((replace(RUN, verdict="violated"),), (replace(FAILURE, consequences=(after,)),))
    block = make_block(told)
    assert "after it, in the same runs: all-led-after-healing (in 2)" in block.failures[0].details
    page = page_html(told, block)
    assert page.count('class="card"') == 1
    assert "After it, in 2 of these runs: <b>all-led-after-healing</b>" in page and "It began at 8.000 s." in page


def test_skipped_faults_are_one_line_and_no_failure() -> None:
    skipped = Fault("runs/smoke/r", "drawn-1", "kill", "any", None, "skipped", "skipped: no node", 1, None, None, None)
    hit = replace(
        skipped, fault="drawn-0", name="pause", node="1", status="healed", why="", applied_us=2, observed_us=3
    )
    kinds = (FaultKind("process", "kill", 7, 7, 0, 0, 0, None, None, None, None),)
    told = summary(
        (replace(RUN, verdict="violated"),),
        (FAILURE,),
        failure_faults={FAILURE.directory: (skipped, hit)},
        fault_kinds=kinds,
    )
    assert (skipped.failed, kinds[0].failed) == (False, 0)
    page = page_html(told, make_block(told))
    assert "Skipped, as there was nothing to hit: kill (1)." in page
    assert "Skipped, as there was nothing to hit: kill (7)." in page
    assert "skipped: no node" not in page


def test_names_of_faults_keep_their_capital_letters() -> None:
    """As a plugin has given them."""
    idle = Recovery("process", "MyFault", 0, 0, 3, None, None, None, None, ())
    told = summary(recovery=(idle,))
    assert "Nothing to recover after: MyFault (3)." in page_html(told, make_block(told))


def test_remarks_are_said_by_every_form_of_the_report() -> None:
    odd = "runs/x/history/node-1.jsonl:3: is no history event"
    told = summary(remarks=(odd,))
    block = make_block(told)
    assert odd in page_html(told, block)
    assert plain(odd) in report_md(told, block)
    assert json.loads(summary_json(told, block))["remarks"] == [odd]


def test_names_lead_to_what_they_mean() -> None:
    row = Invariant("process", "leader-in-isr", "safety", 1, 1, 0, 0, 0, 5, None)
    told = summary((replace(BUGGY, mutant="KAFKA-6082"),), invariants=(row, replace(row, invariant="one-of-a-plugin")))
    told = replace(told, invariants=tuple(replace(one, setup=BUGGY.setup) for one in told.invariants))
    page = page_html(told, make_block(told))
    assert '<a class="explained" href="#invariant-leader-in-isr">leader-in-isr</a>' in page
    for anchor in re.findall(r'href="#([^"]*)"', page):
        assert f'id="{anchor}"' in page, anchor
    assert 'id="mutant-KAFKA-6082"' in page
    assert ">one-of-a-plugin<" in page.replace('<td class="first name">one-of', "<td>one-of")


def test_dates() -> None:
    assert dates(["2026-01-02T03:04:05Z", None, "2026-01-02T03:04:59Z"]) == "2026-01-02 03:04 UTC"
    assert dates(["2026-01-02T05:06:05Z", "2026-01-02T03:04:05Z"]) == "2026-01-02 03:04 to 05:06 UTC"
    assert dates(["2026-01-01T05:06:05Z", "2026-01-02T03:04:05Z"]) == "2026-01-01 05:06 to 2026-01-02 03:04 UTC"
    assert dates([None, "yesterday"]) == ""
    assert make_block(summary()).header[0] == "2026-01-02 03:04 UTC"


def test_how_much_was_judged_is_said_for_each_setup_and_notes_are_shown() -> None:
    real = [replace(RUN, seed=seed, judged={"injected_count": 4, "injected_of": 500 * seed}) for seed in (1, 2)]
    noted = replace(SIMULATED, judged={"injected_count": 0, "injected_of": 7}, notes="the clock was set by +50 ms")
    told = summary((*real, noted))
    block = make_block(told)
    assert block.judged == (("process", "8 of 1,500 faults applied"), ("sim", "0 of 7 faults applied"))
    assert "JUDGED  with process: 8 of 1,500 faults applied" in block_text(block)
    assert "Judged with sim: 0 of 7 faults applied." in report_md(told, block)
    assert "the clock was set by +50 ms" in page_html(told, block)
