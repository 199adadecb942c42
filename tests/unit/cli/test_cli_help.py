"""Every screen of `--help`: each command is explained by examples that the command itself accepts, and by its statuses."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.catalogue.loading import MUTANTS
from pytest_kcontroller import cli
from pytest_kcontroller.plugin.manager import load_plugins

ROOT = Path(__file__).parents[3]


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers that have no subcommands."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield parser
    for action in below:
        for child in action.choices.values():
            yield from leaves(child)


PARSER = cli._parser(cli._commands())
COMMANDS = {parser.prog: parser for parser in leaves(PARSER)}


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_the_help_are_accepted(name: str) -> None:
    text = COMMANDS[name].format_help()
    examples = re.findall(r"^  (kcontroller .*)$", text, re.MULTILINE)
    assert examples, text
    assert all(example.startswith(f"{name} ") or example == name for example in examples), examples
    for example in examples:
        PARSER.parse_args(shlex.split(example, comments=True)[1:])  # SystemExit: argparse refuses it
    assert re.search(r"^exit status: \d", text, re.MULTILINE), text


@pytest.mark.parametrize("name", ["campaign run", "campaign plan", "hunt", "replay"])
def test_what_an_example_says_of_a_campaign_file_can_be_played(name: str) -> None:
    """Each of these examples is typed in a checkout, where these files are."""
    text = COMMANDS[f"kcontroller {name}"].format_help()
    for example in re.findall(r"^  (kcontroller .*)$", text, re.MULTILINE):
        arguments = PARSER.parse_args(shlex.split(example, comments=True)[1:])
        files = [getattr(arguments, one) for one in ("file", "what") if hasattr(arguments, one)]
        for file in (file for file in getattr(arguments, "files", files) if file.suffix):
            campaign = load_campaign(ROOT / file)
            simulated = backends.simulated().name if name == "hunt" else None
            chosen = simulated or getattr(arguments, "backend", None) or backends.first_able(campaign).name
            assert chosen in [one.name for one in backends.able(campaign)], example
            load_plugins(stock=[MUTANTS]).mutant(getattr(arguments, "mutant", None))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert [line for line in COMMANDS[name].format_help().splitlines() if len(line) > 118] == []


def test_the_overview_names_every_command_once_with_its_line() -> None:
    commands = cli._commands()
    overview = PARSER.format_help()
    for name, module in commands.items():
        assert overview.count(f"\n  {name:<14}{module.HELP}\n") == 1
    assert [name for names in cli.GROUPS.values() for name in names if name not in commands] == []


def test_a_command_without_a_group_is_in_the_last_one() -> None:
    commands = {"new": SimpleNamespace(HELP="tries", add_arguments=lambda parser: None)}
    assert "Single parts and cleaning up:\n  new           tries\n" in cli._parser(commands).format_help()  # type: ignore[arg-type]


@pytest.mark.parametrize("words", ["campaign run a.toml", "replay a.toml", "hunt a.toml", "report runs"])
@pytest.mark.parametrize("option", ["-o", "--out"])
def test_where_it_writes_is_said_alike(words: str, option: str) -> None:
    assert str(PARSER.parse_args([*words.split(), option, "there"]).out) == "there"


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(r"pytest-kcontroller \d+\.\d+\.\d+\n", capsys.readouterr().out)
