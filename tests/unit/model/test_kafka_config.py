"""Kafka's settings: what is declared is what is read, and a wrong one is named with what would be right."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import pytest_kcontroller
from pytest_kcontroller.model import kafka_config
from pytest_kcontroller.model.kafka_config import KAFKA_CONFIG, MOST, KafkaSetting, find_wrong

PACKAGE = Path(pytest_kcontroller.__file__).parent
DECLARED = {name: value for name, value in vars(kafka_config).items() if isinstance(value, KafkaSetting)}


def modules_that_ask(constant: str) -> list[str]:
    """Those with a call of `CONSTANT.of(...)`."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "of" and ast.unparse(node.value) == constant:
                found.append(".".join(file.relative_to(PACKAGE).with_suffix("").parts))
    return found


def test_every_declared_setting_is_listed_once() -> None:
    assert list(DECLARED.values()) == list(KAFKA_CONFIG)
    assert len({setting.name for setting in KAFKA_CONFIG}) == len(KAFKA_CONFIG)


@pytest.mark.parametrize("constant", DECLARED)
def test_a_setting_is_read_where_it_says(constant: str) -> None:
    assert modules_that_ask(constant) == sorted(DECLARED[constant].readers)


def test_no_other_place_names_a_setting_in_its_code() -> None:
    """A literal elsewhere would be a second declaration; prose in docstrings and help texts may name them. What is written
    for Apache Kafka's own brokers (cluster/kafka) is theirs to read."""
    names = {setting.name for setting in KAFKA_CONFIG}
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.name != "kafka_config.py" and not file.is_relative_to(PACKAGE / "cluster" / "kafka"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
            assert not names & {value for value in literals if isinstance(value, str)}, file


@pytest.mark.parametrize(
    ("config", "what", "hint"),
    [
        ({"unclean.leader.election": True}, "nodes do not know Kafka's setting", "`unclean.leader.election.enable`"),
        ({"unclean": {"leader": True}}, "a name with dots stands in quotes", "unclean.leader.election.enable"),
        ({"controlled.shutdown.enable": 1}, "= 1 is not true or false", "hands its leaders over first"),
        ({"controlled.shutdown.max.retries": True}, "= True is not a whole number above 0", "how often"),
        ({"controlled.shutdown.max.retries": 0}, "= 0 is not a whole number above 0", "how often"),
        ({"controlled.shutdown.max.retries": MOST + 1}, "is not a whole number above 0", "how often"),
        ({"controller.socket.timeout.ms": "1"}, "= '1' is not a whole number of milliseconds above 0", "how long"),
    ],
)
def test_what_is_wrong_is_named(config: dict[str, Any], what: str, hint: str) -> None:
    found = find_wrong(config)
    assert found is not None
    assert found.name == next(iter(config))
    assert what in found.what
    assert hint in found.hint


def test_defaults_are_accepted_and_are_what_is_read() -> None:
    assert find_wrong({setting.name: setting.default for setting in KAFKA_CONFIG}) is None
    assert [setting.of({}) for setting in KAFKA_CONFIG] == [setting.default for setting in KAFKA_CONFIG]
    assert all(setting.of({setting.name: 7}) == 7 for setting in KAFKA_CONFIG)
