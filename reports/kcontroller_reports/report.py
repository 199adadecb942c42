"""From directories to a report: find, read, summarize, write; all or nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
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
from kcontroller_reports.tables import Tables, build_tables, read_runs, verdict, without_duplicates
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
    """Raises UsageError if writing to `out` would replace anything but an older report."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError("not a directory", where=str(out), hint="name another one with -o")
    strangers = sorted({entry.name for entry in out.iterdir()} - _PARTS) if out.exists() else []
    if strangers:
        raise UsageError(
            f"this directory holds other things than a report ({', '.join(strangers[:3])})",
            where=str(out),
            hint="name a new directory, or one with an older report, with -o",
        )


def write_report(spark: SparkSession, places: Sequence[Place], out: Path) -> Report:
    """Reads the runs at `places` (at least one) and writes the report to `out`.

    The new report takes the place of an older one only when it is complete. Raises UsageError as `check_output` does.
    """
    check_output(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = read_runs(spark, places).transform(without_duplicates).persist()
    try:
        remarks = _remarks(rows)
        tables = build_tables(rows.where("copy_of is null"))
        summary = summarize(tables)
        block = make_block(summary)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        try:
            unfinished.chmod(0o755)
            (unfinished / PAGE).write_text(page_html(summary, block), encoding="utf-8")
            (unfinished / MARKDOWN).write_text(report_md(summary, block), encoding="utf-8")
            (unfinished / JUNIT).write_bytes(junit_xml(summary))
            (unfinished / SUMMARY).write_text(summary_json(summary, block), encoding="utf-8")
            _write_tables(tables, unfinished / TABLES)
            _replace(out, unfinished)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    finally:
        rows.unpersist()
    return Report(page=out / PAGE, summary=summary, block=block, remarks=remarks)


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


def _replace(out: Path, new: Path) -> None:
    """Puts `new` where `out` is; an older report is back if that fails."""
    if not out.exists():
        new.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}-old-", dir=out.parent))
    out.rename(old / "report")
    try:
        new.rename(out)
    except OSError:
        (old / "report").rename(out)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
