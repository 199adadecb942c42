"""The parts of the suite that CI plays."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from tests.tools.parts import files_of

ROOT = Path(__file__).parents[2]
FILES = [Path(f"tests/{folder}/test_{name}.py") for folder in ("unit", "docs") for name in "abcde"]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_each_file_is_in_one_part(parts: int) -> None:
    played = [file for number in range(parts) for file in files_of(f"{number + 1}/{parts}", [*FILES, *reversed(FILES)])]
    assert sorted(played) == sorted(FILES)


@pytest.mark.parametrize("wrong", ["", "1", "0/2", "3/2", "1/2/3", "a/b"])
def test_another_part_is_refused(wrong: str) -> None:
    with pytest.raises(pytest.UsageError, match="--part"):
        files_of(wrong, FILES)


def test_both_halves_together_are_what_a_person_plays() -> None:
    """`tests` is `py` without the types."""
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    halves = re.findall(r"\bTOXENV=(\S+)\)", (ROOT / ".ci/run").read_text())
    assert len(halves) == 2
    played = [*halves[0].split(","), *halves[1].split(",")]
    played.remove("tests")
    assert sorted(played) == sorted(tox["tox"]["env_list"].replace(" ", "").split(","))


def test_the_rest_is_not_read(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """By the suite's own conftest."""
    pytester.makepyfile(test_a="raise RuntimeError", test_b="def test_it(): pass")
    pytester.makeconftest((request.config.rootpath / "tests/conftest.py").read_text())
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--part=2/2")
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines("part 2/2: 1 files")
