"""Every mutant is found by a campaign with placed faults, in simulated time, by the invariant that it breaks; without it the
same campaign holds. What campaigns cannot ask for (a topic of an old tool) a test does to the world.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos import simulation
from kcontroller_chaos.campaign import load_campaign
from kcontroller_chaos.invariants import named
from kcontroller_chaos.mutants import kcontroller_mutants
from kcontroller_chaos.runner import BACKENDS, SIM, Options, run_once
from kcontroller_chaos.verdict import HELD, VIOLATED
from pytest_kcontroller.cluster import base
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.cluster import Assignment, TopicState
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.sim.zookeeper import SimZooKeeper
from pytest_kcontroller.zookeeper.session import Create, GetData, Multi, Request
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, encode_topic, topic_path

CAMPAIGNS = Path(__file__).parents[2] / "chaos" / "campaigns"
MUTANTS = {mutant.name: mutant for mutant in kcontroller_mutants()}
FILES = {name: CAMPAIGNS / "mutants" / f"{name}.toml" for name in MUTANTS}
FILES |= dict.fromkeys(("KAFKA-1096", "KAFKA-6082", "KAFKA-6082-states"), CAMPAIGNS / "zombie.toml")
SEEDS = (1, 2, 3)

Trick = Callable[[SimZooKeeper, str, Request, bool], None]
"""Called with the ZooKeeper, the link's name, a request on it, and whether it has been done."""


def play(out: Path, file: Path, seed: int, mutant: str | None) -> dict[str, Any]:
    """The verdicts, and under `counts` how often each seam of the mutant ran."""
    result = asyncio.run(run_once(load_campaign(file), seed, Options(out=out, mutant=mutant, backend=SIM)))
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


TRICKED = ("KAFKA-6082-topics",)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(MUTANTS.keys() - set(TRICKED)))
def test_a_mutant_is_found(tmp_path: Path, name: str, seed: int) -> None:
    assert_found(tmp_path, name, seed)


def play_with(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Trick]) -> None:
    """From now on every simulated world has a ZooKeeper that is tricked."""

    class Tricked(World):
        def __init__(self, scheduler: Scheduler, seed: int) -> None:
            super().__init__(scheduler, seed)
            trick = make()
            self.zookeeper.on_request = lambda link, request, done: trick(self.zookeeper, link, request, done)

    monkeypatch.setattr(simulation, "World", Tricked)


def creates(request: Request, path: str) -> bool:
    return isinstance(request, Multi) and any(isinstance(op, Create) and op.path == path for op in request.ops)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_topic_without_an_id_and_a_deposed_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The old controller has read the topic, and is slow to hear it; when it writes the id another one is in office."""

    def make() -> Trick:
        slow: list[str] = []

        def slow_until_replaced(zookeeper: SimZooKeeper, link: str, request: Request, done: bool) -> None:
            if not done:
                return
            if not slow and link.startswith("node-") and request == GetData(topic_path("late"), watch=True):
                slow.append(link)
                zookeeper.link(link).hold()
            elif slow and link != slow[0] and creates(request, CONTROLLER):
                zookeeper.link(slow[0]).heal()

        return slow_until_replaced

    async def write_old_topic(session: Any, name: str, assignment: Any, draw: object) -> None:
        """As the tools before Kafka 2.8 did."""
        partitions = {number: Assignment(tuple(replicas)) for number, replicas in sorted(assignment.items())}
        await session.submit(Create(topic_path(name), encode_topic(TopicState(name=name, partitions=partitions))))

    monkeypatch.setattr(base, "write_topic", write_old_topic)
    play_with(monkeypatch, make)
    assert_found(tmp_path, "KAFKA-6082-topics", seed)


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
    options = Options(out=tmp_path, mutant="TELL-NOBODY", plugins=(plugin,), backend=SIM)
    result = asyncio.run(run_once(load_campaign(FILES["KAFKA-1188"]), 1, options))
    assert "replicas-hosted-after-healing" in violated(dict(result.details))


@pytest.mark.parametrize("backend", BACKENDS)
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
