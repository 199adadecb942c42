"""What a report says, as one value: computed once by Spark, drawn twice (terminal and page).

Times are microseconds. A recovery without an end is infinite, so that it is the largest instead of missing. No figure is
over more than one setup (backend, mutant, plugins, commit ...): each row says whose it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from kcontroller_reports.failures import Failure, failures
from kcontroller_reports.figures import (
    fault_kind_rows,
    fault_name,
    fault_trouble_rows,
    invariant_rows,
    recovery_rows,
)
from kcontroller_reports.tables import PARTS, Tables
from kcontroller_reports.words import SKIPPED

#: So many failures are told in full; the tables have all.
SHOWN_FAILURES = 10
#: How a run came out: its verdict, and apart from `unknown` that it was killed, interrupted, or is still going on.
OUTCOMES = ("violated", "unknown", "environment", "unfinished", "held")


@dataclass(frozen=True, slots=True)
class Run:
    campaign: str
    seed: int | None
    run: str
    directory: str
    setup: str
    verdict: str
    parts: dict[str, str | None]
    judged: dict[
        str, int | None
    ]  # `injected_count`, `injected_of` ...: how much there was to judge, and how much came about
    notes: str | None  # what explains what looks odd, such as a clock that was set
    unfinished: bool
    known: str | None  # why its violations are expected, from the campaign file
    reason: str | None  # damage, or what the parts of the verdict say
    overloaded: int  # sessions that ZooKeeper gave up without a fault on them
    backend: str | None
    zookeeper: str | None
    kcontroller: str | None
    python: str | None
    java: str | None
    cpus: str | None
    system: str | None
    selectors: str | None
    assignment: str | None
    kafka_release: str | None  # the release of Kafka's brokers, where the nodes are some
    kafka_compat: str | None  # the bugs of Kafka's that nodes of ours have
    program: str | None  # what `[system]` starts, where the nodes are programs of a user's
    plugins: str | None  # those that are not ours, with their versions
    campaign_file: str | None
    mutant: str | None
    noop_fault: str | None
    commit: str | None
    started: str | None
    ended: str | None
    duration_us: int | None

    @property
    def outcome(self) -> str:
        return "unfinished" if self.verdict == "unknown" and self.unfinished else self.verdict


@dataclass(frozen=True, slots=True)
class Setup:
    """What some runs had in common that figures depend on. `label` has only what tells it from the others in the report."""

    name: str
    label: str
    altered: bool  # with a mutant, or without a fault: what fails there was made to fail
    runs: tuple[Run, ...]

    def count(self, outcome: str) -> int:
        return sum(run.outcome == outcome for run in self.runs)

    @property
    def judged(self) -> tuple[str, ...]:
        """How much there was to judge, over its runs; nothing of runs that do not say so."""
        found = []
        for part, words in _JUDGED.items():
            count, of = (sum(run.judged.get(f"{part}_{what}") or 0 for run in self.runs) for what in ("count", "of"))
            if of:
                found.append(f"{count:,} of {of:,} {words}")
        return tuple(found)


_JUDGED = {
    "injected": "faults applied", "operations": "operations succeeded", "observed": "effects observed",
    "invariants": "invariants exercised", "healed": "faults healed",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault on one node in one run."""

    directory: str
    fault: str
    name: str
    target: str | None
    node: str | None
    status: str | None
    why: str | None
    asked_us: int | None
    applied_us: int | None
    observed_us: int | None
    healed_us: int | None

    @property
    def skipped(self) -> bool:
        """It had nothing to hit, and counts neither as done nor as failed."""
        return self.status == SKIPPED

    @property
    def failed(self) -> bool:
        """It was not applied, not observed or not healed; one that nobody observed is healed all the same."""
        return not self.skipped and (bool(self.why) or (self.status or "").startswith("not-"))


@dataclass(frozen=True, slots=True)
class FaultKind:
    """How often a kind of fault was asked for and worked, and what it took until it was applied and seen."""

    setup: str
    fault: str
    asked: int
    skipped: int
    applied: int
    observed: int
    healed: int
    apply_p50_us: int | None
    apply_max_us: int | None
    observe_p50_us: int | None
    observe_max_us: int | None

    @property
    def failed(self) -> int:
        return self.asked - self.skipped - min(self.applied, self.observed, self.healed)


@dataclass(frozen=True, slots=True)
class FaultTrouble:
    """Faults that failed in one way for one reason, with the first run of them."""

    setup: str
    fault: str
    why: str
    n: int
    directory: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """Recovery of one kind of fault: `n` times, of which `endless` were not seen to end; `idle`: nothing was lost."""

    setup: str
    fault: str
    n: int
    endless: int
    idle: int
    p50_us: float | None
    p95_us: float | None
    p99_us: float | None
    max_us: float | None
    times: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Invariant:
    setup: str
    invariant: str
    kind: str | None
    runs: int
    held: int
    violated: int
    unknown: int
    never: int  # it had nothing to check
    checks: int
    example: str | None  # the first run that violated it, else the first in which it is unknown


@dataclass(frozen=True, slots=True)
class Summary:
    """Every list is in a stable order, what is worst first."""

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    recovery: tuple[Recovery, ...]
    invariants: tuple[Invariant, ...]
    fault_kinds: tuple[FaultKind, ...]
    fault_troubles: tuple[FaultTrouble, ...]
    failure_faults: dict[str, tuple[Fault, ...]]  # of the first SHOWN_FAILURES examples, by directory
    remarks: tuple[str, ...] = ()  # what was odd about files and directories

    def count(self, outcome: str) -> int:
        return sum(run.outcome == outcome for run in self.runs)

    @property
    def known(self) -> int:
        """Runs that are violated as their campaign file expects."""
        return sum(run.known is not None for run in self.runs)

    @property
    def setups(self) -> tuple[Setup, ...]:
        """The code as it is before mutants."""
        return setups(self.runs)


DIFFERENCES = {
    "backend": "backend",
    "zookeeper": "ZooKeeper",
    "kafka_release": "release of Kafka's brokers",
    "kafka_compat": "kafka_compat",
    "mutant": "mutant",
    "noop_fault": "fault left out",
    "selectors": "selectors",
    "assignment": "assignment",
    "program": "program of [system]",
    "plugins": "plugins that are not ours",
    "commit": "commit",
}
"""What makes a setup of its own, and the words for it."""
_SAID = {
    "zookeeper": "ZooKeeper ",
    "kafka_release": "Kafka ",
    "kafka_compat": "kafka_compat ",
    "mutant": "mutant ",
    "noop_fault": "without the fault ",
    "selectors": "selectors ",
    "assignment": "assignment ",
    "program": "program ",
    "plugins": "plugins ",
    "commit": "commit ",
}


def setups(runs: Sequence[Run]) -> tuple[Setup, ...]:
    """The setups of these runs. Their labels are empty if there is only one."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.setup, []).append(run)
    samples = [group[0] for group in groups.values()]
    differ = [name for name in DIFFERENCES if len({getattr(run, name) for run in samples}) > 1]
    if len({(run.backend, run.zookeeper) for run in samples}) == len({run.backend for run in samples}):
        differ = [name for name in differ if name != "zookeeper"]  # each backend has its own: its name says enough
    if len({run.commit for run in samples if run.commit}) < 2 and len(
        {_label(run, differ[:-1]) for run in samples}
    ) == len(samples):
        differ = [name for name in differ if name != "commit"]  # the only one that is known tells nobody from another
    found = [
        Setup(name, _label(group[0], differ), bool(group[0].mutant or group[0].noop_fault), tuple(group))
        for name, group in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (one.altered, one.name)))


def _label(run: Run, differ: Sequence[str]) -> str:
    if not differ:
        return ""
    values = {name: getattr(run, name) for name in ("backend", *(name for name in differ if name != "backend"))}
    words = [
        f"{_SAID.get(name, '')}{value[:10] if name == 'commit' else value}" for name, value in values.items() if value
    ]
    return " · ".join(words) or "a run that does not say what it was"


def summarize(tables: Tables, remarks: Sequence[str] = ()) -> Summary:
    """Runs the aggregations; those about failures only if there are some, since each query of Spark costs a second."""
    runs = tuple(_run(row) for row in _collect(tables.runs.transform(run_rows), "campaign", "seed", "run", "directory"))
    found = failures(tables) if any(run.outcome not in ("held", "unfinished") for run in runs) else ()
    return Summary(
        runs=runs,
        failures=found,
        recovery=tuple(_recovery(row) for row in _collect(tables.faults.transform(recovery_rows), "setup", "fault")),
        invariants=tuple(sorted(
            (Invariant(**row.asDict()) for row in tables.invariants.transform(invariant_rows).collect()),
            key=lambda row: (row.setup, -row.violated, -row.unknown, -row.never, row.invariant),
        )),
        fault_kinds=tuple(sorted(
            (FaultKind(**row.asDict()) for row in tables.faults.transform(fault_kind_rows).collect()),
            key=lambda row: (row.setup, -row.failed, row.fault),
        )),
        fault_troubles=tuple(sorted(
            (FaultTrouble(**row.asDict()) for row in tables.faults.transform(fault_trouble_rows).collect()),
            key=lambda row: (row.setup, -row.n, row.fault, row.why),
        )),
        failure_faults=_failure_faults(tables.faults, [failure.directory for failure in found[:SHOWN_FAILURES]]),
        remarks=tuple(remarks),
    )  # fmt: skip


def run_rows(runs: DataFrame) -> DataFrame:
    """The columns of the page."""
    return runs.select(
        "campaign", "seed", "run", "directory", "setup", "verdict", F.struct(*PARTS).alias("parts"),
        F.struct(*[f"{part}_{what}" for part in PARTS for what in ("count", "of")]).alias("judged"),
        "notes", "unfinished", "known",
        F.coalesce("damage", "detail").alias("reason"),
        F.coalesce("overloaded", F.lit(0)).alias("overloaded"), "backend", "zookeeper", "kcontroller", "python", "java",
        "cpus", "system", "selectors", "assignment", "kafka_release", "kafka_compat", "program", "plugins",
        "campaign_file", "mutant", "noop_fault", "commit", "started", "ended", "duration_us",
    )  # fmt: skip


_FAULT = (
    "directory", "fault", "name", "target", "node", "status", "why", "asked_us", "applied_us", "observed_us", "healed_us",
)  # fmt: skip


def _failure_faults(faults: DataFrame, directories: list[str]) -> dict[str, tuple[Fault, ...]]:
    if not directories:
        return {}
    of_them = faults.where(F.col("directory").isin(directories)).withColumn("name", fault_name()).select(*_FAULT)
    found = sorted(
        (Fault(**row.asDict()) for row in of_them.collect()), key=lambda fault: (fault.asked_us or 0, fault.fault)
    )
    return {directory: tuple(f for f in found if f.directory == directory) for directory in directories}


def _collect(rows: DataFrame, *keys: str) -> list[Row]:
    """Rows by `keys`, nulls first. Sorted here: these few rows are not worth a distributed sort."""
    return sorted(rows.collect(), key=lambda row: [(row[key] is not None, row[key]) for key in keys])


def _run(row: Row) -> Run:
    return Run(**{**row.asDict(), "parts": row["parts"].asDict(), "judged": row["judged"].asDict()})


def _recovery(row: Row) -> Recovery:
    return Recovery(**{**row.asDict(), "times": tuple(row["times"])})
