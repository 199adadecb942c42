"""Figures of many runs: recoveries, faults and invariants, one row per setup and name. Never over more than one setup."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kcontroller_reports.words import SKIPPED
from pytest_kcontroller.model.text import NUMBER

#: From how many values on a percentile says something; below, only the largest value is shown, with n.
NEEDED_FOR_P50, NEEDED_FOR_P95, NEEDED_FOR_P99 = 3, 20, 100
_PERCENTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


def fault_name() -> Column:
    """Its kind and mode."""
    return F.concat_ws(":", "kind", "mode")


def without_numbers(text: Column) -> Column:
    """What equal failures of different seeds have in common, as the terminal sees it."""
    return F.regexp_replace(text, NUMBER, "#")


def recovery_rows(faults: DataFrame) -> DataFrame:
    """One row per setup, kind and mode of fault. What a run says of its recoveries stands: yes, no, nothing to recover."""
    ended = F.col("recovery_us").isNotNull()
    by_now = F.coalesce("recovered", F.when(ended, F.lit("yes")).otherwise("no"))
    recovered = F.when(F.col("start_us").isNotNull(), by_now)
    took = F.when(ended & (recovered == "yes"), F.col("recovery_us").cast("double")).when(
        recovered != "nothing to recover", F.lit(float("inf"))
    )
    return (
        faults.withColumns({"fault": fault_name(), "recovered": recovered, "took": took})
        .groupBy("setup", "fault")
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
            "setup",
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


def fault_kind_rows(faults: DataFrame) -> DataFrame:
    """One row per setup, kind and mode: how many were asked for, skipped, applied, observed and healed, and the delays."""
    apply, observe = F.col("applied_us") - F.col("asked_us"), F.col("observed_us") - F.col("applied_us")
    delays = [("apply", apply), ("observe", observe)]
    return (
        faults.withColumns({"fault": fault_name(), **{f"{name}_us": delay for name, delay in delays}})
        .groupBy("setup", "fault")
        .agg(
            F.count("*").alias("asked"),
            F.count_if(F.col("status") == SKIPPED).alias("skipped"),
            *[F.count(f"{step}_us").alias(step) for step in ("applied", "observed", "healed")],
            *[
                F.expr(f"{percentile} WITHIN GROUP (ORDER BY {name}_us)").cast("bigint").alias(f"{name}_{column}_us")
                for name, _ in delays
                for column, percentile in (("p50", "percentile_disc(0.5)"), ("max", "percentile_disc(1.0)"))
            ],
        )
    )


def fault_trouble_rows(faults: DataFrame) -> DataFrame:
    """One row per setup, kind and reason of failing, as its first run says it; one that was skipped has not failed."""
    why = F.when(F.col("why") != "", F.col("why"))
    reason = F.coalesce(why, F.col("status"))
    failed = why.isNotNull() | F.coalesce(F.col("status").startswith("not-"), F.lit(False))
    return (
        faults.where(failed & (F.coalesce("status", F.lit("")) != SKIPPED))
        .groupBy("setup", fault_name().alias("fault"), without_numbers(reason).alias("alike"))
        .agg(F.count("*").alias("n"), F.min(F.struct("directory", reason.alias("why"))).alias("first"))
        .select("setup", "fault", "first.why", "n", "first.directory")
    )


def invariant_rows(invariants: DataFrame) -> DataFrame:
    """One row per setup and invariant: in how many runs it held, and what it had to go on."""
    never = F.coalesce("checks", F.lit(1)) == 0
    verdict = F.when(never & (F.col("verdict") == "held"), "never exercised").otherwise(F.col("verdict"))
    names = (("held", "held"), ("violated", "violated"), ("unknown", "unknown"), ("never", "never exercised"))
    return (
        invariants.withColumn("verdict", verdict)
        .groupBy("setup", "invariant")
        .agg(
            F.min("kind").alias("kind"),
            F.count("*").alias("runs"),
            *[F.count_if(F.col("verdict") == name).alias(column) for column, name in names],
            F.coalesce(F.sum("checks"), F.lit(0)).alias("checks"),
            *[
                F.min(F.when(F.col("verdict") == name, F.col("directory"))).alias(f"in_{name}")
                for name in ("violated", "unknown")
            ],
        )
        .select(
            "setup", "invariant", "kind", "runs", *(column for column, _ in names), "checks",
            F.coalesce("in_violated", "in_unknown").alias("example"),
        )
    )  # fmt: skip
