"""Files that the code writes are what it would write now: `make generated` mends them."""

from __future__ import annotations

import pytest
from generated import FILES, ROOT, Generated, NoSuchPartError, with_part


@pytest.mark.parametrize("one", FILES, ids=lambda one: one.name)
def test_a_generated_file_is_fresh(one: Generated) -> None:
    current = (ROOT / one.path).read_text(encoding="utf-8")
    assert one.applied(current) == current, f"{one.name} is stale: run `make generated`"


PAGE = "a\n<!-- generated: x -->\nold\n<!-- end -->\nz\n"


def test_a_part_is_replaced_and_the_rest_stays() -> None:
    fresh = with_part(PAGE, "x", "new\n", where="a.md")
    assert fresh == "a\n<!-- generated: x -->\n\nnew\n\n<!-- end -->\nz\n"
    assert with_part(fresh, "x", "new\n", where="a.md") == fresh


@pytest.mark.parametrize("page", ["a\n", PAGE + PAGE])
def test_a_part_without_its_one_place_is_an_error(page: str) -> None:
    with pytest.raises(NoSuchPartError, match=r"a\.md has . places for a generated part, not one"):
        with_part(page, "x", "new", where="a.md")
