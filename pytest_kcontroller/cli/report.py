"""`kcontroller report DIR... -o OUT`: many run directories become a report: a page, a summary for CI, tables."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import explain
from pytest_kcontroller.cli._choices import named_path
from pytest_kcontroller.errors import MissingExtraError
from pytest_kcontroller.model.text import LONGEST, printable

if TYPE_CHECKING:
    from kcontroller_reports.report import Report

NAME = "report"
HELP = "many runs become one report: HTML, Markdown, JUnit, JSON, Parquet (Spark)"

_NOTHING_RAN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories", nargs="+", type=Path, metavar="DIR", help="where to look for run directories, at any depth"
    )
    parser.add_argument(
        "-o",
        "--out",
        type=named_path,
        default=Path("report"),
        help="directory to write; an older report in it is replaced",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text, when it is written")
    explain(
        parser,
        examples=["kcontroller report runs", "kcontroller report runs shard-*/ -o report"],
        statuses="0 the report is written, whatever the verdicts; 2 a bad option or place, 5 there are no runs, 6 no Spark",
    )


def run(args: argparse.Namespace) -> int:
    """Exit status 0 when the report is written, whatever the verdicts; 5 if there are no runs."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as missing:
        raise MissingExtraError("kcontroller report", "reports") from missing
    from kcontroller_reports.report import check_output, write_report
    from kcontroller_reports.scan import Found, check_directories, find_runs
    from kcontroller_reports.session import spark_session
    from pytest_kcontroller.cli._output import documented

    check_directories(args.directories)
    check_output(args.out)
    found = Found((), ())
    with documented(lambda status: _print_json(args, status, runs=len(found.places), remarks=found.remarks)):
        _say("looking for runs")
        found = find_runs(args.directories)
        for remark in found.remarks:
            _remark(remark)
        runs = len(found.places)
        if not runs:
            print("there is nothing to report: no run directory (one with a run.json) was found", file=sys.stderr)
            _print_json(args, _NOTHING_RAN, remarks=found.remarks)
            return _NOTHING_RAN
        _say(f"{runs} run{'' if runs == 1 else 's'} found; Spark starts, which takes a while")
        with spark_session(runs=runs, tell=_say) as spark:
            report = write_report(spark, found.places, args.out, found.remarks, _say)
    _tell(args, found.remarks, report)
    return 0


def _tell(args: argparse.Namespace, remarks: Sequence[str], report: Report) -> None:
    """What the report says first, and where its parts are."""
    from kcontroller_reports.block import block_text
    from kcontroller_reports.markdown import append_summary
    from kcontroller_reports.report import JUNIT, MARKDOWN, PAGE, SUMMARY, TABLES

    for remark in report.remarks:
        _remark(remark)
    print(block_text(report.block))
    if github := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            append_summary(Path(github), report.summary, report.block)
        except OSError as failed:
            print(
                f"{github}: cannot be written ({failed.strerror}); report.md is not in the step summary",
                file=sys.stderr,
            )
    for name, what in ((MARKDOWN, "for GitHub"), (JUNIT, "for CI"), (SUMMARY, "for tools"), (TABLES, "every row")):
        print(f"{what}: {args.out / name}")
    print(f"report: {args.out / PAGE}")
    named = {"page": PAGE, "markdown": MARKDOWN, "junit": JUNIT, "summary": SUMMARY, "tables": TABLES}
    verdicts = Counter(run.verdict for run in report.summary.runs)
    _print_json(
        args,
        0,
        runs=len(report.summary.runs),
        verdicts=dict(sorted(verdicts.items())),
        files={name: str(args.out / file) for name, file in named.items()},
        remarks=(*remarks, *report.remarks),
    )


def _print_json(
    args: argparse.Namespace,
    status: int,
    *,
    runs: int = 0,
    verdicts: Mapping[str, int] | None = None,
    files: Mapping[str, str] | None = None,
    remarks: Sequence[str],
) -> None:
    """Without verdicts and files: of a report that was not written."""
    from pytest_kcontroller.cli._json import print_json
    from pytest_kcontroller.cli._output import document

    if args.json:
        facts = {"runs": runs, "verdicts": verdicts or {}, "files": files or {}, "remarks": list(remarks)}
        print_json(document("report", status, **facts))


def _remark(text: str) -> None:
    """With names of directories and files in it, which may hold anything."""
    print(printable(text, 10 * LONGEST), file=sys.stderr)


def _say(what: str) -> None:
    """What is being done, for whoever waits: half a minute on a busy machine, most of it Spark's own start."""
    print(f"... {what}", file=sys.stderr, flush=True)
