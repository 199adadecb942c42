"""tests/tools/sim_proof.py: what it says of a good tree, and that it can say no."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_kcontroller.cluster.timing import scaled

pytest.importorskip("coverage")
TOOL = Path(__file__).parents[2] / "tools" / "sim_proof.py"
SMOKE = Path(__file__).parents[3] / "chaos" / "campaigns" / "smoke.toml"


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sim_proof", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prove(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=scaled(120), check=False, env=os.environ)


def test_two_seeds_of_smoke() -> None:
    done = prove(SMOKE, "--seeds", "1..2", "--least", 50)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same history in four processes                       2 of 2 seeds" in done.stdout
    assert "verdicts: 2 held" in done.stdout


def test_too_few_lines_are_said() -> None:
    done = prove(SMOKE, "--seeds", "1", "--least", 100)
    assert done.returncode == 1
    assert "NOT  lines of controller that ran" in done.stdout


def test_an_import_of_the_simulator_is_named_wherever_it_is(tool: ModuleType, tmp_path: Path) -> None:
    for part in ("controller", "broker", "node", "zookeeper"):
        (tmp_path / part).mkdir()
    (tmp_path / "zookeeper" / "store.py").write_text("import pytest_kcontroller.simple\n")
    (tmp_path / "broker" / "b.py").write_text("def f():\n    from pytest_kcontroller.sim.world import World\n")
    (tmp_path / "node" / "n.py").write_text("\nfrom pytest_kcontroller.runtime import scheduler\n")
    assert tool.importers(tmp_path) == ["broker/b.py:2", "node/n.py:2"]


def test_a_history_that_differs_by_a_byte_has_another_digest(tool: ModuleType, tmp_path: Path) -> None:
    for number, text in enumerate(("a\n", "b\n"), start=1):
        history = tmp_path / "x" / f"run-{number}" / "history"
        history.mkdir(parents=True)
        (history.parent / "run.json").write_text(f'{{"seed": {number}}}')
        (history / "engine.jsonl").write_text(text)
    found = tool.digests(tmp_path)
    assert found.keys() == {1, 2}
    assert found[1] != found[2]
