"""What toxics do to the bytes of a simulated connection, as toxiproxy does it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_kcontroller.model.toxics import BANDWIDTH, LIMIT_DATA, SLICER, SLOW_CLOSE, TIMEOUT, Toxic
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.sim.toxics import Shaping


def shaping(kind: str, **attributes: int) -> Shaping:
    made = Shaping.of([Toxic(kind, "upstream", attributes)], NamedRng(1).stream("cuts"))
    assert made is not None
    return made


def test_what_is_only_late_or_cut_looks_at_no_bytes() -> None:
    cut, late = Toxic(TIMEOUT, "upstream", {"timeout": 0}), Toxic("latency", "upstream", {"latency": 5})
    assert Shaping.of([cut, late], NamedRng(1).stream("cuts")) is None
    assert shaping(TIMEOUT, timeout=30).silence_us == 30_000
    assert shaping(SLOW_CLOSE, delay=7).close_late_us == 7_000


@given(st.integers(1, 50), st.integers(0, 49), st.binary(max_size=2000))
def test_pieces_are_the_whole_and_none_is_too_long(average: int, variation: int, data: bytes) -> None:
    variation = min(variation, average - 1)
    pieces = list(shaping(SLICER, average_size=average, size_variation=variation, delay=1000).pieces(data))
    assert b"".join(pieces) == data
    assert all(0 < len(piece) <= average + variation for piece in pieces)


def test_a_limit_counts_what_has_passed_before() -> None:
    limit = shaping(LIMIT_DATA, bytes=10)
    assert limit.limited(b"x" * 6, 0) == (b"x" * 6, False)
    assert limit.limited(b"x" * 6, 6) == (b"x" * 4, True)
    assert limit.limited(b"x", 10) == (b"", True)


def test_a_thin_line_carries_a_thousand_bytes_a_second_for_each_of_its_rate() -> None:
    assert shaping(BANDWIDTH, rate=5).carrying_us(b"x" * 1000) == 200_000
