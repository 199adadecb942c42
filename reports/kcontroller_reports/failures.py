"""Runs that did not hold, grouped by cause: what was broken first, with what was broken after it folded under it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from kcontroller_reports.figures import fault_name, without_numbers
from kcontroller_reports.tables import PARTS, VERDICTS, Tables


@dataclass(frozen=True, slots=True)
class Consequence:
    """An invariant that was broken later in a run whose first violation is another one; `runs`: in so many of them."""

    invariant: str
    kind: str | None
    runs: int
    seen: str | None
    where: str | None
    began_us: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Runs of one setup that did not hold for one cause, with the first of them as the example."""

    setup: str
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
    began_us: int | None
    parts: dict[str, str | None]
    faults: tuple[str, ...]  # those of the example that were applied by then, in that order
    consequences: tuple[Consequence, ...]


_SHOWN = ("expected", "seen", "where", "kind", "witness", "began_us")
_ENTRY = ("invariant", *_SHOWN, "known")
_EXAMPLE = (
    "campaign", "seed", "run", "directory", "campaign_file", "backend", "mutant", "noop_fault",
    "cause", *_SHOWN, "parts", "faults", "rest",
)  # fmt: skip


def failures(tables: Tables) -> tuple[Failure, ...]:
    """The worst first."""
    return tuple(_failure(row) for row in sorted(failure_rows(tables).collect(), key=_weight))


def failure_rows(tables: Tables) -> DataFrame:
    """One row per setup, verdict and cause: how many runs, and as the example the first one, of those whose files are whole
    if there is one. Unfinished runs are no failure. Numbers in a reason (ids, times) make no cause of its own; the name of
    an invariant is one as it stands: it may have the path of a znode in it.
    """
    said = F.coalesce("first.invariant", "detail")
    cause = F.when(F.col("verdict") == "violated", said).otherwise(F.coalesce("damage", "detail"))
    return (
        tables.runs.where((F.col("verdict") != "held") & ~((F.col("verdict") == "unknown") & F.col("unfinished")))
        # In a run that is not violated a broken liveness invariant is no finding: its environment failed.
        .join(
            tables.invariants.transform(broken_of_run).withColumn("verdict", F.lit("violated")),
            ["directory", "verdict"],
            "left",
        )
        .join(tables.faults.transform(faults_of_run), "directory", "left")
        .withColumn("cause", F.coalesce(cause, F.lit("the run does not say why")))
        .select("*", *(F.col(f"first.{name}").alias(name) for name in _SHOWN))
        .withColumn("parts", F.struct(*[F.col(name) for name in PARTS]))
        .groupBy("setup", "verdict", F.coalesce("first.invariant", without_numbers(F.col("cause"))).alias("alike"))
        .agg(
            F.count_distinct("directory").alias("runs"),
            F.count_distinct(F.when(F.col("known").isNotNull() | _known("first.known"), F.col("directory"))).alias(
                "known"
            ),
            F.flatten(F.collect_list(F.col("rest.invariant"))).alias("after"),
            F.min(F.struct(F.col("damage").isNotNull().alias("damaged"), *_EXAMPLE)).alias("example"),
        )
        .select("setup", "verdict", "runs", "known", "after", *(f"example.{name}" for name in _EXAMPLE))
    )


def broken_of_run(invariants: DataFrame) -> DataFrame:
    """`first`: what was broken first in a run, and `rest`: what was broken after it. What the campaign file expects comes
    after what it does not, what must never happen (safety) before what should have come about in the end, then by time."""
    order = Window.partitionBy("directory").orderBy(
        _known("known"),
        F.coalesce(F.col("kind") == "liveness", F.lit(False)),
        F.col("began_us").asc_nulls_last(),
        "invariant",
    )
    return (
        invariants.where(F.col("verdict") == "violated")
        .select("directory", F.row_number().over(order).alias("number"), F.struct(*_ENTRY).alias("entry"))
        .groupBy("directory")
        .agg(F.array_sort(F.collect_list(F.struct("number", "entry"))).alias("all"))
        .select(
            "directory",
            F.col("all")[0]["entry"].alias("first"),
            F.transform(F.slice("all", 2, 1_000), lambda one: one["entry"]).alias("rest"),
        )
    )


def _known(name: str) -> Column:
    return F.coalesce(F.col(name) != "", F.lit(False))


def faults_of_run(faults: DataFrame) -> DataFrame:
    """`faults` of each run in the order in which they were applied: when, and `kill (node 1)`."""
    on = F.when(F.col("node").isNotNull(), F.concat(F.lit(" (node "), "node", F.lit(")"))).otherwise("")
    return (
        faults.where(F.col("applied_us").isNotNull())
        .groupBy("directory")
        .agg(
            F.array_sort(
                F.collect_list(
                    F.struct(F.col("applied_us").alias("at_us"), "fault", F.concat(fault_name(), on).alias("name"))
                )
            ).alias("faults")
        )
    )


def _weight(row: Row) -> tuple[int, bool, bool, bool, int, str, str]:
    """What is expected in all its runs comes after what is not, mutants after the code as it is, and what should have come
    about in the end (liveness) after what must never happen."""
    known, liveness = row["known"] == row["runs"], row["kind"] == "liveness"
    altered = bool(row["mutant"] or row["noop_fault"])
    return VERDICTS.index(row["verdict"]), known, altered, liveness, -row["runs"], row["cause"], row["setup"]


def _failure(row: Row) -> Failure:
    values = {name: row[name] for name in ("setup", "verdict", "runs", "known", *_EXAMPLE[:-1])}
    until = row["began_us"]
    faults = [
        fault["name"]
        for fault in row["faults"] or ()
        if until is None or fault["at_us"] is None or fault["at_us"] <= until
    ]
    return Failure(
        **{**values, "parts": row["parts"].asDict(), "faults": tuple(faults), "consequences": _consequences(row)}
    )


def _consequences(row: Row) -> tuple[Consequence, ...]:
    """In how many runs each; what was seen is told of the example, if it was broken there."""
    told = {entry["invariant"]: entry.asDict() for entry in row["rest"] or ()}
    found = []
    for name, runs in sorted(Counter(row["after"] or ()).items(), key=lambda item: (-item[1], item[0])):
        entry = told.get(name, {})
        facts = {key: entry.get(key) for key in ("kind", "seen", "where", "began_us")}
        found.append(Consequence(invariant=name, runs=runs, **facts))
    return tuple(found)
