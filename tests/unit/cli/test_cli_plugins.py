"""`kcontroller plugins list`: every plugin is listed, and what is wrong with a broken one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.catalogue import load_catalogue
from pytest_kcontroller.cli import main
from pytest_kcontroller.plugin.manager import load_plugins

Write = Callable[[str, str], str]

GOOD = """
from pytest_kcontroller.hookspecs import hookimpl

class Mine:
    name = "mine"
    def select(self, partition, reason):
        return None

@hookimpl
def kcontroller_leader_selectors():
    return [Mine]
"""


SKIPS = GOOD.replace("return [Mine]", "import pytest; pytest.skip('not today')")

SMOKE = str(Path(__file__).parents[3] / "chaos/campaigns/smoke.toml")


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Makes a module that can be imported by this name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return make


def listed(capsys: pytest.CaptureFixture[str], *modules: str) -> tuple[int, dict[str, Any]]:
    given = [argument for module in modules for argument in ("--plugin", module)]
    status = main(["plugins", "list", "--json", *given])
    said = json.loads(capsys.readouterr().out)
    assert said["broken"] == sum(bool(plugin["problem"]) for plugin in said["plugins"])
    return status, {plugin["name"]: plugin for plugin in said["plugins"]}


def test_stock_plugins_are_listed_with_their_offers(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = listed(capsys)
    assert status == 0
    offered = sorted(offer["name"] for p in found.values() for offer in p["offers"] if p["origin"] == "stock")
    stock, chaos = load_plugins(["kcontroller_chaos.mutants"], installed=False), load_catalogue(installed=False)
    names = (*stock.selectors.names, *stock.assignments.names, *stock.mutants.names)
    assert offered == sorted((*names, *chaos.kinds, *(one.name for one in chaos.invariants)))


@pytest.mark.parametrize("command", [["plugins", "list"], ["selectors"], ["campaign", "plan", SMOKE]])
def test_json_is_alone_on_stdout_whatever_a_plugin_prints(
    write: Write, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    loud = write("kct_loud", GOOD.replace("    return [", "    print('hook!')\n    return [") + "\nprint('import!')\n")
    assert main([*command, "--json", "--plugin", loud]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)
    assert "hook!" in said.err


def test_what_a_plugin_is_called_does_not_steer_the_terminal(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    module = write("kct_escape", GOOD.replace('name = "mine"', 'name = "mi\\x1b[31mne"'))
    assert main(["plugins", "list", "--plugin", module]) == 0
    said = capsys.readouterr().out
    assert "leader selector mi\\x1b[31mne" in said
    assert "\x1b" not in said


def test_a_good_plugin_is_listed_with_its_hook(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = listed(capsys, write("kct_good", GOOD))
    assert status == 0
    assert found["kct_good"] == {
        "name": "kct_good",
        "origin": "option",
        "hooks": ["kcontroller_leader_selectors"],
        "offers": [{"kind": "leader selector", "name": "mine"}],
        "problem": "",
    }


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("kct_syntax", "def broken(:\n", "cannot be imported: SyntaxError"),
        ("kct_exit", "import sys\nsys.exit(3)\n", "cannot be imported: SystemExit: 3"),
        (
            "kct_skips",
            "import pytest\npytest.importorskip('kct_not_there')\n",
            "cannot be imported: Skipped: could not import 'kct_not_there'",
        ),
        ("kct_hook_skips", SKIPS, "failed in kcontroller_leader_selectors: Skipped: not today"),
        (
            "kct_typo",
            GOOD.replace("r_selectors", "r_selektors"),
            "there is no hook kcontroller_leader_selektors: did you mean `kcontroller_leader_selectors`",
        ),
        ("kct_unmarked", GOOD.replace("@hookimpl", ""), "kcontroller_leader_selectors is not marked with @hookimpl"),
        ("kct_empty", "", "it implements no hook"),
        ("kct_argument", GOOD.replace("selectors():", "selectors(config):"), "Argument(s) {'config'}"),
        ("kct_raises", GOOD.replace("[Mine]", "[1 / 0]"), "failed in kcontroller_leader_selectors: ZeroDivisionError"),
        ("kct_nameless", GOOD.replace("[Mine]", "[object()]"), "offers a leader selector without a name"),
        ("kct_double", GOOD.replace('"mine"', '"offline"'), "which kcontroller_plugins.selectors.offline offers too"),
    ],
)
def test_a_broken_plugin_is_named_and_the_others_are_listed(
    write: Write, capsys: pytest.CaptureFixture[str], name: str, text: str, problem: str
) -> None:
    status, found = listed(capsys, write(name, text), write("kct_fine", GOOD))
    assert status == 2
    assert problem in found[name]["problem"]
    assert found["kct_fine"]["problem"] == ""
    assert main(["plugins", "list", "--plugin", name]) == 2
    said = capsys.readouterr().out
    assert f"{name}\n    found as  option\n" in said
    assert "    BROKEN " in said
    assert said.endswith(" plugins, 1 broken\n")


def install(folder: Path, name: str, entry_points: str) -> None:
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[kcontroller]\n{entry_points}")


def test_two_distributions_may_call_their_plugins_the_same(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("kct_ours", GOOD)
    write("kct_theirs", GOOD.replace('"mine"', '"theirs"'))
    install(tmp_path, "our-selectors", "selectors = kct_ours\n")
    install(tmp_path, "their-selectors", "selectors = kct_theirs\n")
    status, found = listed(capsys)
    assert status == 0
    assert {"our-selectors:selectors", "their-selectors:selectors"} <= found.keys()
    plugins = load_plugins()
    assert plugins.selectors.plugin_of("mine") == "our-selectors:selectors"
    assert plugins.selectors.plugin_of("theirs") == "their-selectors:selectors"


def test_an_installed_plugin_is_found_by_its_entry_point(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("kct_installed", GOOD)
    install(tmp_path, "team-selectors", "team = kct_installed\nlost = kct_is_not_there\n")
    status, found = listed(capsys)
    assert status == 2
    assert found["team"]["origin"] == "entry point of team-selectors"
    assert found["team"]["offers"] == [{"kind": "leader selector", "name": "mine"}]
    assert (
        "the plugin lost cannot be imported: ModuleNotFoundError: No module named 'kct_is_not_there'"
        in found["lost"]["problem"]
    )
