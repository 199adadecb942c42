"""The page: one file, no network, no script. It shows the block, then the tables behind it.

Everything that comes from a file is escaped by the template engine, and the page's own policy forbids it to load or
run anything.
"""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from kcontroller_reports.block import RECOVERY_ENDS, Block, seconds
from kcontroller_reports.summary import NEEDED_FOR_P50, NEEDED_FOR_P95, Run, Summary
from kcontroller_reports.tables import VERDICTS

#: More rows make a page that nobody reads and a phone cannot open; the tables have all.
SHOWN_RUNS = 500


def page_html(summary: Summary, block: Block) -> str:
    """`report.html` as text."""
    environment = Environment(
        loader=PackageLoader("kcontroller_reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(
        title="kcontroller: " + ", ".join(text for _, text in block.verdicts),
        block=block,
        summary=summary,
        runs=_shown(summary),
        recovery_ends=RECOVERY_ENDS,
        needed_for_p50=NEEDED_FOR_P50,
        needed_for_p95=NEEDED_FOR_P95,
        any_p50=any(row.p50 for row in block.recovery),
        any_p95=any(row.p95 for row in block.recovery),
        seconds=seconds,
        verdict_words=VERDICTS,
    )


def _shown(summary: Summary) -> tuple[Run, ...]:
    if len(summary.runs) <= SHOWN_RUNS:
        return summary.runs
    return tuple(sorted(summary.runs, key=lambda run: VERDICTS.index(run.verdict)))[:SHOWN_RUNS]
