"""A cluster whose nodes answer nobody, as those of a system that is not ours: what every backend has is enough."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from kcontroller_chaos.backends.run import Run, perform
from kcontroller_chaos.backends.sim import SimRun
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import draw
from kcontroller_chaos.history.read import History
from kcontroller_chaos.play.runner import play_schedule
from pytest_kcontroller.cluster.capabilities import BROKERS, PEERS
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.model.history import TriggerMissed
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World

CAMPAIGN = """
[campaign]
name = "silent"
duration_s = 20
seeds = "1"

[cluster]
nodes = 3
session_timeout_ms = 1000

[[topics]]
name = "orders"
partitions = 2
replication_factor = 3

[[faults]]
kind = "kill"
target = "controller"
at_s = 1
duration_s = 2

[[faults]]
kind = "session_expiry"
mode = "server"
target = "controller"
at_s = 6

[[faults]]
kind = "partition"
mode = "control"
target = "random"
at_s = 9
duration_s = 1

[[faults]]
kind = "latency"
mode = "zookeeper"
target = "random"
delay_ms = 100
at_s = 12
duration_s = 1

[[faults]]
kind = "pause"
target = "controller"
at_s = 15
duration_s = 3
"""


class SilentCluster(SimCluster):
    """The nodes are brokers with links between them, but it has no way to ask them."""

    offers = (BROKERS, PEERS)

    async def status(self, node: int) -> NoReturn:
        raise AssertionError("a node was asked for its status")

    async def metadata(self, node: int) -> NoReturn:
        raise AssertionError("a node was asked for its metadata")


class ForgetfulCluster(SimCluster):
    """Its controller does not know all of its nodes."""

    async def metrics(self, node: int) -> Mapping[str, int]:
        return {"ActiveBrokerCount": 2}


class SilentRun(SimRun):
    made_of: type[SimCluster] = SilentCluster

    async def open(self) -> None:
        self._cluster = await self.made_of.start(
            self._world, self.settings, self.directory, on_exit=self.exited, loop=self._loop
        )


class ForgetfulRun(SilentRun):
    made_of = ForgetfulCluster


def test_that_nobody_knows_all_nodes_before_the_first_topic_is_in_the_history(tmp_path: Path) -> None:
    """Who leads it may then be another node than with the same seed on another day."""
    file = tmp_path / "forgetful.toml"
    file.write_text(CAMPAIGN.partition("[[faults]]")[0], encoding="utf-8")
    campaign = load_campaign(file)

    async def work(run: Run) -> None:
        await play_schedule(run, draw(campaign, 1), None, campaign.duration_s)

    with Scheduler() as scheduler, unscaled():
        loop = scheduler.process("engine")
        run = ForgetfulRun(World(scheduler, 1), loop, ClusterSettings(nodes=3, session_timeout_ms=1000), tmp_path)
        scheduler.run_until_complete(loop.create_task(perform(run, work)))
        (missed,) = run.history().of(TriggerMissed)
    assert TriggerMissed.text.format(**missed) == "that a controller knows all nodes did not happen in 10.0 s"


def test_faults_are_injected_and_observed_without_a_word_of_a_node(tmp_path: Path) -> None:
    file = tmp_path / "silent.toml"
    file.write_text(CAMPAIGN, encoding="utf-8")
    campaign = load_campaign(file)
    converged: list[bool] = []

    async def work(run: Run) -> None:
        await play_schedule(run, draw(campaign, 1), None, campaign.duration_s)
        await run.cluster.wait_until_converged(timeout_s=10)
        converged.append(True)

    with Scheduler() as scheduler, unscaled():
        loop = scheduler.process("engine")
        run = SilentRun(World(scheduler, 1), loop, ClusterSettings(nodes=3, session_timeout_ms=1000), tmp_path)
        scheduler.run_until_complete(loop.create_task(perform(run, work)))
        history: History = run.history()

    assert converged
    observed = {event["fault_kind"] for event in history.of("fault.observed")}
    assert observed == {fault.kind for fault in campaign.fault_classes}
    assert not history.of("fault.not-applied", "fault.not-observed", "fault.not-healed", "host.overload")
    assert not history.of("node.status", "node.metadata")
    assert len(history.of("zk.tree")) == 1
