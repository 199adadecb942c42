"""`kcontroller faults|invariants|selectors|assignments`: complete, from the code's own declarations, each example tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.backends import first_able, simulated
from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.placement import FAULT_KEYS
from kcontroller_chaos.checking import Verdict
from kcontroller_chaos.invariants import check_all
from kcontroller_chaos.mutants import kcontroller_mutants
from kcontroller_chaos.play.runner import Options, check
from pytest_kcontroller.cli import main
from pytest_kcontroller.plugin.manager import load_plugins
from tests.tools.histories import GOOD

HEAD = '[campaign]\nname = "x"\nduration_s = 9\n[[topics]]\nname = "orders"\n'
STOCK = load_catalogue(installed=False)
NAMES = {
    "faults": tuple(STOCK.kinds),
    "invariants": tuple(one.name for one in STOCK.invariants),
    "mutants": tuple(mutant.name for mutant in kcontroller_mutants()),
    "selectors": load_plugins(installed=False).selectors.names,
    "assignments": load_plugins(installed=False).assignments.names,
}


PLUGIN = '''
from pytest_kcontroller.hookspecs import hookimpl

class RackSticky:
    """Stays in the rack of the old leader, if it can.

    More that the catalogue leaves out.
    """

    name = "rack-sticky"

    def __init__(self, limit: int, weight: float = 0.3, *, racks: tuple = ("a",), of: object = None) -> None:
        pass

    def select(self, partition, reason):
        return None

class Silent:
    name = "silent"

    def select(self, partition, reason):
        return None

@hookimpl
def kcontroller_leader_selectors():
    return [RackSticky, Silent()]
'''


def entries(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    assert main([*arguments, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    return {entry["name"]: entry for entry in said[arguments[0]]}


@pytest.mark.parametrize("command", NAMES)
def test_everything_is_listed_with_a_sentence_and_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = entries(capsys, command)
    assert set(NAMES[command]) <= listed.keys()
    for name in NAMES[command]:
        assert listed[name]["what"].endswith("."), listed[name]
        assert listed[name]["example"]
    assert main([command]) == 0
    text = capsys.readouterr().out
    for name in NAMES[command]:
        assert f"\n{name}\n" in f"\n{text}"
    assert [line for line in text.splitlines() if len(line) > 120] == []


@pytest.mark.parametrize("command", NAMES)
def test_one_is_shown_alone(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = NAMES[command]
    assert list(entries(capsys, command, first)) == [first]
    assert main([command, first]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0] == first
    assert not set(others) & set(text)


@pytest.mark.parametrize("command", NAMES)
def test_an_unknown_name_gets_the_nearest(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    known = NAMES[command][0]
    assert main([command, f"{known}x"]) == 2
    said = capsys.readouterr()
    assert f"there is no '{known}x' among the {command}" in said.err
    assert f"did you mean `{known}`?" in said.err
    assert said.out == ""


def test_the_example_of_a_fault_is_part_of_a_valid_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, entry in entries(capsys, "faults").items():
        campaign = campaign_of(entry, tmp_path)
        first_able(campaign).check_has(campaign.needs)
        assert [spec.fault.kind for spec in campaign.faults] == [name]


@pytest.mark.parametrize("command", ["selectors", "assignments"])
def test_an_example_is_part_of_a_valid_campaign(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, entry in entries(capsys, command).items():
        settings = check(campaign_of(entry, tmp_path), Options(backend=simulated().name))
        chosen = {"selectors": list(settings.selectors.values()), "assignments": [settings.assignment]}
        assert chosen[command] == [name]


def campaign_of(entry: dict[str, Any], directory: Path) -> Campaign:
    (directory / "campaign.toml").write_text(f"{HEAD}{entry['example']}")
    return load_campaign(directory / "campaign.toml")


@pytest.mark.parametrize("name", NAMES["invariants"])
def test_an_invariants_example_runs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "runs" / "smoke" / "RUN-ID" / "history"
    history.mkdir(parents=True)
    (history / "zookeeper.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in GOOD))
    monkeypatch.chdir(tmp_path)
    seen: dict[str, Any] = {}
    exec(entries(capsys, "invariants", name)[name]["example"], seen)
    verdict = seen["verdict"]
    assert isinstance(verdict, Verdict)
    (judged,) = [entry for entry in check_all(seen["read_history"](history)) if entry["name"] == name]
    assert verdict.entry(name, judged["kind"], judged["expected"]) == judged
    assert verdict.verdict == "held"


def test_a_fault_is_shown_with_all_its_modes_and_keys(capsys: pytest.CaptureFixture[str]) -> None:
    for name, fault in STOCK.kinds.items():
        assert tuple(fault.mode_help) == fault.modes
        entry = entries(capsys, "faults", name)[name]
        own = {key.name for key in fault.keys}
        common = {key.name for key in FAULT_KEYS} - {"kind"} - (set() if fault.modes else {"mode"})
        assert {key["name"] for key in entry["keys"]} == own | common
        assert main(["faults", name]) == 0
        text = capsys.readouterr().out
        for label in [*(f"mode {mode}" for mode in fault.modes), *(f"key {key}" for key in own | common)]:
            assert f"\n    {label} " in text


def test_an_invariant_says_its_kind_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    listed = entries(capsys, "invariants")
    assert {entry["kind"] for entry in listed.values()} == {"safety", "liveness"}
    assert "KAFKA-6082" in listed["no-stale-epoch-write"]["source"]
    assert all(entry["source"] and entry["expected"] for entry in listed.values())


def test_a_stock_selector_says_for_what_it_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    defaults = {name: entry["default_of"] for name, entry in entries(capsys, "selectors").items()}
    assert defaults["controlled-shutdown"] == "controlled_shutdown"
    assert defaults["noop"] is None


def test_a_plugin_of_ones_own_is_listed_with_its_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sticky_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    listed = entries(capsys, "selectors", "--plugin", "sticky_plugin")
    sticky, silent = listed["rack-sticky"], listed["silent"]
    assert sticky["what"] == "Stays in the rack of the old leader, if it can."
    assert sticky["plugin"] == "sticky_plugin"
    defaults = {"limit": None, "weight": "0.3", "racks": '["a"]', "of": "None"}
    assert sticky["options"] == [{"name": name, "default": default} for name, default in defaults.items()]
    assert '{ name = "rack-sticky", limit = ..., weight = 0.3, racks = ["a"] }' in sticky["example"], "it is TOML"
    assert "no docstring" in silent["what"]
    assert silent["options"] == []
    assert main(["selectors", "rack-sticky", "--plugin", "sticky_plugin"]) == 0
    assert "limit (must be given), weight (default 0.3)" in capsys.readouterr().out


def test_a_plugin_that_is_not_there_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("selectors", "assignments"):
        assert main([command, "--plugin", "no_such_plugin"]) == 2
        assert "the plugin no_such_plugin cannot be imported" in capsys.readouterr().err


def test_the_example_of_a_plugins_mutant_names_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (
        "from pytest_kcontroller.hookspecs import hookimpl",
        "from pytest_kcontroller.seams import Mutant",
        "def kcontroller_mutants():",
        '    return [Mutant("OURS", "A bug.", "our own", (("controller.told-of-removal", lambda *_: []),))]',
        "kcontroller_mutants = hookimpl(kcontroller_mutants)",
    )
    (tmp_path / "mutant_of_ours.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["mutants", "--plugin", "mutant_of_ours", "OURS"]) == 0
    assert "explore.toml --plugin mutant_of_ours --mutant OURS" in capsys.readouterr().out
    assert main(["mutants", "--plugin", "mutant_of_ours", "KAFKA-7235"]) == 0
    assert "explore.toml --mutant KAFKA-7235" in capsys.readouterr().out
