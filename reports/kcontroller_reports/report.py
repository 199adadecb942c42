"""From directories to a report: find, read, summarize, write; all or nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kcontroller_reports.block import Block, make_block
from kcontroller_reports.junit import junit_xml
from kcontroller_reports.markdown import report_md
from kcontroller_reports.page import page_html
from kcontroller_reports.scan import Place
from kcontroller_reports.summary import Summary, summarize
from kcontroller_reports.summary_json import summary_json
from kcontroller_reports.tables import Tables, build_tables, read_runs, verdict, without_duplicates, write_inputs
from kcontroller_reports.words import counted
from pytest_kcontroller.errors import UsageError

#: What a report consists of; anything else in a directory is somebody's, and keeps it from being replaced.
PAGE, MARKDOWN, JUNIT, SUMMARY, TABLES = "report.html", "report.md", "junit.xml", "summary.json", "tables"
_PARTS = frozenset({PAGE, MARKDOWN, JUNIT, SUMMARY, TABLES})


@dataclass(frozen=True, slots=True)
class Report:
    """What was written: `remarks` are sentences about runs that are damaged or were given more than once."""

    page: Path
    summary: Summary
    block: Block
    remarks: tuple[str, ...]


def check_output(out: Path) -> None:
    """Raises UsageError, before any work, if `out` would replace anything but an older report or cannot be written."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError("not a directory", where=str(out), hint="name another one with -o")
    strangers = sorted({entry.name for entry in out.iterdir()} - _PARTS) if out.exists() else []
    if strangers:
        raise UsageError(
            f"this directory holds other things than a report ({', '.join(strangers[:3])})",
            where=str(out),
            hint="name a new directory, or one with an older report, with -o",
        )
    above = next(folder for folder in (out.absolute().parent, *out.absolute().parents) if folder.exists())
    try:
        Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=above)).rmdir()
    except OSError as failed:
        raise UsageError(
            f"nothing can be written there ({failed.strerror})", where=str(above), hint="name another place with -o"
        ) from None


def write_report(
    spark: SparkSession,
    places: Sequence[Place],
    out: Path,
    remarks: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Reads the runs at `places` (at least one) and writes the report to `out`.

    `remarks`: what was said when they were looked for; the report says it too. `progress` is told what begins. The new
    report takes the place of an older one only when it is complete. Raises UsageError as `check_output` does.
    """
    check_output(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        made = unfinished / "report"
        made.mkdir(mode=0o755)
        progress(f"reading {counted(len(places), 'run')}")
        inputs = unfinished / "inputs.jsonl"
        write_inputs(places, inputs)
        rows = read_runs(spark, inputs).transform(without_duplicates).persist()
        said = _remarks(rows)
        tables = build_tables(rows.where("copy_of is null"))
        summary = summarize(tables, (*remarks, *said))
        block = make_block(summary)
        progress("drawing the page")
        (made / PAGE).write_text(page_html(summary, block), encoding="utf-8")
        (made / MARKDOWN).write_text(report_md(summary, block), encoding="utf-8")
        (made / JUNIT).write_bytes(junit_xml(summary))
        (made / SUMMARY).write_text(summary_json(summary, block), encoding="utf-8")
        progress("writing the tables")
        _write_tables(tables, made / TABLES)
        rows.unpersist()
        _replace(out, made, unfinished / "older")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Report(page=out / PAGE, summary=summary, block=block, remarks=said)


def _remarks(rows: DataFrame) -> tuple[str, ...]:
    noted = rows.where("damage is not null or copy_of is not null").select(
        "directory", "damage", "copy_of", verdict().alias("verdict")
    )
    return tuple(
        f"{row['directory']}: the same run as {row['copy_of']}; counted once"
        if row["copy_of"]
        else f"{row['directory']}: {row['damage']}; its verdict is {row['verdict']}"
        for row in noted.orderBy("directory").collect()
    )


def _write_tables(tables: Tables, folder: Path) -> None:
    folder.mkdir()
    for name, table in tables.named():
        parts = folder / f".{name}"
        order = [column for column, kind in table.dtypes if kind in ("string", "bigint")]
        table.coalesce(1).sortWithinPartitions(*order).write.parquet(str(parts.absolute()))  # not the JVM's folder
        (part,) = parts.glob("*.parquet")  # Spark names it by a random id
        part.rename(folder / f"{name}.parquet")
        shutil.rmtree(parts)


def _replace(out: Path, new: Path, older: Path) -> None:
    """Puts `new` where `out` is, which goes to `older`; it is back if that fails."""
    if not out.exists():
        new.rename(out)
        return
    out.rename(older)
    try:
        new.rename(out)
    except OSError:
        older.rename(out)
        raise
