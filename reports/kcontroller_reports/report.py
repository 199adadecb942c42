"""From directories to a report: find, read, summarize, write; all or nothing."""

from __future__ import annotations

import os
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
_UNFINISHED = ".unfinished-report-"


@dataclass(frozen=True, slots=True)
class Report:
    """What was written: `remarks` are sentences about runs that are damaged or were given more than once."""

    page: Path
    summary: Summary
    block: Block
    remarks: tuple[str, ...]


def check_output(out: Path) -> None:
    """Raises UsageError, before any work, if `out` would replace anything but an older report or cannot be written."""
    another = "name another one with -o"
    try:
        if os.path.lexists(out) and not out.is_dir():
            raise UsageError("not a directory, nor a link to one", where=str(out), hint=another)
        parts = {entry.name for entry in out.iterdir()} if out.exists() else set[str]()
        above = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    except OSError as failed:
        raise UsageError(f"it cannot be looked into ({failed.strerror})", where=str(out), hint=another) from None
    strangers = sorted(name for name in parts - _PARTS if not name.startswith(_UNFINISHED))
    if strangers:
        raise UsageError(
            f"this directory holds other things than a report ({', '.join(strangers[:3])})",
            where=str(out),
            hint="name a new directory, or one with an older report, with -o",
        )
    try:
        Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=above)).rmdir()
    except OSError as failed:
        raise _unwritable(above, failed) from None
    if TABLES in parts and not os.access(out / TABLES, os.W_OK):  # a directory moves only with who may write to it
        raise UsageError("this part of an older report is somebody else's", where=str(out / TABLES), hint=another)


def _unwritable(where: Path, failed: OSError) -> UsageError:
    what = f"nothing can be written there ({failed.strerror})"
    return UsageError(what, where=str(where), hint="name another place with -o")


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
    place = out.absolute()
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=place if place.exists() else place.parent))
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
        _replace(place, made, unfinished / "older")
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
    """Puts `new` where `out` is. What `out` holds goes to `older`; it is back if that fails, or is interrupted.

    A directory that is there stays itself: it may be the current one, a mount point, or in a directory of somebody else's.
    Raises UsageError.
    """
    moves = [(new, out)]
    if out.exists():
        older.mkdir()
        parts = sorted(_PARTS)
        moves = [(out / name, older / name) for name in parts if (out / name).exists()]
        moves += [(new / name, out / name) for name in parts]
    begun: list[tuple[Path, Path]] = []
    try:
        for here, there in moves:
            begun.append((here, there))
            here.rename(there)
    except BaseException as failed:
        for here, there in reversed(begun):
            if there.exists() and not here.exists():
                there.rename(here)
        if isinstance(failed, OSError):
            raise _unwritable(out, failed) from None
        raise
