"""What the page tells of single runs: a card per failure, and the timeline of each failing run and of one that held."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kcontroller_reports.block import Block, FailureLines
from kcontroller_reports.drawing import Kinds
from kcontroller_reports.plots import timeline_svg
from kcontroller_reports.summary import SHOWN_FAILURES, Failure, Fault, Run, Summary
from kcontroller_reports.tables import VERDICTS
from kcontroller_reports.timelines import Timeline, Window, read_timeline

#: More pictures make a page that is slow to open.
SHOWN_FAILING_RUNS, SHOWN_HELD_RUNS = 10, 5
#: A picture of more bytes is left out: a hostile or endless history, not a run that a person reads.
_LARGEST_SVG = 400_000
_ZOOMS_US = (200_000, 500_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Story:
    """A run with its timeline, or the reason why there is none."""

    anchor: str
    run: Run
    timeline: Timeline | None
    svg: str
    missing: str


@dataclass(frozen=True, slots=True)
class Card:
    """A failure with what happened around it."""

    lines: FailureLines
    failure: Failure
    faults: tuple[Fault, ...]
    witness: tuple[tuple[str, str], ...]
    window: Window | None
    svg: str
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Stories:
    cards: tuple[Card, ...]
    stories: tuple[Story, ...]
    failing: int  # runs that did not hold, of which at most SHOWN_FAILING_RUNS are drawn


def make_stories(summary: Summary, block: Block, kinds: Kinds) -> Stories:
    """Reads the timelines of the runs that are shown, and draws them."""
    failing = [run for run in summary.runs if run.verdict != "held"]
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
    worst = sorted(failing, key=lambda run: (examples.get(run.directory, SHOWN_FAILURES), VERDICTS.index(run.verdict)))[
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
    if not timeline.controllers and not timeline.sessions:
        return Story(anchor, run, None, "", "its history is empty: nothing was recorded before it ended")
    drawn = timeline_svg(timeline, kinds, label=f"timeline of {run.campaign}, seed {run.seed}")
    if len(drawn) > _LARGEST_SVG:
        return Story(anchor, run, timeline, "", "too many changes for one picture; the table has the first of them")
    return Story(anchor, run, timeline, drawn, "")


def _card(lines: FailureLines, failure: Failure, faults: tuple[Fault, ...], story: Story | None, kinds: Kinds) -> Card:
    timeline = story.timeline if story else None
    window = _window(failure, faults, timeline) if timeline else None
    drawn = ""
    if timeline and window:
        half_us = _zoom(window)
        begin, end = max(window.from_us, window.at_us - half_us), min(window.to_us, window.at_us + half_us)
        drawn = timeline_svg(
            timeline, kinds, label=f"around {window.name}", from_us=begin, to_us=end, at_us=window.at_us
        )
    return Card(
        lines=lines,
        failure=failure,
        faults=faults,
        witness=_pairs(failure.witness),
        window=window,
        svg=drawn if len(drawn) <= _LARGEST_SVG else "",
        anchor=story.anchor if story else None,
    )


def _window(failure: Failure, faults: Sequence[Fault], timeline: Timeline) -> Window | None:
    if failure.verdict == "violated":
        return timeline.window("invariant", failure.cause)
    found = (timeline.window("fault", fault.fault) for fault in faults if fault.failed)
    return next((window for window in found if window is not None), None)


def _zoom(window: Window) -> int:
    """Half of the drawn time: the shortest that shows most of the window's events."""
    for half_us in _ZOOMS_US:
        near = sum(abs(event.t_us - window.at_us) <= half_us for event in window.events)
        if 3 * near >= 2 * len(window.events):
            return half_us
    return max(window.at_us - window.from_us, window.to_us - window.at_us)


def _pairs(witness: str | None) -> tuple[tuple[str, str], ...]:
    """The fields of a witness, which is JSON; one that is no object is shown as it stands."""
    if not witness:
        return ()
    try:
        value = json.loads(witness)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return (("witness", witness),)
    return tuple((str(key), item if isinstance(item, str) else json.dumps(item)) for key, item in value.items())
