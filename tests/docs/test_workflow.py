"""The finished GitHub Actions workflow: its commands are understood, and its jobs fit together."""

from __future__ import annotations

import fnmatch
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import ROOT

from pytest_kcontroller import cli
from tests.tools.programs import run_pytest

JOBS: dict[str, Any] = yaml.safe_load((ROOT / "docs/examples/chaos.yml").read_text())["jobs"]
STEPS = [(name, step) for name, job in JOBS.items() for step in job["steps"]]
LINES = [(name, shlex.split(re.sub(r"\$\{\{.*?\}\}", "1", step["run"]))) for name, step in STEPS if "run" in step]


def lines(program: str) -> list[list[str]]:
    return [words[1:] for _, words in LINES if words[0] == program]


def test_nothing_is_run_but_what_is_checked_here() -> None:
    assert {words[0] for _, words in LINES} == {"pip", "kcontroller", "pytest"}


@pytest.mark.parametrize("words", lines("kcontroller"), ids=" ".join)
def test_its_kcontroller_lines_are_understood(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        cli._parser(cli._commands()).parse_args(words)
    except SystemExit:
        pytest.fail(capsys.readouterr().err)


@pytest.mark.parametrize("words", lines("pytest"), ids=" ".join)
def test_its_pytest_lines_are_understood(words: list[str], tmp_path: Path) -> None:
    ran = run_pytest("-c", "/dev/null", *words, "--help", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_it_installs_extras_that_exist() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for words in lines("pip"):
        for extra in re.findall(r"\[(.*?)\]", " ".join(words))[0].split(","):
            assert extra in extras


def test_every_shard_is_played_and_reported() -> None:
    shards = JOBS["play"]["strategy"]["matrix"]["shard"]
    (play,) = [step["run"] for step in JOBS["play"]["steps"] if "campaign run" in step.get("run", "")]
    assert f"--shard ${{{{ matrix.shard }}}}/{len(shards)} " in play
    assert shards == list(range(1, len(shards) + 1))
    (upload,) = [step for step in JOBS["play"]["steps"] if "upload-artifact" in step.get("uses", "")]
    (download,) = [step for step in JOBS["report"]["steps"] if "download-artifact" in step.get("uses", "")]
    assert fnmatch.fnmatch(upload["with"]["name"], download["with"]["pattern"])
    assert upload["if"] == JOBS["report"]["if"] == "always()"
    assert ["report", download["with"]["path"], "-o", "report"] in lines("kcontroller")
    assert JOBS["report"]["needs"] == "play"


def test_the_page_shows_this_very_file() -> None:
    assert '--8<-- "docs/examples/chaos.yml"' in (ROOT / "docs/ci.md").read_text()
