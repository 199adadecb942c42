"""The first thing a person reads: header, verdict, failures, recovery. In the terminal and, line for line, on the page.

Words before numbers, every number with what it is out of, every failure with a cause and a command, no line without data.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kcontroller_reports.summary import Failure, Recovery, Summary
from kcontroller_reports.tables import VERDICTS
from kcontroller_reports.words import seconds
from pytest_kcontroller.model.text import LONGEST, printable

#: What the recovery columns mean until clients write records.
RECOVERY_ENDS = "ends when the new state is in ZooKeeper and its leader has answered LeaderAndIsr"

_SHOWN_FAILURES = 10
_SHOWN_FAULTS = 6


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
class Block:
    header: tuple[str, ...]
    verdicts: tuple[tuple[str, str], ...]  # (verdict, "1 of 4 runs violated")
    failures: tuple[FailureLines, ...]
    recovery: tuple[RecoveryLine, ...]


def make_block(summary: Summary) -> Block:
    return Block(
        header=_header(summary),
        verdicts=_verdicts(summary),
        failures=tuple(_failure(number, failure, summary) for number, failure in enumerate(summary.failures, 1)),
        recovery=tuple(_recovery(row) for row in summary.recovery),
    )


def block_text(block: Block, *, width: int = 118) -> str:
    """The block for a terminal, without a line end at its end. Control characters in names are shown, not sent."""
    lines = [*_wrapped("kcontroller  " + "  ·  ".join(block.header), width)]
    lines += _wrapped("VERDICT  " + " · ".join(text for _, text in block.verdicts), width)
    for failure in block.failures[:_SHOWN_FAILURES]:
        lines += _wrapped(f"  {failure.number}. {failure.title}", width, indent=5)
        for detail in failure.details:
            lines += _wrapped(f"     {detail}", width, indent=7)
        if failure.command:
            lines.append(f"     -> {failure.command}")
    if len(block.failures) > _SHOWN_FAILURES:
        lines.append(f"  and {len(block.failures) - _SHOWN_FAILURES} more in report.html")
    if block.recovery:
        lines.append(f"Recovery ({RECOVERY_ENDS})")
        lines += _recovery_text(block.recovery)
    return "\n".join(printable(line, longest=10 * LONGEST) for line in lines)


def replay_command(directory: str, seed: int | None) -> str | None:
    """How to see a run again: its directory holds campaign, seed and schedule, unless run.json is damaged."""
    return None if seed is None else shlex.join(["kcontroller", "replay", directory])


def _header(summary: Summary) -> tuple[str, ...]:
    runs = summary.runs
    total = sum(run.duration_us or 0 for run in runs)
    return tuple(
        part
        for part in (
            _named("campaign", (run.campaign for run in runs)),
            _named("commit", (run.commit[:10] for run in runs if run.commit)),
            _seeds(sorted({run.seed for run in runs if run.seed is not None})),
            _named("backend", (run.backend for run in runs if run.backend)),
            _named("ZooKeeper", (run.zookeeper for run in runs if run.zookeeper), plural="ZooKeeper"),
            _of_some("mutant", [run.mutant for run in runs], plural="mutants"),
            _of_some("without the fault", [run.noop_fault for run in runs], plural="without the faults"),
            f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}" + (f", {seconds(total)}" if total else ""),
        )
        if part
    )


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


def _verdicts(summary: Summary) -> tuple[tuple[str, str], ...]:
    total = len(summary.runs)
    counts = [(verdict, summary.count(verdict)) for verdict in VERDICTS]
    present = [(verdict, count) for verdict, count in counts if count]
    first, *others = present
    noun = "run" if total == 1 else "runs"
    known = f" ({summary.known} of them known)" if summary.known else ""
    return (
        (first[0], f"{first[1]} of {total} {noun} {first[0]}{known}"),
        *((v, f"{count} {v}") for v, count in others),
    )


def _failure(number: int, failure: Failure, summary: Summary) -> FailureLines:
    of = f"{failure.runs} of {len(summary.runs)} {'run' if len(summary.runs) == 1 else 'runs'}"
    title = failure.cause if failure.verdict == "violated" else f"{failure.verdict}: {failure.cause}"
    faults = list(failure.faults[:_SHOWN_FAULTS])
    if len(failure.faults) > _SHOWN_FAULTS:
        faults.append(f"{len(failure.faults) - _SHOWN_FAULTS} more")
    details = [
        f"in {of}, first in {failure.directory}",
        f"known: the campaign file expects it in {failure.known} of them" if failure.known else "",
        f"under: {' + '.join(faults)}" if faults else "",
        f"where: {failure.where}" if failure.where else "",
        f"expected: {failure.expected}" if failure.expected else "",
        f"seen: {failure.seen}" if failure.seen else "",
    ]
    return FailureLines(
        number, failure.verdict, title, tuple(filter(None, details)), replay_command(failure.directory, failure.seed)
    )


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
    widths = {i: max(len(row[i]) for row in cells) for i in kept}
    return [
        ("  " + "  ".join(row[i].ljust(widths[i]) if i in (0, 6) else row[i].rjust(widths[i]) for i in kept)).rstrip()
        for row in cells
    ]


def _wrapped(text: str, width: int, indent: int = 2) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=True, replace_whitespace=True,
    ) or [""]  # fmt: skip
