"""Every mutant is found by a campaign with placed faults, in simulated time, by the invariant that it breaks; without it the
same campaign holds.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.invariants import named
from kcontroller_chaos.judge.verdict import HELD, VIOLATED
from kcontroller_chaos.mutants import kcontroller_mutants
from kcontroller_chaos.play.runner import Options, run_once
from pytest_kcontroller.errors import UsageError

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
MUTANTS = {mutant.name: mutant for mutant in kcontroller_mutants()}
FILES = {name: CAMPAIGNS / "mutants" / f"{name}.toml" for name in MUTANTS}
FILES |= dict.fromkeys(("KAFKA-1096", "KAFKA-6082", "KAFKA-6082-states"), CAMPAIGNS / "zombie.toml")
SEEDS = (1, 2, 3)


def play(out: Path, file: Path, seed: int, mutant: str | None) -> dict[str, Any]:
    """The verdicts, and under `counts` how often each seam of the mutant ran."""
    result = asyncio.run(
        run_once(load_campaign(file), seed, Options(out=out, mutant=mutant, backend=backends.simulated().name))
    )
    lines = (result.path / "history" / "engine.jsonl").read_text().splitlines()
    counted = [event["counts"] for event in map(json.loads, lines) if event["kind"] == "mutant.counts"]
    return {**result.details, "counts": counted[-1] if counted else {}}


def violated(verdicts: dict[str, Any]) -> set[str]:
    return {entry["name"] for entry in verdicts["invariants"] if entry["verdict"] == VIOLATED}


def assert_found(out: Path, name: str, seed: int) -> None:
    """Held without the mutant; with it its invariant is violated, and what it has changed ran."""
    assert play(out, FILES[name], seed, None)["overall"] == HELD
    found = play(out, FILES[name], seed, name)
    assert found["overall"] == VIOLATED, found["parts"]
    assert set(MUTANTS[name].breaks) <= violated(found)
    assert sum(found["counts"].values()) >= 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_is_found(tmp_path: Path, name: str, seed: int) -> None:
    assert_found(tmp_path, name, seed)


PLUGIN = """
from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.runtime.seams import Mutant

def nobody(replicas, broker, state):
    return []

@hookimpl
def kcontroller_mutants():
    return [
        Mutant("TELL-NOBODY", "...", "our own", (("controller.told-of-removal", nobody),)),
        Mutant("STALE", "...", "our own", (("controller.gone", nobody),)),
    ]
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "mutants_of_a_test.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "mutants_of_a_test"


def test_a_plugin_brings_a_mutant(tmp_path: Path, plugin: str) -> None:
    options = Options(out=tmp_path, mutant="TELL-NOBODY", plugins=(plugin,), backend=backends.simulated().name)
    result = asyncio.run(run_once(load_campaign(FILES["KAFKA-1188"]), 1, options))
    assert "replicas-hosted-after-healing" in violated(dict(result.details))


@pytest.mark.parametrize("backend", backends.NAMES)
def test_a_mutant_that_does_not_apply_fails_before_anything_starts(tmp_path: Path, plugin: str, backend: str) -> None:
    options = Options(out=tmp_path / "runs", mutant="STALE", plugins=(plugin,), backend=backend)
    with pytest.raises(UsageError, match=r"--mutant.*STALE.*controller\.gone"):
        asyncio.run(run_once(load_campaign(FILES["KAFKA-1188"]), 1, options))
    assert not (tmp_path / "runs").exists()


def test_every_mutant_names_invariants_that_exist_and_is_on_its_page() -> None:
    page = (CAMPAIGNS.parents[1] / "docs" / "mutants.md").read_text()
    for mutant in MUTANTS.values():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{mutant.name}` |")]
        assert mutant.breaks
        for name in mutant.breaks:
            assert f"`{name}`" in row
            assert named(name)
        assert f"`{FILES[mutant.name].relative_to(CAMPAIGNS)}`" in row
