"""Every vector of tests/data/vectors.json and generated.json, or of another file (--kc-vectors), on the real code."""

from __future__ import annotations

from dataclasses import replace

from tests.fidelity.judging import observe, problems, unknown
from tests.fidelity.vectors import Vector
from tests.tools.corrupt import changed, places


def test_vector(vector: Vector) -> None:
    """All that it expects is observed; and whatever of it were something else, that would be noticed."""
    assert unknown(vector) == []
    observed = observe(vector)
    assert problems(vector, observed) == []
    others = {place: replace(vector, expected=changed(vector.expected, place)) for place in places(vector.expected)}
    assert [place for place, other in others.items() if not problems(other, observed)] == []
