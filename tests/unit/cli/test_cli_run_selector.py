"""`kcontroller run-selector`: one answer of a selector on a partition that a person describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcontroller_plugins.selectors.offline import OfflineSelector
from pytest_kcontroller.cli import main
from pytest_kcontroller.cli._view import load_view
from pytest_kcontroller.model.cluster import Assignment
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.plugin.manager import load_plugins

VIEW = Path(__file__).parents[3] / "docs" / "examples" / "view.json"

PLUGIN = """
from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.model.election import LeaderChoice

class Mine:
    name = "mine"
    def __init__(self, broker: int = 2) -> None:
        self.broker = broker
    def select(self, partition, reason):
        if self.broker < 0:
            raise RuntimeError("no broker below 0")
        if self.broker == 8:
            return LeaderChoice(2, object())
        return LeaderChoice(self.broker, partition.isr[1:]) if self.broker < 9 else "nine"

@hookimpl
def kcontroller_leader_selectors():
    return [Mine]
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "kct_mine.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("KCONTROLLER_DEBUG", raising=False)
    return ["mine", str(VIEW), "--plugin", "kct_mine"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["run-selector", *arguments, "--json"])
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, value


def test_the_example_view_is_what_a_selector_is_asked() -> None:
    view = load_view(VIEW)
    assert view.assignment == Assignment((0, 1, 2))
    assert (str(view), view.leader, view.isr, view.unclean_allowed) == ("orders-0", 0, (0, 1, 2), False)
    assert [view.brokers.live(broker) for broker in (0, 1, 2)] == [False, False, True]
    assert (view.brokers.leaders(1), view.brokers.rack(2)) == (4, "b")


@pytest.mark.parametrize("name", ["offline", "preferred", "controlled-shutdown", "reassigned"])
def test_the_answer_is_the_selectors_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    reason = ElectionReason(name.replace("-", "_"))
    choice = load_plugins(installed=False).selectors.make(name).select(load_view(VIEW), reason)
    status, said = answer(capsys, name, str(VIEW), "--reason", reason.value)
    assert status == 0
    assert said["rejected"] is None
    assert (said["answer"] is None) == (choice is None)
    if choice is not None:
        assert (said["answer"]["leader"], said["answer"]["isr"]) == (choice.leader, list(choice.isr))


def test_the_answer_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run-selector", "offline", str(VIEW)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == ["offline on orders-0, reason offline:", "  leader      2", "  ISR         2", "  recipients  2"]
    assert main(["run-selector", "preferred", str(VIEW)]) == 0
    assert "nobody: the partition stays as it is" in capsys.readouterr().out


def test_an_answer_that_a_controller_would_reject_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run-selector", "noop", str(VIEW)]) == 1
    said = capsys.readouterr().out
    assert "  rejected    leader 0 is not live\n" in said
    assert said.endswith("the stock selector offline decides:\n  leader      2\n  ISR         2\n  recipients  2\n")


def test_a_plugins_options_reach_it(mine: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, said = answer(capsys, *mine)
    assert (status, said["plugin"]) == (0, "kct_mine")
    assert said["answer"] == {"leader": 2, "isr": [1, 2], "recipients": None}
    status, said = answer(capsys, *mine, "--option", "broker=7")
    assert (status, said["rejected"]) == (1, "leader 7 is not live")
    status, said = answer(capsys, *mine, "--option", "broker=9")
    assert (status, said["answer"], said["rejected"]) == (1, "'nine'", "'nine' is no LeaderChoice")
    status, said = answer(capsys, *mine, "--option", "broker=8")
    assert (status, said["answer"][:22]) == (1, "LeaderChoice(leader=2,")
    assert said["rejected"].endswith(" names brokers by something else than their ids, in lists or tuples")


def test_a_selector_that_raises_is_shown_with_the_place(
    mine: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, said = answer(capsys, *mine, "--option", "broker=-1")
    line = PLUGIN.splitlines().index('            raise RuntimeError("no broker below 0")') + 1
    assert status == 1
    assert said["rejected"].endswith(f"kct_mine.py:{line}")
    assert said["instead"]["answer"]["leader"] == 2
    monkeypatch.setenv("KCONTROLLER_DEBUG", "1")
    assert main(["run-selector", *mine, "--option", "broker=-1"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ofline"], "there is no leader selector 'ofline'\n  -> did you mean `offline`?"),
        (["offline", "--reason", "ofline"], "--reason: there is no election reason 'ofline'"),
        (["offline", "--plugin", "kct_not_there"], "the plugin kct_not_there cannot be imported"),
        (["offline", "--option", "weight"], "--option: 'weight' is not KEY=VALUE"),
        (["offline", "--option", f"weight={'[' * 100_000}"], "the leader selector 'offline' of the plugin"),
        (["offline", "--option", "weight=1"], "the leader selector 'offline' of the plugin kcontroller_plugins"),
    ],
)
def test_a_bad_argument_is_named(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run-selector", arguments[0], str(VIEW), *arguments[1:]]) == 2
    assert says in capsys.readouterr().err


WHOLE: dict[str, Any] = {"assignment": {"replicas": [0, 1]}, "isr": [0], "brokers": [{"id": 0}, {"id": 1}]}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"isr": None}, "`isr`: null is no list of broker ids"),
        ({"isr": [0, "1"]}, '`isr[1]`: "1" is not a whole number'),
        ({"isr": ...}, "`isr`: the key is missing"),
        ({"leadr": 1}, "`leadr`: there is no such key\n  -> did you mean `leader`?"),
        ({"leader": True}, "`leader`: true is not a whole number"),
        ({"leader": -2}, "`leader`: -2 is less than -1"),
        ({"unclean_allowed": 1}, "`unclean_allowed`: 1 is not true or false"),
        ({"assignment": [0, 1]}, "`assignment`: [0, 1] is no object"),
        ({"assignment": {}}, "`assignment.replicas`: the key is missing"),
        ({"assignment": {"replicas": [0], "add": []}}, "`assignment.add`: there is no such key"),
        ({"brokers": {"0": {}}}, '`brokers`: {"0": {}} is no list of brokers'),
        ({"brokers": [{"id": 0}, 1]}, "`brokers[1]`: 1 is no object"),
        ({"brokers": [{"id": 0}, {"rack": "a"}]}, "`brokers[1].id`: the key is missing"),
        ({"brokers": [{"id": 0, "rack": 7}]}, "`brokers[0].rack`: 7 is not a text"),
        ({"brokers": [{"id": 0}, {"id": 0}]}, "`brokers[1].id`: two brokers have the id 0"),
    ],
)
def test_a_bad_view_is_named_by_its_key(
    changes: dict[str, Any], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    view = {key: value for key, value in {**WHOLE, **changes}.items() if value is not ...}
    (tmp_path / "view.json").write_text(json.dumps(view))
    assert main(["run-selector", "offline", str(tmp_path / "view.json")]) == 2
    assert f"{tmp_path / 'view.json'}: {says}" in capsys.readouterr().err


def test_a_view_needs_little(tmp_path: Path) -> None:
    (tmp_path / "view.json").write_text(json.dumps(WHOLE))
    choice = OfflineSelector().select(load_view(tmp_path / "view.json"), ElectionReason.OFFLINE)
    assert choice is not None
    assert choice.leader == 0


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "cannot be read (No such file"),
        (b"{\n]", "view.json:2: is no JSON"),
        (b"\xff", "is not UTF-8"),
        (b"7" * 5000, "view.json: is no JSON"),
        (b"[" * 100_000, "view.json: is no JSON"),
        (b"7", "7 is no object"),
    ],
)
def test_a_file_that_is_no_view_is_one_message(
    data: bytes | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if data is not None:
        (tmp_path / "view.json").write_bytes(data)
    assert main(["run-selector", "offline", str(tmp_path / "view.json")]) == 2
    assert says in capsys.readouterr().err
