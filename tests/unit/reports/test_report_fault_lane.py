"""Labels in the fault lane of a timeline never lie on one another, and reading them aloud says nothing that steers."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_reports.drawing import Kinds, figure, svg
from kcontroller_reports.plots import FaultPlaces
from kcontroller_reports.timelines import Fault

LETTER_IN = 0.068
"""Inches; an average letter of a label."""
RUN_US = 10_000_000


def fault(number: int, from_us: int, lasts_us: int, name: str) -> Fault:
    return Fault(from_us, min(from_us + lasts_us, RUN_US), f"{name}-{number}", "kill", "", number, "healed", None)


@given(
    st.lists(
        st.tuples(st.integers(0, RUN_US), st.integers(0, RUN_US), st.text("ab", min_size=1, max_size=40)), max_size=25
    )
)
def test_no_two_labels_or_bars_with_labels_overlap(drawn: list[tuple[int, int, str]]) -> None:
    faults = [fault(number, *one) for number, one in enumerate(sorted(drawn))]
    places = FaultPlaces(0, RUN_US)
    shown = []
    for one, (row, named) in zip(faults, places.place(faults), strict=True):
        if named:
            begin, end = places.bar(one)
            text, side = places.label(one)
            width = len(text) * LETTER_IN * places.inch_us
            wide = {"right": (begin, end + width), "left": (begin - width, end), "inside": (begin, end)}
            shown.append((row, wide[side]))
    assert len({row for row, _ in shown}) <= 6
    for (row, mine), (other, theirs) in combinations(shown, 2):
        assert row != other or mine[1] <= theirs[0] or theirs[1] <= mine[0]


def test_a_fault_of_a_whole_window_has_its_label_inside() -> None:
    places = FaultPlaces(0, RUN_US)
    assert places.label(fault(1, 0, RUN_US, "whole")) == ("whole-1, kill (node 1)", "inside")
    assert places.label(fault(1, 0, 1, "brief")) == ("brief-1, kill (node 1)", "right")
    assert places.label(fault(1, RUN_US - 1, 1, "late")) == ("late-1, kill (node 1)", "left")


def test_a_label_for_readers_has_no_control_characters() -> None:
    with figure(2, 1, left=0.5) as axes:
        assert 'aria-label="a\\x1bb"' in svg(axes, label="a\x1bb")


def test_a_fault_of_ours_looks_the_same_whatever_else_a_report_has() -> None:
    ours = list(load_catalogue(installed=False).kinds)
    together = Kinds(ours)
    for kind in ours:
        alone = Kinds([kind])
        what = f"{kind} is not among the known kinds of drawing.py"
        assert (alone.name(kind), alone.hatch(kind)) == (together.name(kind), together.hatch(kind)), what
    assert len({(together.name(kind), together.hatch(kind)) for kind in ours}) == len(ours)
