"""From run directories to tables: chains of named functions from DataFrame to DataFrame.

The `select` at the end of each is its contract: names and types are those of `schemas`. Rows of a table are ordered by
the keys of their run and then by their own, so that the same input gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from kcontroller_reports import schemas
from kcontroller_reports.scan import Place

SCHEMA_VERSION = 1
PARTS = schemas.PARTS
VERDICTS = ("violated", "unknown", "environment", "held")

_INPUTS = StructType(
    [
        StructField(name, StringType())
        for name in ("path", "directory", "trouble", "run", "run_unread", "verdicts", "verdicts_unread")
    ]
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The four tables of a report."""

    runs: DataFrame
    faults: DataFrame
    elections: DataFrame
    invariants: DataFrame

    def named(self) -> list[tuple[str, DataFrame]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]


def build_tables(runs: DataFrame) -> Tables:
    """The tables of distinct, readable-or-not runs, as `read_runs` and `without_duplicates` give them."""
    return Tables(
        runs=runs.transform(run_table),
        faults=runs.transform(fault_table),
        elections=runs.transform(election_table),
        invariants=runs.transform(invariant_table),
    )


# --- reading ----------------------------------------------------------------------------------------------------


def write_inputs(places: Sequence[Place], file: Path) -> None:
    """One line of JSON per run: where it is, and the texts of its `run.json` and `verdicts.json` as they stand.

    Small files one by one are what Spark is slow at: it reads this one file, in one pass, whatever is in the texts.
    """
    with file.open("w", encoding="ascii") as lines:
        for place in places:
            row = {"path": place.path, "directory": place.shown, "trouble": place.trouble}
            for name in ("run", "verdicts"):
                row[name], row[f"{name}_unread"] = _text(Path(place.path) / f"{name}.json")
            lines.write(json.dumps(row) + "\n")


def _text(file: Path) -> tuple[str | None, str | None]:
    """None: there is no such file. And why it cannot be read. What is no text is no JSON either."""
    try:
        return file.read_bytes().decode("utf-8", "replace"), None
    except FileNotFoundError:
        return None, None
    except OSError as failed:
        return "", f"{file.name} cannot be read ({failed.strerror})"


def read_runs(spark: SparkSession, inputs: Path) -> DataFrame:
    """One row per line of `inputs`: directory, its keys, `info` and `answer` as read, `damage`."""
    # To Spark a path is a pattern otherwise, and one that is escaped may still have no colon.
    texts = spark.read.schema(_INPUTS).option("__globPaths__", False).json(str(inputs.absolute()))
    return (
        texts.withColumns(
            {"info": _document("run", schemas.RUN_JSON), "answer": _document("verdicts", schemas.VERDICTS_JSON)}
        )
        .withColumn("answered", F.col("verdicts").isNotNull())
        .transform(with_keys)
        .transform(with_damage)
        .select(*schemas.RUN_KEY.fieldNames(), "damage", "answered", "trouble", "info", "answer")
    )


def _document(text: str, schema: StructType) -> Column:
    """Null if it is no JSON; `schemas.DAMAGED` in it if it is not of this shape."""
    return F.from_json(text, schema, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": schemas.DAMAGED})


def with_keys(rows: DataFrame) -> DataFrame:
    """Campaign, run id and seed from `run.json`; where that is damaged, from the names of the folders."""
    parts = F.split("path", "/")
    return rows.withColumns(
        {
            "campaign": F.coalesce("info.campaign.name", F.element_at(parts, -2)),
            "run": F.coalesce("info.run", F.element_at(parts, -1)),
            "seed": F.col("info.seed"),
            "setup": setup(),
        }
    )


def setup() -> Column:
    """What ran, in words: all that figures depend on and that is no draw of the seed."""

    def said(word: str, value: Column) -> Column:
        return F.when(value.isNotNull(), F.concat(F.lit(word), value))

    return F.concat_ws(
        " · ",
        F.col("info.backend"),
        said("ZooKeeper ", _zookeeper()),
        said("Kafka ", _release()),
        said("kafka_compat ", _compat()),
        said("mutant ", F.col("info.mutant")),
        said("without the fault ", F.col("info.noop_fault")),
        said("selectors ", _pairs("info.selectors")),
        said("assignment ", _assignment()),
        said("program ", _program()),
        said("plugins ", _pairs("info.plugin_versions")),
        said("commit ", F.substring("info.commit", 1, 10)),
    )


def _assignment() -> Column:
    """Of a run whose nodes are brokers: programs of a user's have no replicas to place."""
    return F.when(F.col("info.system").isNull(), F.col("info.assignment"))


def _program() -> Column:
    """Of the user's: its image, if it has one, and what is started. The directory is another one on each machine."""
    words = F.concat_ws(" ", "info.system.image", "info.system.command")
    return F.when(F.col("info.system").isNotNull(), words)


def _zookeeper() -> Column:
    """Its version, or the name of its image."""
    return F.col("info.versions.zookeeper")


def _release() -> Column:
    """Of Kafka's brokers, where the nodes are some."""
    return F.col("info.versions.kafka")


def _compat() -> Column:
    """What the nodes have of Kafka's bugs; null if they have none, as a run of before says nothing of it."""
    return F.when(F.size("info.kafka_compat") > 0, F.array_join(F.array_sort("info.kafka_compat"), ", "))


def with_damage(rows: DataFrame) -> DataFrame:
    """`damage`: what is wrong with the files of a run, in words; null when nothing is."""

    def broken(document: str) -> Column:
        return F.col(document).isNull() | F.col(f"{document}.{schemas.DAMAGED}").isNotNull()

    def newer(document: str) -> Column:
        return F.col(f"{document}.schema") > SCHEMA_VERSION

    strange = ~F.coalesce("answer.overall", F.lit("")).isin(*VERDICTS)
    about_run = (
        F.when(F.col("run_unread").isNotNull(), F.col("run_unread"))
        .when(broken("info"), "run.json is damaged")
        .when(newer("info"), "run.json is of a newer version")
        .when(
            _took() < 0,
            "run.json says that it ended before it began, as after a clock was set back: its time is not counted",
        )
    )
    about_answer = (
        F.when(F.col("verdicts_unread").isNotNull(), F.col("verdicts_unread"))
        .when(~F.col("answered"), "verdicts.json is missing: the run was killed, or is still going on")
        .when(broken("answer"), "verdicts.json is damaged")
        .when(newer("answer"), "verdicts.json is of a newer version")
        .when(_nameless(), "verdicts.json has a fault or an invariant without a name")
        .when(strange, "verdicts.json has no verdict that is known here")
    )
    damage = F.concat_ws("; ", about_run, about_answer, F.col("trouble"))
    return rows.withColumn("damage", F.when(damage != "", damage))


def _nameless() -> Column:
    """Whether an entry of `verdicts.json` does not say what it is about: nothing can be counted under no name."""
    faults = F.exists("answer.faults", lambda entry: entry["id"].isNull())
    invariants = F.exists("answer.invariants", lambda entry: entry["name"].isNull())
    return F.coalesce(faults, F.lit(False)) | F.coalesce(invariants, F.lit(False))


def without_duplicates(rows: DataFrame) -> DataFrame:
    """Adds `copy_of`: the directory that counts, where the same run (campaign, id, start) was given more than once.

    The one that counts is undamaged if one of them is. A run without a readable start is never taken for a copy.
    """
    same = Window.partitionBy("campaign", "run", "info.started").orderBy(F.col("damage").isNotNull(), "directory")
    first = F.first("directory").over(same)
    copy = F.col("info.started").isNotNull() & (first != F.col("directory"))
    return rows.withColumn("copy_of", F.when(copy, first))


# --- tables -----------------------------------------------------------------------------------------------------


def run_table(rows: DataFrame) -> DataFrame:
    """One row per run: what it was, what came out, and what is wrong with its files."""
    part = {name: F.col(f"answer.parts.{name}") for name in PARTS}
    said = {**part, "operations": F.col("answer.parts.operations")}
    details = [
        F.when(value["detail"] != "", F.concat(F.lit(f"{name}: "), value["detail"])) for name, value in said.items()
    ]
    detail = F.concat_ws("; ", *details)
    return rows.withColumns(
        {
            **{name: value["verdict"] for name, value in part.items()},
            **{f"{name}_{what}": value[what] for name, value in part.items() for what in ("count", "of")},
            "notes": F.when(F.size("answer.notes") > 0, F.concat_ws("; ", "answer.notes")),
            "verdict": verdict(),
            "unfinished": ~F.col("answered") | ~F.coalesce("answer.ended", F.lit(True)),
            "known": F.when(F.size("answer.expected") > 0, F.concat_ws("; ", "answer.expected")),
            "detail": F.when(detail != "", detail),
            "overloaded": F.coalesce(F.size("answer.overloaded"), F.lit(0)),
            "zookeeper": _zookeeper(),
            **{name: F.col("info.versions")[name] for name in ("kcontroller", "python", "java")},
            **{name: F.col("info.host")[name] for name in ("cpus", "system")},
            "selectors": _pairs("info.selectors"),
            "campaign_file": F.col("info.campaign.file"),
            "campaign_sha256": F.col("info.campaign.sha256"),
            "duration_us": F.when(_took() >= 0, _took()),
            **{
                name: F.col(f"info.{name}")
                for name in ("backend", "mutant", "noop_fault", "commit", "started", "ended")
            },
            "assignment": _assignment(),
            "kafka_release": _release(),
            "kafka_compat": _compat(),
            "program": _program(),
            "plugins": _pairs("info.plugin_versions"),
        }
    ).transform(_as(schemas.RUNS))


def _took() -> Column:
    """Microseconds by the clock of the host, which may have been set meanwhile."""
    return F.unix_micros(F.to_timestamp("info.ended")) - F.unix_micros(F.to_timestamp("info.started"))


def _pairs(of: str) -> Column:
    """`offline=mine, preferred=noop`; null if there are none."""
    entries = F.array_sort(F.map_entries(of))
    text = F.array_join(F.transform(entries, lambda entry: F.concat_ws("=", entry["key"], entry["value"])), ", ")
    return F.when(text != "", text)


def verdict() -> Column:
    """The overall verdict of a run; unknown where `verdicts.json` gives none that can be trusted."""
    newer = F.coalesce(F.col("answer.schema") > SCHEMA_VERSION, F.lit(False))
    damaged = F.col(f"answer.{schemas.DAMAGED}").isNotNull()
    known = F.col("answer.overall").isin(*VERDICTS) & F.col("trouble").isNull()
    besides = F.col("answer.unexpected")  # a known violation hides nothing that went wrong besides
    said = F.when(besides.isin("unknown", "environment"), besides).otherwise(F.col("answer.overall"))
    return F.when(known & ~newer & ~damaged & ~_nameless(), said).otherwise("unknown")


def fault_table(rows: DataFrame) -> DataFrame:
    """One row per fault of a run, with what its recovery took."""
    keys = schemas.RUN_KEY.fieldNames()
    faults = (
        rows.select(*keys, F.explode("answer.faults").alias("of"))
        .where(F.col("of.id").isNotNull())
        .select(
            *keys, F.col("of.id").alias("fault"), *[f"of.{name}" for name in _names(schemas.FAULTS, "kind", "evidence")]
        )
    )
    recovery = rows.select(*keys, F.explode("answer.recovery").alias("of")).select(
        "directory",
        "of.fault",
        F.col("of.start_us").alias("observed_us"),
        *[f"of.{name}" for name in _names(schemas.FAULTS, "start_us", "recovery_us")],
    )
    # A fault that hits two nodes is two rows with one id: a recovery belongs to the row whose effect began it.
    of_row = ["directory", "fault", "observed_us"]
    return faults.join(recovery.dropDuplicates(of_row), of_row, "left").transform(_as(schemas.FAULTS))


def election_table(rows: DataFrame) -> DataFrame:
    """One row per election of a controller."""
    return rows.select("*", F.explode("answer.elections").alias("of")).select(
        *schemas.RUN_KEY.fieldNames(), "of.*"
    ).transform(_as(schemas.ELECTIONS))  # fmt: skip


def invariant_table(rows: DataFrame) -> DataFrame:
    """One row per invariant and run."""
    return (
        rows.select(*schemas.RUN_KEY.fieldNames(), F.explode("answer.invariants").alias("of"))
        .where(F.col("of.name").isNotNull())
        .select(*schemas.RUN_KEY.fieldNames(), F.col("of.name").alias("invariant"), "of.*")
        .transform(_as(schemas.INVARIANTS))
    )


def _names(schema: StructType, first: str, last: str) -> list[str]:
    names = schema.fieldNames()
    return names[names.index(first) : names.index(last) + 1]


def _as(schema: StructType) -> Callable[[DataFrame], DataFrame]:
    """Exactly these columns, in this order, with these types."""

    def select(rows: DataFrame) -> DataFrame:
        return rows.select(*[F.col(field.name).cast(field.dataType).alias(field.name) for field in schema.fields])

    return select
