"""docs/cli.md has every command, with an example, its statuses, and every key of a view."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_kcontroller import cli

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "cli.md").read_text()


def names(parser: argparse.ArgumentParser) -> Iterator[str]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield parser.prog.removeprefix("kcontroller ")
    for action in below:
        for child in action.choices.values():
            yield from names(child)


COMMANDS = sorted(names(cli._parser(cli._commands())))


def test_every_command_has_a_section_and_no_other() -> None:
    assert sorted(re.findall(r"^## `(.+)`$", PAGE, re.MULTILINE)) == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_has_an_example_and_the_statuses(name: str) -> None:
    section = PAGE.partition(f"## `{name}`\n")[2].partition("\n## ")[0]
    assert re.search(rf"^    kcontroller {name}( |$)", section, re.MULTILINE)
    assert re.search(r"^Exit status (0|130)[:,] ", section, re.MULTILINE)


def test_every_key_of_the_example_view_is_explained() -> None:
    view = json.loads((DOCS / "examples" / "view.json").read_text())
    table = PAGE.partition("| key | default | what |")[2].partition("\n## ")[0]
    keys = [key for key in view if key != "assignment"]
    keys += [f"assignment.{key}" for key in view["assignment"]]
    keys += sorted({f"brokers[].{key}" for broker in view["brokers"] for key in broker})
    assert [key for key in keys if f"`{key}`" not in table] == []
