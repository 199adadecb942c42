"""What a report says, as one value: computed once by Spark, drawn twice (terminal and page).

Times are microseconds. A recovery without an end is infinite, so that it is the largest instead of missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from kcontroller_reports.tables import PARTS, VERDICTS, Tables

#: From how many values on a percentile says something; below, only the largest value is shown, with n.
NEEDED_FOR_P50, NEEDED_FOR_P95, NEEDED_FOR_P99 = 3, 20, 100
#: So many failures are told in full, and so many faults are listed one by one; the tables have all.
SHOWN_FAILURES, SHOWN_FAULTS = 10, 200


@dataclass(frozen=True, slots=True)
class Run:
    campaign: str
    seed: int | None
    run: str
    directory: str
    verdict: str
    injected: str | None
    observed: str | None
    invariants: str | None
    healed: str | None
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
    campaign_file: str | None
    mutant: str | None
    noop_fault: str | None
    commit: str | None
    duration_us: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Runs that did not hold for one cause, with the first of them as the example."""

    verdict: str
    cause: str
    runs: int
    known: int  # in so many of them it is expected
    campaign: str
    campaign_file: str | None
    seed: int | None
    run: str
    directory: str
    backend: str | None
    mutant: str | None
    noop_fault: str | None
    expected: str | None
    seen: str | None
    where: str | None
    kind: str | None
    witness: str | None
    parts: dict[str, str | None]
    faults: tuple[str, ...]


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
    def failed(self) -> bool:
        """It was not applied, not observed or not healed; one that nobody observed is healed all the same."""
        return bool(self.why) or (self.status or "").startswith("not-")


@dataclass(frozen=True, slots=True)
class FaultKind:
    """How often a kind of fault was asked for and worked, and what it took until it was applied and seen."""

    fault: str
    asked: int
    applied: int
    observed: int
    healed: int
    apply_p50_us: int | None
    apply_max_us: int | None
    observe_p50_us: int | None
    observe_max_us: int | None


@dataclass(frozen=True, slots=True)
class FaultTrouble:
    """Faults that failed in one way for one reason, with the first run of them."""

    fault: str
    why: str
    n: int
    directory: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """Recovery of one kind of fault: `n` times, of which `endless` were not seen to end; `idle`: nothing was lost."""

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
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    recovery: tuple[Recovery, ...]
    invariants: tuple[Invariant, ...]
    fault_kinds: tuple[FaultKind, ...]
    fault_troubles: tuple[FaultTrouble, ...]
    faults: tuple[Fault, ...]  # the failed ones first, at most SHOWN_FAULTS
    fault_count: int
    failure_faults: dict[str, tuple[Fault, ...]]  # of the first SHOWN_FAILURES examples, by directory

    def count(self, verdict: str) -> int:
        return sum(run.verdict == verdict for run in self.runs)

    @property
    def known(self) -> int:
        """Runs that are violated as their campaign file expects."""
        return sum(run.known is not None for run in self.runs)


def summarize(tables: Tables) -> Summary:
    """Runs the aggregations; every list has a stable order."""
    failures = tuple(_failure(row) for row in _ordered_failures(failure_rows(tables).collect()))
    named = tables.faults.transform(named_faults)
    kinds = tuple(FaultKind(**row.asDict()) for row in _collect(named.transform(fault_kind_rows), "fault"))
    return Summary(
        runs=tuple(
            Run(**row.asDict())
            for row in _collect(tables.runs.transform(run_rows), "campaign", "seed", "run", "directory")
        ),
        failures=failures,
        recovery=tuple(_recovery(row) for row in _collect(tables.faults.transform(recovery_rows), "fault")),
        invariants=tuple(
            Invariant(**row.asDict()) for row in _collect(tables.invariants.transform(invariant_rows), "invariant")
        ),
        fault_kinds=kinds,
        fault_troubles=tuple(
            FaultTrouble(**row.asDict()) for row in _collect(named.transform(fault_trouble_rows), "fault", "why")
        ),
        faults=tuple(_fault(row) for row in _listed(named).limit(SHOWN_FAULTS).collect()),
        fault_count=sum(kind.asked for kind in kinds),
        failure_faults=_failure_faults(named, [failure.directory for failure in failures[:SHOWN_FAILURES]]),
    )


def run_rows(runs: DataFrame) -> DataFrame:
    """The columns of the page."""
    return runs.select(
        "campaign", "seed", "run", "directory", "verdict", "injected", "observed", "invariants", "healed", "known",
        F.coalesce("damage", "detail").alias("reason"),
        F.coalesce("overloaded", F.lit(0)).alias("overloaded"), "backend", "zookeeper", "kcontroller", "python", "java",
        "cpus", "system", "selectors", "assignment", "campaign_file", "mutant", "noop_fault", "commit", "duration_us",
    )  # fmt: skip


def failure_rows(tables: Tables) -> DataFrame:
    """One row per verdict and cause: how many runs, and as the example the first one, of those whose files are whole if
    there is one."""
    broken = tables.invariants.where(F.col("verdict") == "violated").select(
        "directory", "invariant", "expected", "seen", "where", "kind", "witness"
    )
    faults = tables.faults.transform(faults_of_run)
    cause = F.when(F.col("verdict") == "violated", F.coalesce("invariant", "detail")).otherwise(
        F.coalesce("damage", "detail")
    )
    example = [
        "campaign", "seed", "run", "directory", "campaign_file", "backend", "mutant", "noop_fault",
        "expected", "seen", "where", "kind", "witness", "parts", "faults",
    ]  # fmt: skip
    parts = F.struct(*[F.col(name) for name in PARTS])
    return (
        tables.runs.where(F.col("verdict") != "held")
        # In a run that is not violated a broken liveness invariant is no finding: its environment failed.
        .join(broken.withColumn("verdict", F.lit("violated")), ["directory", "verdict"], "left")
        .join(faults, "directory", "left")
        .withColumn("parts", parts)
        .withColumn("cause", F.coalesce(cause, F.lit("the run does not say why")))
        .groupBy("verdict", "cause")
        .agg(
            F.count_distinct("directory").alias("runs"),
            F.count_distinct(F.when(F.col("known").isNotNull(), F.col("directory"))).alias("known"),
            F.min(F.struct(F.col("damage").isNotNull().alias("damaged"), *example)).alias("first"),
        )
        .select("verdict", "cause", "runs", "known", *(f"first.{name}" for name in example))
    )


def faults_of_run(faults: DataFrame) -> DataFrame:
    """`faults` of each run in the order in which they were asked for: `kill(node 1)`."""
    name = F.concat(
        _fault_name(), F.when(F.col("node").isNotNull(), F.concat(F.lit(" (node "), "node", F.lit(")"))).otherwise("")
    )
    return (
        faults.groupBy("directory")
        .agg(F.array_sort(F.collect_list(F.struct("asked_us", "fault", name.alias("name")))).alias("all"))
        .select("directory", F.transform("all", lambda fault: fault["name"]).alias("faults"))
    )


def recovery_rows(faults: DataFrame) -> DataFrame:
    """One row per kind and mode of fault. What the run says of its recoveries stands: yes, no, nothing to recover."""
    ended = F.col("recovery_us").isNotNull()
    by_now = F.coalesce("recovered", F.when(ended, F.lit("yes")).otherwise("no"))
    recovered = F.when(F.col("start_us").isNotNull(), by_now)
    took = F.when(ended & (recovered == "yes"), F.col("recovery_us").cast("double")).when(
        recovered != "nothing to recover", F.lit(float("inf"))
    )
    return (
        faults.withColumns({"fault": _fault_name(), "recovered": recovered, "took": took})
        .groupBy("fault")
        .agg(
            F.count("took").alias("n"),
            F.count_if(F.col("took") == float("inf")).alias("endless"),
            F.count_if(F.col("recovered") == "nothing to recover").alias("idle"),
            # Observed values (nearest rank), exact: with few values an interpolated one would be invented.
            *[
                F.expr(f"percentile_disc({part}) WITHIN GROUP (ORDER BY took)").alias(name)
                for name, part in _PERCENTILES
            ],
            F.max("took").alias("max_us"),
            F.sort_array(F.collect_list("took")).alias("times"),
        )
        .where((F.col("n") > 0) | (F.col("idle") > 0))
        .select(
            "fault",
            "n",
            "endless",
            "idle",
            F.when(F.col("n") >= NEEDED_FOR_P50, F.col("p50")).alias("p50_us"),
            F.when(F.col("n") >= NEEDED_FOR_P95, F.col("p95")).alias("p95_us"),
            F.when(F.col("n") >= NEEDED_FOR_P99, F.col("p99")).alias("p99_us"),
            "max_us",
            "times",
        )
    )


_PERCENTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
_FAULT = (
    "directory", "fault", "name", "target", "node", "status", "why", "asked_us", "applied_us", "observed_us", "healed_us",
)  # fmt: skip


def named_faults(faults: DataFrame) -> DataFrame:
    """The columns of a listed fault; `name` is its kind and mode."""
    return faults.withColumn("name", _fault_name()).select(*_FAULT)


def _reason() -> Column:
    return F.when(F.col("why") != "", F.col("why"))


def _failed() -> Column:
    """As `Fault.failed`."""
    return _reason().isNotNull() | F.coalesce(F.col("status").startswith("not-"), F.lit(False))


def _listed(named: DataFrame) -> DataFrame:
    """The failed ones first, then by run and time."""
    return named.orderBy(_failed().desc(), "directory", "asked_us", "fault", "node")


def fault_kind_rows(named: DataFrame) -> DataFrame:
    """One row per kind and mode: how many were asked for, applied, observed and healed, and the delays."""
    apply, observe = F.col("applied_us") - F.col("asked_us"), F.col("observed_us") - F.col("applied_us")
    delays = [("apply", apply), ("observe", observe)]
    return (
        named.withColumns({f"{name}_us": delay for name, delay in delays})
        .groupBy(F.col("name").alias("fault"))
        .agg(
            F.count("*").alias("asked"),
            *[F.count(f"{step}_us").alias(step) for step in ("applied", "observed", "healed")],
            *[
                F.expr(f"{percentile} WITHIN GROUP (ORDER BY {name}_us)").cast("bigint").alias(f"{name}_{column}_us")
                for name, _ in delays
                for column, percentile in (("p50", "percentile_disc(0.5)"), ("max", "percentile_disc(1.0)"))
            ],
        )
    )


def fault_trouble_rows(named: DataFrame) -> DataFrame:
    """One row per kind and reason of failing."""
    return (
        named.where(_failed())
        .groupBy(F.col("name").alias("fault"), F.coalesce(_reason(), F.col("status")).alias("why"))
        .agg(F.count("*").alias("n"), F.min("directory").alias("directory"))
    )


def invariant_rows(invariants: DataFrame) -> DataFrame:
    """One row per invariant: in how many runs it held, and what it had to go on."""

    never = F.coalesce("checks", F.lit(1)) == 0
    verdict = F.when(never & F.col("verdict").isin("held", "never exercised"), "never").otherwise(F.col("verdict"))
    names = ("held", "violated", "unknown", "never")
    return (
        invariants.withColumn("verdict", verdict)
        .groupBy("invariant")
        .agg(
            F.min("kind").alias("kind"),
            F.count("*").alias("runs"),
            *[F.count_if(F.col("verdict") == name).alias(name) for name in names],
            F.coalesce(F.sum("checks"), F.lit(0)).alias("checks"),
            *[F.min(F.when(F.col("verdict") == name, F.col("directory"))).alias(f"in_{name}") for name in names[1:3]],
        )
        .select("invariant", "kind", "runs", *names, "checks", F.coalesce("in_violated", "in_unknown").alias("example"))
    )


def _fault_name() -> Column:
    return F.concat_ws(":", "kind", "mode")


def _collect(rows: DataFrame, *keys: str) -> list[Row]:
    """Rows by `keys`, nulls first. Sorted here: these few rows are not worth a distributed sort."""
    return sorted(rows.collect(), key=lambda row: [(row[key] is not None, row[key]) for key in keys])


def _ordered_failures(rows: list[Row]) -> list[Row]:
    """What is expected in all its runs comes after what is not, and what should have come about in the end (liveness) after
    what must never happen: it is often the consequence."""

    def weight(row: Row) -> tuple[int, bool, bool, int, str]:
        known, liveness = row["known"] == row["runs"], row["kind"] == "liveness"
        return VERDICTS.index(row["verdict"]), known, liveness, -row["runs"], row["cause"]

    return sorted(rows, key=weight)


def _failure(row: Row) -> Failure:
    return Failure(**{**row.asDict(), "faults": tuple(row["faults"] or ()), "parts": row["parts"].asDict()})


def _recovery(row: Row) -> Recovery:
    return Recovery(**{**row.asDict(), "times": tuple(row["times"])})


def _fault(row: Row) -> Fault:
    return Fault(**row.asDict())


def _failure_faults(named: DataFrame, directories: list[str]) -> dict[str, tuple[Fault, ...]]:
    found = [_fault(row) for row in _listed(named.where(F.col("directory").isin(directories))).collect()]
    return {
        directory: tuple(
            sorted((f for f in found if f.directory == directory), key=lambda f: (f.asked_us or 0, f.fault))
        )
        for directory in directories
    }
