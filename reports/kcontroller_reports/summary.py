"""What a report says, as one value: computed once by Spark, drawn twice (terminal and page).

Times are microseconds. A recovery without an end is infinite, so that it is the largest instead of missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from kcontroller_reports.tables import VERDICTS, Tables

#: From how many values on a percentile says something; below, only the largest value is shown, with n.
NEEDED_FOR_P50, NEEDED_FOR_P95 = 3, 20


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
    reason: str | None  # damage, or what the parts of the verdict say
    backend: str | None
    zookeeper: str | None
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
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recovery:
    """Recovery of one kind of fault: `n` times, of which `endless` were not seen to end; `idle`: nothing was lost."""

    fault: str
    n: int
    endless: int
    idle: int
    p50_us: float | None
    p95_us: float | None
    max_us: float | None


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


@dataclass(frozen=True, slots=True)
class Summary:
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    recovery: tuple[Recovery, ...]
    invariants: tuple[Invariant, ...]

    def count(self, verdict: str) -> int:
        return sum(run.verdict == verdict for run in self.runs)


def summarize(tables: Tables) -> Summary:
    """Runs the aggregations; every list has a stable order."""
    return Summary(
        runs=tuple(
            Run(**row.asDict())
            for row in _collect(tables.runs.transform(run_rows), "campaign", "seed", "run", "directory")
        ),
        failures=tuple(_failure(row) for row in _ordered_failures(failure_rows(tables).collect())),
        recovery=tuple(Recovery(**row.asDict()) for row in _collect(recovery_rows(tables), "fault")),
        invariants=tuple(
            Invariant(**row.asDict()) for row in _collect(tables.invariants.transform(invariant_rows), "invariant")
        ),
    )


def run_rows(runs: DataFrame) -> DataFrame:
    """The columns of the page."""
    return runs.select(
        "campaign", "seed", "run", "directory", "verdict", "injected", "observed", "invariants", "healed",
        F.coalesce("damage", "detail").alias("reason"),
        "backend", "zookeeper", "mutant", "noop_fault", "commit", "duration_us",
    )  # fmt: skip


def failure_rows(tables: Tables) -> DataFrame:
    """One row per verdict and cause: how many runs, and the first run as the example."""
    broken = tables.invariants.where(F.col("verdict") == "violated").select(
        "directory", "invariant", "expected", "seen", "where"
    )
    faults = tables.faults.transform(faults_of_run)
    cause = F.when(F.col("verdict") == "violated", F.coalesce("invariant", "detail")).otherwise(
        F.coalesce("damage", "detail")
    )
    example = [
        "campaign", "seed", "run", "directory", "campaign_file", "backend", "mutant", "noop_fault",
        "expected", "seen", "where", "faults",
    ]  # fmt: skip
    return (
        tables.runs.where(F.col("verdict") != "held")
        # In a run that is not violated a broken liveness invariant is no finding: its environment failed.
        .join(broken.withColumn("verdict", F.lit("violated")), ["directory", "verdict"], "left")
        .join(faults, "directory", "left")
        .withColumn("cause", F.coalesce(cause, F.lit("the run does not say why")))
        .groupBy("verdict", "cause")
        .agg(F.count_distinct("directory").alias("runs"), F.min(F.struct(*example)).alias("first"))
        .select("verdict", "cause", "runs", "first.*")
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


def recovery_rows(tables: Tables) -> DataFrame:
    """One row per kind and mode of fault.

    A fault without a recovery time had nothing to recover if nothing was elected and the cluster is known to converge;
    in any other run it counts as not seen to end.
    """
    measured, ended = F.col("start_us").isNotNull(), F.col("recovery_us").isNotNull()
    idle = measured & ~ended & F.col("converged") & F.col("published_us").isNull()
    endless = measured & ~ended & ~idle
    took = F.when(ended, F.col("recovery_us").cast("double")).when(endless, F.lit(float("inf")))
    return (
        tables.faults.join(converged_runs(tables), "directory")
        .withColumns({"fault": _fault_name(), "took": took, "endless": endless, "idle": idle})
        .groupBy("fault")
        .agg(
            F.count("took").alias("n"),
            F.count_if("endless").alias("endless"),
            F.count_if("idle").alias("idle"),
            # Observed values (nearest rank), exact: with few values an interpolated one would be invented.
            F.expr("percentile_disc(0.5) WITHIN GROUP (ORDER BY took)").alias("p50"),
            F.expr("percentile_disc(0.95) WITHIN GROUP (ORDER BY took)").alias("p95"),
            F.max("took").alias("max_us"),
        )
        .where((F.col("n") > 0) | (F.col("idle") > 0))
        .select(
            "fault",
            "n",
            "endless",
            "idle",
            F.when(F.col("n") >= NEEDED_FOR_P50, F.col("p50")).alias("p50_us"),
            F.when(F.col("n") >= NEEDED_FOR_P95, F.col("p95")).alias("p95_us"),
            "max_us",
        )
    )


def converged_runs(tables: Tables) -> DataFrame:
    """`converged` of each run: it held, or it has liveness invariants and they all held."""
    live = (
        tables.invariants.where(F.col("kind") == "liveness")
        .groupBy("directory")
        .agg(F.bool_and(F.col("verdict") == "held").alias("live"))
    )
    converged = (F.col("verdict") == "held") | F.coalesce("live", F.lit(False))
    return tables.runs.join(live, "directory", "left").select("directory", converged.alias("converged"))


def invariant_rows(invariants: DataFrame) -> DataFrame:
    """One row per invariant: in how many runs it held, and what it had to go on."""

    never = F.coalesce("checks", F.lit(1)) == 0
    verdict = F.when(never & (F.col("verdict") == "held"), "never").otherwise(F.col("verdict"))
    names = ("held", "violated", "unknown", "never")
    return (
        invariants.withColumn("verdict", verdict)
        .groupBy("invariant")
        .agg(
            F.min("kind").alias("kind"),
            F.count("*").alias("runs"),
            *[F.count_if(F.col("verdict") == name).alias(name) for name in names],
            F.coalesce(F.sum("checks"), F.lit(0)).alias("checks"),
        )
        .select("invariant", "kind", "runs", *names, "checks")
    )


def _fault_name() -> Column:
    return F.concat_ws(":", "kind", "mode")


def _collect(rows: DataFrame, *keys: str) -> list[Row]:
    """Rows by `keys`, nulls first. Sorted here: these few rows are not worth a distributed sort."""
    return sorted(rows.collect(), key=lambda row: [(row[key] is not None, row[key]) for key in keys])


def _ordered_failures(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (VERDICTS.index(row["verdict"]), -row["runs"], row["cause"]))


def _failure(row: Row) -> Failure:
    return Failure(**{**row.asDict(), "faults": tuple(row["faults"] or ())})
