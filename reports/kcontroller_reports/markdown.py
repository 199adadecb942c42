"""report.md: the short form for GitHub's step summary, which shows at most 1 MiB: the rest is cut by severity, and said.

Texts of files are shown as they stand: nothing of them is markup, a link, or a line of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kcontroller_reports.block import RECOVERY_ENDS, Block, FailureLines, RecoveryLine
from kcontroller_reports.summary import OUTCOMES, Invariant, Run, Setup, Summary
from kcontroller_reports.tables import PARTS
from kcontroller_reports.words import as_sentence, seconds
from pytest_kcontroller.model.text import printable

#: What GitHub takes for one step.
LIMIT = 1024 * 1024
_LONGEST = 500
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$#@])")
_LINK = re.compile(r"(?i)(:)(?=//)|(?<=www)(\.)")
_ROOM_FOR_NOTES = 2_000


def report_md(summary: Summary, block: Block, limit: int = LIMIT) -> str:
    """The text, of at most `limit` bytes: verdict, failures, recovery, then the details, each as far as there is room."""
    writer = _Writer(limit - _ROOM_FOR_NOTES)
    writer.add(_head(block))
    writer.part("failures", "## Failures\n\n", (_failure(failure) for failure in block.failures))
    if any(lines.rows for lines in block.recovery):
        writer.add(f"## Recovery\n\n{as_sentence(RECOVERY_ENDS)}.\n")
    for lines in block.recovery:
        head = _of(lines.setup) + _row(_RECOVERY) + _RECOVERY_LINE
        writer.part("kinds of fault", head, (_recovery(row) for row in lines.rows))
    for setup in summary.setups:
        head = _folded("Invariants", setup) + _row(_INVARIANT) + _INVARIANT_LINE
        rows = [row for row in summary.invariants if row.setup == setup.name]
        writer.part("invariants", head, (_invariant(row) for row in rows), "\n</details>\n")
    head = "\n<details><summary>Runs</summary>\n\n" + _row(_RUN) + _RUN_LINE
    runs = sorted(summary.runs, key=lambda run: OUTCOMES.index(run.outcome))
    writer.part("runs", head, (_run(run) for run in runs), "\n</details>\n")
    head = "\n<details><summary>Odd files and directories</summary>\n\n"
    writer.part("remarks", head, (f"- {plain(remark)}\n" for remark in block.remarks), "\n</details>\n")
    return writer.text()


def _of(setup: str) -> str:
    return f"\nWith {plain(setup)}:\n\n" if setup else "\n"


def _folded(what: str, setup: Setup) -> str:
    return f"\n<details><summary>{what}{f' with {plain(setup.label)}' if setup.label else ''}</summary>\n\n"


def append_summary(text_for: Path, summary: Summary, block: Block) -> None:
    """Appends report.md to `text_for`, as far as GitHub takes it together with what is there. Raises OSError."""
    there = text_for.stat().st_size if text_for.exists() else 0
    if there + 2 * _ROOM_FOR_NOTES < LIMIT:
        with text_for.open("a", encoding="utf-8") as file:
            file.write("\n" * (there > 0) + report_md(summary, block, LIMIT - there - 1))


class _Writer:
    """Chunks while there is room for them; what came too late is counted."""

    def __init__(self, limit: int) -> None:
        self._left, self._chunks = limit, list[str]()

    def add(self, chunk: str) -> bool:
        size = len(chunk.encode())
        if size > self._left:
            return False
        self._left -= size
        self._chunks.append(chunk)
        return True

    def part(self, what: str, head: str, chunks: Iterable[str], tail: str = "") -> None:
        rows = list(chunks)
        if not rows:
            return
        shown = 0
        if len((head + tail).encode()) + len(rows[0].encode()) <= self._left:
            self.add(head)
            self._left -= len(tail.encode())
            while shown < len(rows) and self.add(rows[shown]):
                shown += 1
            self._chunks.append(tail)
        if shown < len(rows):
            cut = len(rows) - shown
            self._chunks.append(
                f"\n_{cut} of {len(rows)} {what} are cut here: GitHub shows 1 MiB. report.html has them._\n\n"
            )

    def text(self) -> str:
        return "".join(self._chunks)


def plain(text: object, longest: int = _LONGEST) -> str:
    """A text as Markdown that shows exactly it, on one line."""
    shown = _SPECIAL.sub(r"\\\1", printable(str(text), longest))
    return _LINK.sub(lambda match: f"\\{match.group()}", shown)


def _code(text: str) -> str:
    """A code block; its fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}sh\n{printable(text)}\n{fence}\n"


def _row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def _head(block: Block) -> str:
    head, *rows = block.setups or ((),)
    table = _row(head) + "|---" + "|--:" * (len(head) - 1) + "|\n" + "".join(_row(map(plain, row)) for row in rows)
    return (
        f"# {plain(block.title)}: {', '.join(text for _, text in block.verdicts)}\n\n"
        + " · ".join(plain(part) for part in block.header)
        + "\n\n"
        + (f"{table}\n" if rows else "")
        + "".join(
            f"Judged{f' with {plain(setup)}' if setup else ''}: {plain(words)}.\n\n" for setup, words in block.judged
        )
    )


def _failure(failure: FailureLines) -> str:
    title = f"{failure.number}. **{plain(failure.title)}** ({failure.verdict})\n"
    details = "".join(f"   - {plain(detail)}\n" for detail in failure.details)
    command = "".join(f"   {line}\n" for line in _code(failure.command).splitlines()) if failure.command else ""
    return f"{title}{details}\n{command}\n"


_RECOVERY, _RECOVERY_LINE = ("fault", "n", "p50", "p95", "p99", "max", ""), "|---|--:|--:|--:|--:|--:|---|\n"
_INVARIANT = ("invariant", "kind", "runs", "held", "violated", "unknown", "never exercised", "checks")
_INVARIANT_LINE = "|---|---|--:|--:|--:|--:|--:|--:|\n"
_RUN, _RUN_LINE = (
    ("verdict", "campaign", "seed", *PARTS, "time", "run"),
    f"|---|---|--:{'|---' * len(PARTS)}|--:|---|\n",
)


def _recovery(row: RecoveryLine) -> str:
    return _row([plain(row.fault), row.n, row.p50, row.p95, row.p99, row.largest, row.note])


def _invariant(row: Invariant) -> str:
    counts = [row.runs, row.held, row.violated, row.unknown, row.never, row.checks]
    return _row([plain(row.invariant), plain(row.kind or ""), *counts])


def _run(run: Run) -> str:
    parts = [plain(run.parts[name] or "", 40) for name in PARTS]
    seed = "" if run.seed is None else run.seed
    reasons = [plain(f"known: {run.known}")] if run.known else []
    reasons += [plain(text) for text in (run.reason, run.notes) if text]
    where = "<br>".join([plain(run.directory), *reasons])
    return _row([run.outcome, plain(run.campaign), seed, *parts, seconds(run.duration_us), where])
