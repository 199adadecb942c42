"""The page: one file, no network, no script.

Everything that comes from a file is made printable, cut if it is endless, and escaped by the template engine; the
page's own policy forbids it to load or run anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kcontroller_reports.block import RECOVERY_ENDS, Block, RecoveryLines
from kcontroller_reports.drawing import KIND_COLOURS, NODE_COLOURS, Kinds
from kcontroller_reports.figures import NEEDED_FOR_P50, NEEDED_FOR_P95, NEEDED_FOR_P99
from kcontroller_reports.meanings import meaning, meanings
from kcontroller_reports.plots import nearest_rank, recovery_svg
from kcontroller_reports.stories import SHOWN_FAILING_RUNS, make_stories
from kcontroller_reports.summary import DIFFERENCES, OUTCOMES, FaultKind, FaultTrouble, Invariant, Run, Setup, Summary
from kcontroller_reports.tables import PARTS, VERDICTS
from kcontroller_reports.words import as_sentence, counted, milliseconds, moment, seconds, short
from pytest_kcontroller.model.text import printable

#: More rows make a page that nobody reads and a phone cannot open; the tables have all.
SHOWN_RUNS, SHOWN_SPANS, SHOWN_LINES, SHOWN_REMARKS = 500, 120, 100, 50
#: So many failures stand open.
_OPEN = 1

_FACTS = (
    ("backend", "backend"), ("ZooKeeper", "zookeeper"), ("kcontroller", "kcontroller"), ("Python", "python"),
    ("Java", "java"), ("system", "system"), ("CPUs", "cpus"), ("commit", "commit"), ("selectors", "selectors"),
    ("assignment", "assignment"), ("Kafka", "kafka_release"), ("kafka_compat", "kafka_compat"),
    ("program", "program"), ("plugins", "plugins"),
    ("mutant", "mutant"), ("without the fault", "noop_fault"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figures:
    """What a page says of one setup: never of more than one."""

    setup: Setup
    invariants: tuple[Invariant, ...]
    recovery: RecoveryLines | None
    recovery_plot: str
    spread: tuple[tuple[str, int, tuple[float, ...]], ...]  # the table twin of the picture: fault, n, five values
    kinds: tuple[FaultKind, ...]
    skipped: str
    troubles: tuple[FaultTrouble, ...]


def page_html(summary: Summary, block: Block) -> str:
    """`report.html` as text. Reads the timelines of the runs that it shows."""
    kinds = Kinds([row.fault.partition(":")[0] for row in summary.fault_kinds])
    selected = make_stories(summary, block, kinds)
    environment = Environment(
        loader=PackageLoader("kcontroller_reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"seconds": seconds, "ms": milliseconds, "moment": moment, "svg": Markup, "short": short}
    environment.filters["sentence"] = as_sentence
    return environment.get_template("report.html.j2").render(
        title=f"{block.title}: " + ", ".join(text for _, text in block.verdicts),
        block=block,
        summary=summary,
        kinds=kinds,
        cards=selected.cards,
        open_cards=_OPEN,
        lines=block.failures[len(selected.cards) :][:SHOWN_LINES],
        more_failures=max(0, len(block.failures) - len(selected.cards) - SHOWN_LINES),
        stories=selected.stories,
        story_of={story.run.directory: story.anchor for story in selected.stories},
        failing=selected.failing,
        shown_failing=min(selected.failing, SHOWN_FAILING_RUNS),
        shown_spans=SHOWN_SPANS,
        figures=[_figures(summary, block, setup, kinds) for setup in summary.setups],
        of={setup.name: setup for setup in summary.setups},
        differences=[*DIFFERENCES.values()],
        groups=_groups(summary),
        shown_runs=min(SHOWN_RUNS, len(summary.runs)),
        remarks=block.remarks[:SHOWN_REMARKS],
        recovery_ends=RECOVERY_ENDS,
        needed=(NEEDED_FOR_P50, NEEDED_FOR_P95, NEEDED_FOR_P99),
        facts=_facts(summary),
        overloaded=sum(run.overloaded > 0 for run in summary.runs),
        noted=[run for run in summary.runs if run.notes],
        part_names=PARTS,
        verdict_words=VERDICTS,
        counted=counted,
        meaning=meaning,
        meanings=meanings(summary),
        node_hues=node_hues(NODE_COLOURS),
        kind_count=KIND_COLOURS,
    )


def _figures(summary: Summary, block: Block, setup: Setup, kinds: Kinds) -> Figures:
    recovery = [row for row in summary.recovery if row.setup == setup.name]
    times = {row.fault: row.times for row in recovery if row.times}
    of_kinds = tuple(row for row in summary.fault_kinds if row.setup == setup.name)
    return Figures(
        setup=setup,
        invariants=tuple(row for row in summary.invariants if row.setup == setup.name),
        recovery=next((lines for lines in block.recovery if lines.setup == setup.label), None),
        recovery_plot=recovery_svg(times, kinds) if times else "",
        spread=tuple((name, len(values), _spread(values)) for name, values in times.items()),
        kinds=of_kinds,
        skipped=", ".join(f"{row.fault} ({row.skipped})" for row in of_kinds if row.skipped),
        troubles=tuple(row for row in summary.fault_troubles if row.setup == setup.name),
    )


def node_hues(count: int) -> list[int]:
    """Degrees on the colour wheel, neighbours far from each other."""
    return [round(205 + 137.5 * number) % 360 for number in range(count)]


def _shown(value: Any) -> Any:
    """What a template prints: texts of files become printable; what is markup already stays."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _groups(summary: Summary) -> list[tuple[str, list[Run]]]:
    """Runs by outcome, the worst first; as many as are shown."""
    left, found = SHOWN_RUNS, []
    for outcome in OUTCOMES:
        runs = [run for run in summary.runs if run.outcome == outcome]
        if runs and left:
            found.append((outcome, runs[:left]))
            left -= len(found[-1][1])
    return found


def _facts(summary: Summary) -> list[tuple[str, list[tuple[str, int]]]]:
    """Each fact about where the runs ran, with its values and in how many runs."""
    rows = []
    for title, name in _FACTS:
        values = Counter(str(value) for run in summary.runs if (value := getattr(run, name)) is not None)
        if values:
            rows.append((title, sorted(values.items(), key=lambda item: (-item[1], item[0]))))
    return rows


def _spread(values: Sequence[float]) -> tuple[float, ...]:
    """Least, quartiles and largest, as observed."""
    return (values[0], *(nearest_rank(values, part) for part in (0.25, 0.5, 0.75)), values[-1])
