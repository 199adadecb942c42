"""Every mutant is found by a campaign with placed faults, in simulated time, by the invariant that it breaks; without it the
same campaign holds.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.invariants import named
from kcontroller_chaos.judge.verdict import HELD, VIOLATED
from kcontroller_chaos.mutants import kcontroller_mutants
from kcontroller_chaos.play.runner import Options, run_once
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import UsageError

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
MUTANTS = {mutant.name: mutant for mutant in kcontroller_mutants()}
WITHOUT_CAMPAIGN = ("KAFKA-9539",)
"""No fault brings a request back that is done: test_late_order.py in tests/integration/fixtures does."""
FILES = {name: CAMPAIGNS / "mutants" / f"{name}.toml" for name in MUTANTS if name not in WITHOUT_CAMPAIGN}
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


APPLIES = """\
from pathlib import Path
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.play.runner import Options, check
check(load_campaign(Path({file!r})), Options(mutant={mutant!r}))
"""


def test_a_mutant_applies_where_a_node_is_another_process() -> None:
    """Nothing of a node has been imported then."""
    for mutant in ("KAFKA-14845", "KAFKA-6082"):
        program = APPLIES.format(file=str(CAMPAIGNS / "smoke.toml"), mutant=mutant)
        subprocess.run([sys.executable, "-c", program], check=True, timeout=scaled(60))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(FILES))
def test_a_mutant_is_found(tmp_path: Path, name: str, seed: int) -> None:
    assert_found(tmp_path, name, seed)


@pytest.mark.parametrize("name", sorted(name for name in FILES if MUTANTS[name].kafkas))
def test_what_kafka_does_is_a_setting_of_the_cluster(tmp_path: Path, name: str) -> None:
    """Here two at once. Nothing of it counts as a mutant's."""
    campaign = load_campaign(FILES[name])
    another = "KAFKA-9478" if name == "KAFKA-13407" else "KAFKA-13407"
    cluster = replace(campaign.cluster, kafka_compat=[another, name])
    options = Options(out=tmp_path, backend=backends.simulated().name)
    result = asyncio.run(run_once(replace(campaign, cluster=cluster), 1, options))
    assert set(MUTANTS[name].breaks) <= violated(result.details)
    assert "mutant.counts" not in (result.path / "history" / "engine.jsonl").read_text()


PLUGIN = """
from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.seams import Mutant

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


def test_what_kafka_does_is_on_its_page() -> None:
    page = (CAMPAIGNS.parents[1] / "docs" / "mutants.md").read_text()
    section = page.partition("## Kafka's own bugs")[2].partition("```")[0]
    for mutant in MUTANTS.values():
        assert (f"`{mutant.name}`" in section) == mutant.kafkas


def test_every_mutant_names_invariants_that_exist_and_is_on_its_page() -> None:
    page = (CAMPAIGNS.parents[1] / "docs" / "mutants.md").read_text()
    for mutant in MUTANTS.values():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{mutant.name}` |")]
        assert mutant.breaks
        for name in mutant.breaks:
            assert f"`{name}`" in row
            assert named(name)
        if mutant.name in FILES:
            assert f"`{FILES[mutant.name].relative_to(CAMPAIGNS)}`" in row
