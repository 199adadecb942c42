from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_kcontroller.seams import (
    Mutant,
    MutantDoesNotApplyError,
    counts,
    installed,
    original,
    seam,
    unchanged,
)


@seam("test-seams.double")
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


class Counter:
    total = 0

    @seam("test-seams.add")
    def add(self, number: int) -> None:
        self.total += number


def mutant(*names: str) -> Mutant:
    replacements = {"test-seams.double": lambda number: number, "test-seams.add": lambda self, number: None}
    return Mutant("m", "d", "s", tuple((name, replacements.get(name, print)) for name in names))


def test_without_a_mutant_the_original_runs() -> None:
    with installed(None):
        assert double(2) == 4
        assert counts() == {}
    assert double.__doc__ == "Twice the number."


def test_a_mutant_replaces_its_seams_counts_them_and_goes_away() -> None:
    counter = Counter()
    with installed(mutant("test-seams.double", "test-seams.add")):
        assert double(2) == 2
        assert double(3) == 3
        counter.add(5)
        assert counts() == {"test-seams.add": 1, "test-seams.double": 2}
    assert counter.total == 0
    assert double(2) == 4
    counter.add(5)
    assert counter.total == 5


def test_it_goes_away_after_a_failure_too() -> None:
    with pytest.raises(ZeroDivisionError), installed(mutant("test-seams.double")):
        raise ZeroDivisionError
    assert double(2) == 4


def test_what_is_kafkas_is_not_counted_and_a_mutant_goes_before_it() -> None:
    kafkas = Mutant("k", "d", "s", (("test-seams.double", lambda number: -number),), kafkas=True)
    with installed(None, [kafkas]):
        assert double(2) == -2
        assert counts() == {}
    counter = Counter()
    with installed(mutant("test-seams.add"), [kafkas]):
        counter.add(5)
        assert (double(2), counter.total, counts()) == (-2, 0, {"test-seams.add": 1})
    with installed(mutant("test-seams.double"), [kafkas]):
        assert (double(2), counts()) == (2, {"test-seams.double": 1})
    assert double(2) == 4


def test_a_mutant_of_a_seam_that_does_not_exist_does_not_apply() -> None:
    with (
        pytest.raises(MutantDoesNotApplyError, match=r"test-seams\.gone.*test-seams\.double"),
        installed(mutant("test-seams.double", "test-seams.gone")),
    ):
        pass
    assert double(2) == 4


def test_two_seams_of_one_name_are_an_error() -> None:
    with pytest.raises(ValueError, match="two seams"):
        seam("test-seams.double")(lambda: None)


def test_a_replacement_that_changes_nothing_this_time_is_not_counted() -> None:
    def never_above_ten(number: int) -> int:
        twice: int = original("test-seams.double")(number)
        if twice <= 10:
            unchanged("test-seams.double")
        return min(twice, 10)

    with installed(Mutant("m", "d", "s", (("test-seams.double", never_above_ten),))):
        assert (double(2), counts()) == (4, {})
        assert (double(7), counts()) == (10, {"test-seams.double": 1})


def test_a_module_that_is_imported_once_more_has_the_same_seams() -> None:
    """pytest's `pytester` forgets what a test's own run has imported, and the next run imports it again."""

    def once_more() -> Callable[[], int]:
        @seam("test-seams.again")
        def step() -> int:
            return 1

        return step

    assert (once_more()(), once_more()()) == (1, 1)
