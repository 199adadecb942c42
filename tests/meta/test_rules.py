"""The rules hold, and each of them can fail."""

from __future__ import annotations

from pathlib import Path

import pytest
import rules
import set_iteration
from rules import DOORS, PACKAGES, ROOT


def test_modules_are_short() -> None:
    assert rules.long_modules(rules.sources(*PACKAGES)) == []
    assert rules.long_modules({"a.py": "x = 1\n" * 501}) == ["a.py has 501 lines, more than 500"]


def test_functions_are_short() -> None:
    assert rules.long_functions(rules.sources(*PACKAGES)) == []
    long = "class A:\n    async def f(self):\n" + "        pass\n" * 52
    assert rules.long_functions({"a.py": long}) == ["a.py:2: f has 53 lines, more than 52"]


def test_every_module_and_package_says_what_it_is_for(tmp_path: Path) -> None:
    assert rules.unsigned(rules.sources(*PACKAGES)) == []
    assert rules.packages_without_a_sign(PACKAGES) == []
    assert rules.unsigned({"a.py": "", "b.py": "'for b'\n"}) == ["a.py"]
    (tmp_path / "a.py").touch()
    assert rules.packages_without_a_sign([tmp_path]) == [str(tmp_path)]


@pytest.mark.parametrize("package", [one for one in PACKAGES if one.name in DOORS], ids=lambda one: one.name)
def test_the_top_of_a_package_holds_its_public_doors(package: Path) -> None:
    assert rules.beside_the_doors(package, DOORS[package.name]) == []


def test_a_file_beside_the_doors_is_found(tmp_path: Path) -> None:
    for name in ("errors.py", "relay.py"):
        (tmp_path / name).touch()
    assert rules.beside_the_doors(tmp_path, DOORS["pytest_kcontroller"]) == ["relay.py"]


def test_what_was_never_released_has_no_news_fragments(tmp_path: Path) -> None:
    assert rules.premature_fragments(ROOT) == []
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/+links.fix.md").touch()
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n## 0.1.0 (not released yet)\n")
    assert rules.premature_fragments(tmp_path) == ["+links.fix.md"]
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n## 0.2.0 (not released yet)\n## 0.1.0 (2027-01-01)\n")
    assert rules.premature_fragments(tmp_path) == []


def test_no_set_is_iterated_where_a_run_is_a_function_of_its_seed() -> None:
    assert [str(one) for one in set_iteration.find(rules.deterministic_sources())] == []


BAD = """
class Holder:
    names: set[str]
    def __init__(self):
        self.ids: frozenset[int] = frozenset()
    @property
    def live(self) -> set[int]: ...
def brokers() -> set[int]: ...
def f(given: set[int], holder, table):
    for one in given: ...
    for one in {1, 2}: ...
    [one for one in holder.names]
    list(holder.ids)
    tuple(holder.live - {1})
    [*brokers()]
    mine = set(given) | {3}
    {one: 1 for one in mine}
    ",".join(mine)
    mine.pop()
    for key in table.keys() - mine: ...
    min(mine, key=str)
    list(one for one in mine)
    dict.fromkeys(mine)
    yield from mine
"""
GOOD = """
def f(given: set[int], table):
    for one in sorted(given): ...
    len(given), min(given), any(one > 1 for one in given), 3 in given
    {one + 1 for one in given}
    sorted([*given])
    sorted(one for one in given | {1})
    for key in table.keys(): ...
    mine = sorted(given)
    for one in mine: ...
"""


def test_iteration_over_a_set_is_found() -> None:
    found = [one.line for one in set_iteration.find({"bad.py": BAD})]
    assert found == list(range(10, 16)) + list(range(17, 25))


def test_what_does_not_depend_on_the_order_is_no_iteration() -> None:
    assert set_iteration.find({"good.py": GOOD}) == []


def test_the_rules_read_all_of_the_code() -> None:
    """A renamed folder would be a rule that looks at nothing."""
    assert all((ROOT / "pytest_kcontroller" / name).is_dir() for name in rules.DETERMINISTIC)
    assert all(package.is_dir() for package in PACKAGES)
