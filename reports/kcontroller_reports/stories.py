"""What the page tells of single runs: a card per failure, and the timeline of each failing run and of one that held."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kcontroller_reports.block import Block, FailureLines
from kcontroller_reports.drawing import Kinds
from kcontroller_reports.failures import Consequence, Failure
from kcontroller_reports.plots import NARROW, WIDE, View, timeline_svg
from kcontroller_reports.summary import OUTCOMES, SHOWN_FAILURES, Fault, Run, Summary
from kcontroller_reports.timelines import Moment, Timeline, Window, read_timeline
from pytest_kcontroller.model.text import one_of_many

#: More pictures make a page that is slow to open.
SHOWN_FAILING_RUNS, SHOWN_HELD_RUNS = 10, 5
#: A picture of more bytes is left out: a hostile or endless history, not a run that a person reads.
_LARGEST_SVG = 400_000
_ZOOMS_US = (20_000, 50_000, 200_000, 500_000, 1_000_000)
#: So many events of a window stand open, before and after its witness; the others are folded.
_BEFORE, _AFTER = 8, 4


@dataclass(frozen=True, slots=True)
class Story:
    """A run with its timeline, or the reason why there is none."""

    anchor: str
    run: Run
    timeline: Timeline | None
    svg: str
    missing: str


@dataclass(frozen=True, slots=True)
class Around:
    """A decisive window: its events in three parts, of which `near` is not folded, and its picture for wide and small
    screens."""

    window: Window
    before: tuple[Moment, ...]
    near: tuple[Moment, ...]
    after: tuple[Moment, ...]
    wide: str
    narrow: str


@dataclass(frozen=True, slots=True)
class Card:
    """A failure with what happened around it, and around what was broken after it."""

    lines: FailureLines
    failure: Failure
    faults: tuple[Fault, ...]
    skipped: tuple[tuple[str, int], ...]
    witness: tuple[tuple[str, str], ...]
    around: Around | None
    consequences: tuple[tuple[Consequence, Around | None], ...]
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Stories:
    cards: tuple[Card, ...]
    stories: tuple[Story, ...]
    failing: int  # runs that did not hold, of which at most SHOWN_FAILING_RUNS are drawn


def make_stories(summary: Summary, block: Block, kinds: Kinds) -> Stories:
    """Reads the timelines of the runs that are shown, and draws them."""
    failing = [run for run in summary.runs if run.outcome not in ("held", "unfinished")]
    stories = [_story(f"run-{number}", run, kinds) for number, run in enumerate(_shown_runs(summary, failing), start=1)]
    known = {story.run.directory: story for story in stories}
    cards = [
        _card(lines, failure, summary.failure_faults[failure.directory], known.get(failure.directory), kinds)
        for lines, failure in zip(block.failures, summary.failures[:SHOWN_FAILURES], strict=False)
    ]
    return Stories(tuple(cards), tuple(stories), len(failing))


def _shown_runs(summary: Summary, failing: Sequence[Run]) -> list[Run]:
    """The examples of the failures, then other failing runs, the worst first; then one that held of each campaign."""
    examples = {failure.directory: number for number, failure in enumerate(summary.failures[:SHOWN_FAILURES])}
    worst = sorted(failing, key=lambda run: (examples.get(run.directory, SHOWN_FAILURES), OUTCOMES.index(run.outcome)))[
        :SHOWN_FAILING_RUNS
    ]
    held: dict[str, Run] = {}
    for run in summary.runs:
        if run.verdict == "held":
            held.setdefault(run.campaign, run)
    return [*worst, *list(held.values())[:SHOWN_HELD_RUNS]]


def _story(anchor: str, run: Run, kinds: Kinds) -> Story:
    timeline = read_timeline(Path(run.directory))
    if isinstance(timeline, str):
        return Story(anchor, run, None, "", timeline)
    if not (timeline.controllers or timeline.owners or timeline.sessions):
        return Story(anchor, run, None, "", "its history is empty: nothing was recorded before it ended")
    label = f"timeline of {run.campaign}, seed {run.seed}"
    drawn = timeline_svg(timeline, kinds, View(timeline.from_us, timeline.to_us), label=label)
    if len(drawn) > _LARGEST_SVG:
        return Story(anchor, run, timeline, "", "too many changes for one picture; the table has the first of them")
    return Story(anchor, run, timeline, drawn, "")


def _card(lines: FailureLines, failure: Failure, faults: tuple[Fault, ...], story: Story | None, kinds: Kinds) -> Card:
    timeline = story.timeline if story else None
    window = _window(failure, faults, timeline) if timeline else None

    def around(window: Window | None) -> Around | None:
        return _around(timeline, window, kinds) if timeline and window else None

    return Card(
        lines=lines,
        failure=failure,
        faults=tuple(fault for fault in faults if not fault.skipped),
        skipped=tuple(sorted(Counter(fault.name for fault in faults if fault.skipped).items())),
        witness=_pairs(failure.witness),
        around=around(window),
        consequences=tuple(
            (one, around(timeline.window("invariant", one.invariant) if timeline else None))
            for one in failure.consequences
        ),
        anchor=story.anchor if story else None,
    )


def _around(timeline: Timeline, window: Window, kinds: Kinds) -> Around:
    at = next((n for n, event in enumerate(window.events) if event.witness and event.t_us >= window.at_us), None)
    if at is None:
        at = next((n for n, event in enumerate(window.events) if event.t_us >= window.at_us), len(window.events))
    before, near, after = (
        window.events[: max(0, at - _BEFORE)],
        window.events[max(0, at - _BEFORE) : at],
        window.events[at:],
    )
    near, after = (*near, *after[: _AFTER + 1]), after[_AFTER + 1 :]
    half_us = _zoom(window, near)
    begin, end = max(window.from_us, window.at_us - half_us), min(window.to_us, window.at_us + half_us)
    wide, narrow = (
        timeline_svg(timeline, kinds, View(begin, end, paper, window), label=f"around {window.name}{on}")
        for paper, on in ((WIDE, ""), (NARROW, ", for a small screen"))
    )
    pictures = (drawn if len(drawn) <= _LARGEST_SVG else "" for drawn in (wide, narrow))
    return Around(window, before, near, after, *pictures)


def _window(failure: Failure, faults: Sequence[Fault], timeline: Timeline) -> Window | None:
    if failure.verdict == "violated":
        return timeline.window("invariant", failure.cause)
    found = (timeline.window("fault", fault.fault) for fault in faults if fault.failed)
    return next((window for window in found if window is not None), None)


def _zoom(window: Window, near: Sequence[Moment]) -> int:
    """Half of the drawn time: the shortest that shows the events that led to the witness."""
    led_to_it = max((window.at_us - event.t_us for event in near if event.t_us <= window.at_us), default=0)
    whole = max(window.at_us - window.from_us, window.to_us - window.at_us)
    return next((half_us for half_us in _ZOOMS_US if half_us >= led_to_it), whole)


def _pairs(witness: str | None) -> tuple[tuple[str, str], ...]:
    """The fields of a witness, which is JSON, in words; one that is no object is shown as it stands."""
    if not witness:
        return ()
    try:
        value = json.loads(witness)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return (("witness", witness),)
    return tuple((str(key), one_of_many(item)) for key, item in value.items())
