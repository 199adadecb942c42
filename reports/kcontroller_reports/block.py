"""The first thing a person reads: header, verdict, failures, recovery. In the terminal and, line for line, on the page.

Words before numbers, every number with what it is out of, every failure with a cause and a command, no line without data.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kcontroller_reports.failures import Failure
from kcontroller_reports.summary import OUTCOMES, Recovery, Summary
from kcontroller_reports.words import counted, seconds
from pytest_kcontroller.model.text import LONGEST, printable

#: What the recovery columns mean until clients write records.
RECOVERY_ENDS = "ends when the new state is in ZooKeeper and its leader has answered LeaderAndIsr"

_SHOWN_FAILURES = 10
_SHOWN_FAULTS = 4


@dataclass(frozen=True, slots=True)
class FailureLines:
    number: int
    verdict: str
    title: str
    details: tuple[str, ...]
    command: str | None


@dataclass(frozen=True, slots=True)
class RecoveryLine:
    """A row of the recovery table, ready to print."""

    fault: str
    n: str
    p50: str
    p95: str
    p99: str
    largest: str
    note: str


@dataclass(frozen=True, slots=True)
class RecoveryLines:
    """The recoveries of one setup. `idle` says after which faults there was nothing to recover."""

    setup: str
    rows: tuple[RecoveryLine, ...]
    idle: str


@dataclass(frozen=True, slots=True)
class Block:
    title: str  # which campaigns
    header: tuple[str, ...]
    verdicts: tuple[tuple[str, str], ...]  # (outcome, "1 of 4 runs violated")
    setups: tuple[tuple[str, ...], ...]  # a row of cells for each setup below a head; empty if there is only one
    judged: tuple[tuple[str, str], ...]  # (setup, how much there was to judge)
    failures: tuple[FailureLines, ...]
    recovery: tuple[RecoveryLines, ...]
    remarks: tuple[str, ...]


def make_block(summary: Summary) -> Block:
    labels = {setup.name: setup.label for setup in summary.setups}
    of = {setup.name: len(setup.runs) for setup in summary.setups}
    return Block(
        title=_title(summary),
        header=_header(summary),
        verdicts=_verdicts(summary),
        setups=_setups(summary),
        judged=tuple((setup.label, ", ".join(setup.judged)) for setup in summary.setups if setup.judged),
        failures=tuple(
            _failure(number, failure, of[failure.setup], labels[failure.setup])
            for number, failure in enumerate(summary.failures, 1)
        ),
        recovery=tuple(
            lines
            for setup in summary.setups
            if (lines := _recoveries(setup.label, [row for row in summary.recovery if row.setup == setup.name]))
        ),
        remarks=summary.remarks,
    )


def block_text(block: Block, *, width: int = 118) -> str:
    """The block for a terminal, without a line end at its end. Control characters in names are shown, not sent."""
    lines = [*_wrapped("kcontroller  " + "  ·  ".join((block.title, *block.header)), width)]
    lines += _wrapped("VERDICT  " + " · ".join(text for _, text in block.verdicts), width)
    lines += _table(block.setups, left=(0,))
    for setup, judged in block.judged:
        lines += _wrapped(f"JUDGED  {f'with {setup}: ' if setup else ''}{judged}", width)
    for failure in block.failures[:_SHOWN_FAILURES]:
        lines += _wrapped(f"  {failure.number}. {failure.title}", width, indent=5)
        for detail in failure.details:
            lines += _wrapped(f"     {detail}", width, indent=7)
        if failure.command:
            lines.append(f"     -> {failure.command}")
    if len(block.failures) > _SHOWN_FAILURES:
        lines.append(f"  and {len(block.failures) - _SHOWN_FAILURES} more in report.html")
    for recovery in block.recovery:
        of = f" with {recovery.setup}" if recovery.setup else ""
        lines.append(f"Recovery{of} ({RECOVERY_ENDS})")
        lines += _recovery_text(recovery.rows)
        lines += _wrapped(f"  {recovery.idle}", width, indent=4) if recovery.idle else []
    return "\n".join(printable(line, longest=10 * LONGEST) for line in lines)


def replay_command(directory: str, seed: int | None) -> str | None:
    """How to see a run again: its directory holds campaign, seed and schedule, unless run.json is damaged."""
    return None if seed is None else shlex.join(["kcontroller", "replay", directory])


def _title(summary: Summary) -> str:
    return _named("campaign", (run.campaign for run in summary.runs))


def _header(summary: Summary) -> tuple[str, ...]:
    runs = summary.runs
    total = sum(run.duration_us or 0 for run in runs)
    return tuple(
        part
        for part in (
            dates(run.started for run in runs),
            _named("commit", (run.commit[:10] for run in runs if run.commit)),
            _seeds(sorted({run.seed for run in runs if run.seed is not None})),
            _named("backend", (run.backend for run in runs if run.backend)),
            _named("ZooKeeper", (run.zookeeper for run in runs if run.zookeeper), plural="ZooKeeper"),
            _named("Kafka", (run.kafka_release for run in runs if run.kafka_release), plural="Kafka"),
            _of_some("kafka_compat", [run.kafka_compat for run in runs], plural="kafka_compat"),
            _of_some("mutant", [run.mutant for run in runs], plural="mutants"),
            _of_some("without the fault", [run.noop_fault for run in runs], plural="without the faults"),
            counted(len(runs), "run") + (f", {seconds(total)}" if total else ""),
        )
        if part
    )


_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)")


def dates(starts: Iterable[str | None]) -> str:
    """From the first start to the last, by the clocks of the hosts, in UTC: `2026-01-02 03:04 to 05:06 UTC`."""
    found = sorted(match.groups() for start in starts if start and (match := _DATE.match(start)))
    if not found:
        return ""
    (day, time), (last_day, last_time) = found[0], found[-1]
    until = last_time if day == last_day else f"{last_day} {last_time}"
    return f"{day} {time}{'' if found[0] == found[-1] else f' to {until}'} UTC"


def _named(word: str, values: Iterable[str], plural: str = "") -> str:
    names = sorted(set(values))
    if len(names) > 4:
        return f"{len(names)} {plural or word + 's'}"
    return f"{word if len(names) == 1 else plural or word + 's'} {', '.join(names)}" if names else ""


def _of_some(word: str, values: Sequence[str | None], plural: str) -> str:
    """What not every run has, and how many have it: the others must not pass for runs of a mutant."""
    given = [value for value in values if value]
    count = f" in {len(given)} run{'' if len(given) == 1 else 's'}" if 0 < len(given) < len(values) else ""
    return f"{_named(word, given, plural)}{count}"


def _seeds(seeds: Sequence[int]) -> str:
    if not seeds:
        return ""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"seeds {seeds[0]}..{seeds[-1]}"
    return f"seeds {', '.join(map(str, seeds))}" if len(seeds) <= 6 else f"{len(seeds)} seeds"


_OUTCOMES = {"unfinished": "did not finish"}


def _verdicts(summary: Summary) -> tuple[tuple[str, str], ...]:
    """A run that did not finish is a headline only if there is nothing else: it says nothing about what was tried."""
    total = len(summary.runs)
    counts = [(outcome, summary.count(outcome)) for outcome in OUTCOMES]
    present = sorted(((outcome, count) for outcome, count in counts if count), key=lambda one: one[0] == "unfinished")
    (first, count), *others = present
    known = f" ({summary.known} of them known)" if summary.known else ""
    return (
        (first, f"{count} of {counted(total, 'run')} {_OUTCOMES.get(first, first)}{known}"),
        *((outcome, f"{count} {_OUTCOMES.get(outcome, outcome)}") for outcome, count in others),
    )


def _setups(summary: Summary) -> tuple[tuple[str, ...], ...]:
    """What ran, how often, and what came of it; a column for each outcome that there is."""
    if len(summary.setups) < 2:
        return ()
    there = [outcome for outcome in OUTCOMES if summary.count(outcome)]
    rows = [
        (setup.label, str(len(setup.runs)), *(str(setup.count(outcome) or "") for outcome in there))
        for setup in summary.setups
    ]
    return (("what ran", "runs", *there), *rows)


def _failure(number: int, failure: Failure, of: int, setup: str) -> FailureLines:
    title = failure.cause if failure.verdict == "violated" else f"{failure.verdict}: {failure.cause}"
    under = list(failure.faults[-_SHOWN_FAULTS:])
    if len(failure.faults) > _SHOWN_FAULTS:
        under.insert(0, f"{len(failure.faults) - _SHOWN_FAULTS} earlier")
    after = [f"{one.invariant} (in {one.runs})" for one in failure.consequences]
    details = [
        f"in {failure.runs} of {counted(of, 'run')}{f' with {setup}' if setup else ''}, first in {failure.directory}",
        f"known: the campaign file expects it in {failure.known} of them" if failure.known else "",
        f"under: {' + '.join(under)}" if under else "",
        f"where: {failure.where}" if failure.where else "",
        f"expected: {failure.expected}" if failure.expected else "",
        f"seen: {failure.seen}" if failure.seen else "",
        f"after it, in the same runs: {', '.join(after)}" if after else "",
    ]
    return FailureLines(
        number, failure.verdict, title, tuple(filter(None, details)), replay_command(failure.directory, failure.seed)
    )


def _recoveries(setup: str, rows: Sequence[Recovery]) -> RecoveryLines | None:
    idle = ", ".join(f"{row.fault} ({row.idle})" for row in rows if not row.n)
    told = tuple(_recovery(row) for row in rows if row.n)
    return RecoveryLines(setup, told, f"nothing to recover after: {idle}" if idle else "") if rows else None


def _recovery(row: Recovery) -> RecoveryLine:
    notes = (
        f"{row.endless} with no end seen" if row.endless else "",
        f"{row.idle} more with nothing to recover" if row.idle else "",
    )
    return RecoveryLine(
        fault=row.fault,
        n=str(row.n),
        p50=seconds(row.p50_us),
        p95=seconds(row.p95_us),
        p99=seconds(row.p99_us),
        largest=seconds(row.max_us),
        note=", ".join(filter(None, notes)),
    )


def _recovery_text(rows: Sequence[RecoveryLine]) -> list[str]:
    cells = [("", "n", "p50", "p95", "p99", "max", "")]
    cells += [(row.fault, row.n, row.p50, row.p95, row.p99, row.largest, row.note) for row in rows]
    kept = [i for i in range(7) if i == 0 or any(row[i] for row in cells[1:])]
    return (
        _table([[row[i] for i in kept] for row in cells], left=(0, kept.index(6) if 6 in kept else 0)) if rows else []
    )


def _table(rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """Lines of aligned cells; the columns `left` are text, the others numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [
        "  "
        + "  ".join(
            c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _wrapped(text: str, width: int, indent: int = 2) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=True, replace_whitespace=True,
    ) or [""]  # fmt: skip
