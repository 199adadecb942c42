"""The page: one file, no network, no script.

Everything that comes from a file is made printable, cut if it is endless, and escaped by the template engine; the
page's own policy forbids it to load or run anything.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kcontroller_reports.block import RECOVERY_ENDS, Block
from kcontroller_reports.drawing import Kinds
from kcontroller_reports.plots import nearest_rank, recovery_svg
from kcontroller_reports.stories import SHOWN_FAILING_RUNS, make_stories
from kcontroller_reports.summary import NEEDED_FOR_P50, NEEDED_FOR_P95, NEEDED_FOR_P99, Run, Summary
from kcontroller_reports.tables import PARTS, VERDICTS
from kcontroller_reports.words import counted, milliseconds, moment, seconds
from pytest_kcontroller.model.text import printable

#: More rows make a page that nobody reads and a phone cannot open; the tables have all.
SHOWN_RUNS, SHOWN_SPANS, SHOWN_LINES = 500, 120, 100

_FACTS = (
    ("backend", "backend"), ("ZooKeeper", "zookeeper"), ("kcontroller", "kcontroller"), ("Python", "python"),
    ("Java", "java"), ("system", "system"), ("CPUs", "cpus"), ("commit", "commit"), ("selectors", "selectors"),
    ("assignment", "assignment"),
    ("mutant", "mutant"), ("without the fault", "noop_fault"),
)  # fmt: skip


def page_html(summary: Summary, block: Block) -> str:
    """`report.html` as text. Reads the timelines of the runs that it shows."""
    kinds = Kinds([row.fault.partition(":")[0] for row in summary.fault_kinds])
    selected = make_stories(summary, block, kinds)
    times = {row.fault: row.times for row in summary.recovery if row.times}
    environment = Environment(
        loader=PackageLoader("kcontroller_reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"seconds": seconds, "ms": milliseconds, "moment": moment, "svg": Markup}
    return environment.get_template("report.html.j2").render(
        title="kcontroller: " + ", ".join(text for _, text in block.verdicts),
        block=block,
        summary=summary,
        kinds=kinds,
        cards=selected.cards,
        lines=block.failures[len(selected.cards) :][:SHOWN_LINES],
        more_failures=max(0, len(block.failures) - len(selected.cards) - SHOWN_LINES),
        stories=selected.stories,
        failing=selected.failing,
        shown_failing=min(selected.failing, SHOWN_FAILING_RUNS),
        shown_spans=SHOWN_SPANS,
        runs=_runs(summary),
        recovery_ends=RECOVERY_ENDS,
        recovery_plot=recovery_svg(times, kinds) if times else "",
        spread={name: _spread(values) for name, values in times.items()},
        needed=(NEEDED_FOR_P50, NEEDED_FOR_P95, NEEDED_FOR_P99),
        any_percentile=tuple(any(getattr(row, name) for row in block.recovery) for name in ("p50", "p95", "p99")),
        any_example=any(row.example for row in summary.invariants),
        facts=_facts(summary),
        overloaded=sum(run.overloaded > 0 for run in summary.runs),
        part_names=PARTS,
        verdict_words=VERDICTS,
        counted=counted,
    )


def _shown(value: Any) -> Any:
    """What a template prints: texts of files become printable; what is markup already stays."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _runs(summary: Summary) -> tuple[Run, ...]:
    return tuple(sorted(summary.runs, key=lambda run: VERDICTS.index(run.verdict)))[:SHOWN_RUNS]


def _facts(summary: Summary) -> list[tuple[str, list[tuple[str, int]]]]:
    """Each fact about where the runs ran, with its values and in how many runs."""
    rows = []
    for title, name in _FACTS:
        values = Counter(str(value) for run in summary.runs if (value := getattr(run, name)) is not None)
        if values:
            rows.append((title, sorted(values.items(), key=lambda item: (-item[1], item[0]))))
    return rows


def _spread(values: tuple[float, ...]) -> list[float]:
    """The table twin of the picture: least, quartiles and largest, as observed."""
    return [values[0], *(nearest_rank(values, part) for part in (0.25, 0.5, 0.75)), values[-1]]
