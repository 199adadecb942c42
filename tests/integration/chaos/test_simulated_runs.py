"""Campaigns in simulated time: the same files, faults, invariants and mutants; one seed is one history."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.backends import sim
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import Schedule
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.feed import Event
from kcontroller_chaos.play.runner import Options, RunResult, run_once
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
DATA = Path(__file__).parents[2] / "data" / "campaigns"
"""Schedules of seeds that once found something: as they were then, since a fault more in a list changes what is drawn."""


def play(out: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """PYTHONHASHSEED is read when Python starts."""
    command = ["campaign", "run", *map(str, arguments), "--backend", "sim", "--out", str(out)]
    surroundings = {**os.environ, **environment}
    if "PYTHONHASHSEED" not in environment:
        return run_kcontroller(*command, timeout=scaled(120), env=surroundings)
    program = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]
    return subprocess.run(
        [*program, *command], capture_output=True, text=True, timeout=scaled(120), check=False, env=surroundings
    )


def runs(out: Path) -> dict[int, Path]:
    return {json.loads((path / "run.json").read_text())["seed"]: path for path in out.glob("*/*")}


def verdicts(run: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((run / "verdicts.json").read_text())
    return value


def digest(run: Path) -> str:
    """Of every byte under history/."""
    found = hashlib.sha256()
    for path in sorted((run / "history").iterdir()):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


ASKED = (  # of admin actions, and of nodes with several log directories, which these campaigns have none of
    "failed-replicas-take-no-role",
    *("deleted-by-every-replica", "deleted-topics-are-gone", "reassignments-end-in-target"),
    *("relieved-stay-out-of-isr", "removed-replicas-are-gone"),
)
ANSWERED, DEAD = "answers-are-true", "dead-leave-isr-at-failover"


@pytest.mark.parametrize(
    ("name", "besides"), [("smoke", ()), ("zombie", (ANSWERED, DEAD)), ("links", (ANSWERED, DEAD))]
)
def test_the_campaigns_of_real_clusters_hold_in_simulated_time(
    tmp_path: Path, name: str, besides: tuple[str, ...]
) -> None:
    idle = sorted((*ASKED, *besides))
    done = play(tmp_path, CAMPAIGNS / f"{name}.toml", "--seeds", "1..20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(runs(tmp_path)) == 20
    for run in runs(tmp_path).values():
        value = verdicts(run)
        assert [part["verdict"] for part in value["parts"].values()] == ["held"] * 5
        assert [entry["name"] for entry in value["invariants"] if not entry["checks"]] == idle
    assert f"never exercised in any run: {', '.join(idle)}" in done.stdout


def test_a_mutant_is_found_and_its_write_named(tmp_path: Path) -> None:
    done = play(tmp_path, CAMPAIGNS / "zombie.toml", "--seeds", 1, "--mutant", "KAFKA-6082")
    assert done.returncode == 1, done.stdout + done.stderr
    entries = {entry["name"]: entry for entry in verdicts(runs(tmp_path)[1])["invariants"]}
    violated = entries["no-stale-epoch-write"]
    assert violated["verdict"] == "violated"
    assert violated["witness"]["path"].startswith("/brokers/topics/late/partitions/")


SELDOM = """
[campaign]
name = "seldom"
duration_s = 12

[cluster]
session_timeout_ms = 1000
config = { "replica.high.watermark.checkpoint.interval.ms" = 30000 }

[[faults]]
kind = "disk_full"
target = "node:1"
at_s = 1
"""


def test_a_broker_that_seldom_writes_is_given_time_to_notice_its_disk(tmp_path: Path) -> None:
    (tmp_path / "seldom.toml").write_text(SELDOM)
    done = play(tmp_path, tmp_path / "seldom.toml", "--seeds", 1)
    assert done.returncode == 0, done.stdout + done.stderr


STILL = """
[campaign]
name = "still"
duration_s = 5

[[workload]]
kind = "admin"
action = "create_topic"
at_s = 2
topic = "late"
topic_id = false        # the controller's first write is the id, over whatever is there

[[faults]]
kind = "depose"
when = "write:1"
at_s = 1.5
still_ms = {still_ms}
"""


@pytest.mark.parametrize(("still_ms", "status"), [(0, 0), (200, 1)])
def test_a_node_stands_still_at_a_crash_point_while_the_others_act(tmp_path: Path, still_ms: int, status: int) -> None:
    """Only after some time is another controller in office when the deposed one writes what nothing fences."""
    file = tmp_path / "still.toml"
    file.write_text(STILL.format(still_ms=still_ms))
    assert play(tmp_path / "fenced", file, "--seeds", "1..3").returncode == 0
    done = play(tmp_path / "unfenced", file, "--seeds", "1..3", "--mutant", "KAFKA-6082")
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout.count(": violated in") == (3 if status else 0)
    assert ("violated in 3 of 3 runs: no-stale-epoch-write" in done.stdout) == bool(status), (
        "equal failures are one cause"
    )
    assert (done.stdout.splitlines()[-1] == "did not hold: still seeds 1,2,3") == bool(status)


def test_who_is_not_the_controller_is_not_deposed(tmp_path: Path) -> None:
    file = tmp_path / "deposed.toml"
    head = '[campaign]\nname = "deposed"\nduration_s = 2\n'
    file.write_text(head + '[[faults]]\nkind = "depose"\ntarget = "others"\nat_s = 1\n')
    done = play(tmp_path, file, "--seeds", 1)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "has no /controller that could be deleted: that belongs to the session 0x" in done.stdout
    (run,) = runs(tmp_path).values()
    made = [op for op in (run / "history" / "zookeeper.jsonl").read_text().splitlines() if '"path":"/controller"' in op]
    assert len(made) == 1, "whoever was the controller is it still"


def test_who_stands_still_for_a_session_time_out_is_not_an_overloaded_host(tmp_path: Path) -> None:
    file = tmp_path / "still.toml"
    text = STILL.format(still_ms=4000).replace('"depose"', '"latency"') + "duration_s = 1\n"
    file.write_text(text + "[cluster]\nsession_timeout_ms = 1000\n")
    done = play(tmp_path, file, "--seeds", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = runs(tmp_path).values()
    assert '"type":"close-session"' in (run / "history" / "zookeeper.jsonl").read_text()


def test_whatever_is_drawn_holds_and_most_of_it_happens(tmp_path: Path) -> None:
    done = play(tmp_path, CAMPAIGNS / "explore.toml", "--seeds", "1..10")
    assert done.returncode == 0, done.stdout + done.stderr
    statuses = [fault["status"] for run in runs(tmp_path).values() for fault in verdicts(run)["faults"]]
    assert set(statuses) == {"healed", "skipped"}
    assert statuses.count("healed") > len(statuses) / 3
    assert all(
        fault["why"]
        for run in runs(tmp_path).values()
        for fault in verdicts(run)["faults"]
        if fault["status"] == "skipped"
    )


ALONE = """
[campaign]
name = "alone"
duration_s = 12

[cluster]
nodes = 1
session_timeout_ms = 1000

[[topics]]
name = "t"

[generator]
faults = ["latency:control", "partition", "partition:all", "reset:control"]
"""


def test_a_drawn_fault_on_links_that_are_not_there_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "alone.toml").write_text(ALONE)
    done = play(tmp_path, tmp_path / "alone.toml", "--seeds", "1..3")
    assert done.returncode == 4, done.stdout + done.stderr
    for run in runs(tmp_path).values():
        assert {fault["status"] for fault in verdicts(run)["faults"]} == {"skipped"}


LAST = """
[campaign]
name = "last"
duration_s = 5

[cluster]
nodes = 2
session_timeout_ms = 1000
config = { "controlled.shutdown.retry.backoff.ms" = 5000 }

[[topics]]
name = "t"
replication_factor = 2

[[faults]]
kind = "kill"
target = "node:0"
at_s = 0.5
duration_s = 20

[[faults]]
kind = "graceful_stop"
target = "node:1"
at_s = 3
duration_s = 1
"""


def test_an_orderly_stop_has_the_time_that_its_config_gives_it(tmp_path: Path) -> None:
    """Nobody can relieve the last node, and it asks three times, as Kafka does by its defaults."""
    (tmp_path / "last.toml").write_text(LAST)
    done = play(tmp_path, tmp_path / "last.toml", "--seeds", 1)
    assert done.returncode == 0, done.stdout + done.stderr


UNSEEN = """
[campaign]
name = "unseen"
duration_s = 8

[cluster]
nodes = 2
session_timeout_ms = 1000

[[topics]]
name = "t"
replication_factor = 2

[[faults]]
kind = "flap"
target = "node:1"
at_s = 1
duration_s = 5

[[faults]]
kind = "pause"
target = "node:0"
at_s = 1.05
duration_s = 1

[[faults]]
kind = "pause"
target = "node:1"
at_s = 1.1
duration_s = 1
"""


def test_a_flap_of_links_that_nobody_can_look_at_for_a_while_is_seen_later(tmp_path: Path) -> None:
    (tmp_path / "unseen.toml").write_text(UNSEEN)
    done = play(tmp_path, tmp_path / "unseen.toml", "--seeds", 1)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_seed_is_one_history_in_every_process(tmp_path: Path) -> None:
    digests = []
    for hash_seed, malloc in (("0", "default"), ("0", "malloc"), ("1", "default"), ("1", "malloc")):
        out = tmp_path / f"{hash_seed}-{malloc}"
        surroundings = {"PYTHONHASHSEED": hash_seed, "PYTHONMALLOC": malloc, "KC_TIMEOUT_SCALE": hash_seed + ".5"}
        assert play(out, CAMPAIGNS / "smoke.toml", "--seeds", "1..5", **surroundings).returncode == 0
        digests.append({seed: digest(run) for seed, run in sorted(runs(out).items())})
    assert digests[1:] == digests[:1] * 3
    assert len(set(digests[0].values())) == 5


def test_containers_do_not_exist_in_simulated_time(tmp_path: Path) -> None:
    done = play(tmp_path, CAMPAIGNS / "smoke.toml", "--zookeeper", "container")
    assert done.returncode == 2
    assert "simulated time has no containers" in done.stderr


def test_many_at_a_time_are_the_same_runs(tmp_path: Path) -> None:
    files = [CAMPAIGNS / "smoke.toml", CAMPAIGNS / "zombie.toml"]
    for jobs in (1, 2):
        done = play(tmp_path / str(jobs), *files, "--seeds", "1..12", "--jobs", jobs)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "24 runs: 24 held" in done.stdout
    found = [{run.parent.name + run.name[-3:]: digest(run) for run in (tmp_path / jobs).glob("*/*")} for jobs in "12"]
    assert found[0] == found[1]
    assert len(found[0]) == 24


def test_real_clusters_are_not_played_side_by_side(tmp_path: Path) -> None:
    done = run_kcontroller("campaign", "run", CAMPAIGNS / "smoke.toml", "--jobs", "2", "--out", tmp_path)
    assert done.returncode == 2
    assert "one after the other" in done.stderr


def test_a_drawn_fault_on_a_node_that_is_not_connected_is_no_failure_of_the_host(tmp_path: Path) -> None:
    """A change of what comes when in simulated time takes the schedule out of that moment: record another then."""
    campaign, seed = load_campaign(DATA / "explore.toml", load_catalogue()), 57
    schedule = Schedule.load(DATA / f"explore_{seed}.jsonl", campaign)
    result = asyncio.run(run_once(campaign, seed, Options(out=tmp_path, backend="sim"), schedule))
    assert result.verdict == "held", result.details["parts"]
    (history,) = tmp_path.rglob("engine.jsonl")
    whys = [json.loads(line).get("why") or "" for line in history.read_text().splitlines()]
    assert any(why.endswith("is not connected to ZooKeeper now, so it cannot lose it") for why in whys), whys


def test_a_run_that_is_interrupted_while_its_history_is_written_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its history was in memory alone: by the second Ctrl-C it was lost."""
    begun, may_go_on, write = threading.Event(), threading.Event(), sim.write_history

    def write_slowly(directory: Path, events: Sequence[Event]) -> None:
        begun.set()
        assert may_go_on.wait(scaled(60))
        write(directory, events)

    told: list[RunResult] = []

    async def play_on() -> None:
        campaign = load_campaign(CAMPAIGNS / "smoke.toml", load_catalogue())
        while True:
            told.append(await run_once(campaign, 1, Options(out=tmp_path, backend="sim")))

    async def interrupt() -> None:
        run = asyncio.ensure_future(play_on())
        while not begun.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.01)
        for _ in range(2):
            run.cancel()
            await asyncio.sleep(0)
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await run

    monkeypatch.setattr(sim, "write_history", write_slowly)
    asyncio.run(interrupt())
    result = told[0]
    assert result.verdict == verdicts(result.path)["overall"] == "held"
    assert json.loads((result.path / "run.json").read_text())["verdict"] == "held"


JOINING = """
[campaign]
name = "joining"
duration_s = 6

[cluster]
nodes = 3
session_timeout_ms = 1000

[[workload]]
kind = "admin"
action = "add_node"
at_s = 1.5

[[faults]]
kind = "partition"
mode = "control"
target = "node:1"
at_s = 1
duration_s = 2

[[faults]]
kind = "latency"
target = "node:2"
at_s = 1
duration_s = 2

[[faults]]
kind = "partition"
mode = "control"
target = "node:3"
at_s = 3.5
duration_s = 1
"""


def test_a_fault_concerns_the_nodes_that_there_are_when_it_comes(tmp_path: Path) -> None:
    """One that joins meanwhile can be a target of its own."""
    file = tmp_path / "joining.toml"
    file.write_text(JOINING)
    done = play(tmp_path, file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "faults 3 of 3, operations 1 of 1" in done.stdout
