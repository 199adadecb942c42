"""Every example in README and docs/ does what the page says."""

from __future__ import annotations

import configparser
import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import PAGES, ROOT, Block, Command, blocks, commands

from kcontroller_chaos.campaign.file import load_campaign
from pytest_kcontroller import cli
from pytest_kcontroller.fixtures.options import OPTIONS
from tests.tools.programs import run_pytest

EXTENDING = ROOT / "docs/extending.md"
PARSER = cli._parser(cli._commands())

_INCLUDED = "--8<--"


def named(found: Block | Command) -> str:
    return found.where


def of(language: str, *, extending: bool = False) -> list[Block]:
    return [b for b in blocks() if b.language == language and (b.page == EXTENDING) is extending]


def passed(ran: subprocess.CompletedProcess[str], tests: int) -> None:
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(rf"\b{tests} passed", ran.stdout), f"{tests} tests are on the pages:\n{ran.stdout}"


def test_the_python_examples_pass(docs_project: Callable[..., Any]) -> None:
    examples = of("python")
    assert len({block.page for block in examples}) > 3
    written = sum(block.text.count("\ndef test_") + block.text.startswith("def test_") for block in examples)
    passed(docs_project(examples).pytest(), written)


def test_every_file_that_a_page_includes_is_there() -> None:
    """A formatter of Python takes the scissors for a comparison."""
    lines = [(page, line) for page in PAGES for line in page.read_text().splitlines() if re.match(r"-*\s*8\s*<", line)]
    included = [(page, re.fullmatch(r'--8<-- "(.+)"', line)) for page, line in lines]
    assert included and all(found and (ROOT / found[1].partition(":")[0]).is_file() for _, found in included), lines


def test_the_examples_of_fixtures_pass_in_a_simulated_world(docs_project: Callable[..., Any]) -> None:
    """But for those that use a real server, and the two that say that they are not for it."""
    fixtures = ROOT / "docs/fixtures.md"
    examples = [block for block in of("python") if block.page == fixtures and "zookeeper, zk" not in block.text]
    ran = docs_project(examples).pytest("--kc-backend=sim")
    passed(ran, tests=7)
    assert "2 deselected" in ran.stdout


def test_a_page_adds_a_selector_a_fault_and_an_invariant(docs_project: Callable[..., Any]) -> None:
    """Without a checkout: the folder has nothing but the files of the page."""
    project = docs_project([block for block in blocks() if block.page == EXTENDING])
    passed(project.pytest(), tests=5)
    for command in commands("kcontroller", EXTENDING):
        ran = project.kcontroller(*command.words[1:])
        assert ran.returncode == 0, f"{command.where}: {command.text}\n{ran.stdout}{ran.stderr}"
    judged = [verdicts.read_text() for verdicts in sorted(project.path.glob("runs/ghost/*/verdicts.json"))]
    assert ["isr-not-empty" in text for text in judged] == [False, True]
    play = ("campaign", "run", "ghost.toml", "--plugin", "ghost_broker", "--out", "runs")
    ran = project.kcontroller(*play, "--noop-fault", "ghost_broker")
    assert ran.returncode == 6, "the ghost is seen although there is none:\n" + ran.stdout + ran.stderr


@pytest.mark.parametrize("block", of("toml"), ids=named)
def test_a_campaign_is_valid(block: Block, tmp_path: Path) -> None:
    assert "campaign" in tomllib.loads(block.text), "a part of a campaign cannot be checked: show a whole one"
    file = tmp_path / "campaign.toml"
    file.write_text(block.text)
    campaign = load_campaign(file)
    assert campaign.faults or campaign.generator


def test_the_campaigns_of_their_page_are_played_and_say_what_stands_there(docs_project: Callable[..., Any]) -> None:
    page = ROOT / "docs/campaigns.md"
    project = docs_project([block for block in blocks(page) if block.title])
    said = ""
    for command in commands("kcontroller", page):
        ran = project.kcontroller(*command.words[1:])
        assert ran.returncode == 0, f"{command.where}: {command.text}\n{ran.stdout}{ran.stderr}"
        said += ran.stdout
    shown = [line for block in blocks(page) if block.language == "console" for line in block.text.splitlines()]
    for line in shown:
        assert line.startswith("$ ") or without_times(line) in without_times(said).splitlines(), line


def test_the_page_of_a_service_finds_what_it_says(docs_project: Callable[..., Any]) -> None:
    """A newcomer's folder: the page's files and nothing else. Which node it is, and when, differs each time."""
    page = ROOT / "docs/your-service.md"
    project = docs_project([block for block in blocks(page) if block.title])
    said = ""
    for command in commands("kcontroller", page):
        ran = project.kcontroller(*command.words[1:])
        assert ran.returncode == 1, f"{command.where}: {command.text}\n{ran.stdout}{ran.stderr}"
        said += ran.stdout
    shown = [line for block in blocks(page) if block.language == "console" for line in block.text.splitlines()]
    lines = [without_numbers(line) for line in shown if not line.startswith("$ ")]
    assert [line for line in lines if line not in without_numbers(said).splitlines()] == [], said


def without_numbers(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+|\d[\d.T]*", "N", text)


def without_times(text: str) -> str:
    """How long it took, and when it was, is never the same."""
    return re.sub(r"\d{8}T\d{6}", "WHEN", re.sub(r"in [\d.]+ s", "in N s", text))


@pytest.mark.parametrize("block", [*of("ini"), *of("ini", extending=True)], ids=named)
def test_an_ini_file_has_keys_and_values_that_exist(block: Block) -> None:
    parsed = configparser.ConfigParser()
    parsed.read_string(block.text)
    parsers = {option.ini: option.parse for option in OPTIONS} | {"kc_plugins": str, "kc_campaigns": str}
    for key, value in parsed["pytest"].items():
        if key.startswith("kc_"):
            assert key in parsers
            parsers[key](value)


@pytest.mark.parametrize("command", commands("kcontroller"), ids=named)
def test_a_command_line_is_understood(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        PARSER.parse_args(command.words[1:])
    except SystemExit as ended:
        pytest.fail(f"{command.text}\n{capsys.readouterr().err}") if ended.code else None


@pytest.mark.parametrize("command", commands("pytest"), ids=named)
def test_a_pytest_line_is_understood(command: Command, tmp_path: Path) -> None:
    options = [word for word in command.words[1:] if word.startswith("-")]
    ran = run_pytest("-c", "/dev/null", *options, "--help", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_commands_that_are_only_mentioned_exist() -> None:
    known = cli._commands()
    for page in PAGES:
        for name in re.findall(r"`kcontroller ([a-z][a-z-]*)", page.read_text()):
            assert name in known, f"{page.relative_to(ROOT)}: there is no `kcontroller {name}`"


def test_the_readmes_two_commands_are_real(tmp_path: Path) -> None:
    targets = [command.words[1] for command in commands("make", ROOT / "README.md")]
    assert {"demo", "test"} <= set(targets)
    ran = subprocess.run(
        ["make", "-n", *targets, f"VENV={tmp_path}/venv"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "kcontroller campaign run chaos/campaigns/smoke.toml" in ran.stdout
    assert "tox run" in ran.stdout


def test_every_kind_of_block_is_known() -> None:
    """A language that nothing here checks would be an example that nobody runs; Mermaid is printed from the code."""
    seen = Counter(block.language for block in blocks())
    assert set(seen) <= {"python", "toml", "ini", "json", "console", "mermaid"}, seen


def test_what_is_json_can_be_read() -> None:
    for block in blocks():
        if block.language == "json" and _INCLUDED not in block.text:
            json.loads(block.text)


def test_no_formatter_has_taken_an_include_for_code() -> None:
    """`<!-- fmt: off -->` before it says that it is none."""
    assert [page.name for page in PAGES if re.search(r"^--8 ?< ", page.read_text(), re.MULTILINE)] == []
