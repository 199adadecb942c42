"""The faults on ZooKeeper's own servers: each is seen and mended, and then the cluster is as it was before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.judge.verdict import judge
from pytest_kcontroller import Chaos, KCluster
from pytest_kcontroller.cli import main
from pytest_kcontroller.cluster.capabilities import ZOOKEEPERS
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, UsageError

pytestmark = pytest.mark.kcontroller(zookeeper=3, nodes=2, backends=["process"])

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
KINDS = [kind.classes[0] for kind in load_catalogue(installed=False).kinds.values() if kind.classes[0].on_zookeeper]


def states(kcluster: KCluster) -> list[str | None]:
    servers = kcluster._cluster.capability(ZOOKEEPERS)
    return [servers.zookeeper_state(server) for server in (1, 2, 3)]


def modes(kcluster: KCluster) -> dict[int, str | None]:
    servers = kcluster._cluster.capability(ZOOKEEPERS)
    return dict(kcluster.backend.driver.call(servers.zookeeper_modes(10)))


def leader(kcluster: KCluster) -> int:
    return next(server for server, mode in modes(kcluster).items() if mode == "leader")


def wait_for_leader(kcluster: KCluster, other_than: int) -> None:
    """The others notice after some time that theirs stands still."""
    cluster = kcluster._cluster

    async def another() -> str | None:
        said = await cluster.capability(ZOOKEEPERS).zookeeper_modes(1)
        return None if "leader" in [said[server] for server in said if server != other_than] else str(said)

    kcluster.backend.driver.call(cluster.wait_until("another leads", another, timeout_s=scaled(30)))


def is_whole(kcluster: KCluster) -> bool:
    """One leads, two follow, nobody is stopped, and the nodes have what they need."""
    kcluster.wait_until_converged()
    kcluster.check()
    cluster = kcluster._cluster

    said: list[dict[int, str | None]] = []

    async def answers() -> str | None:
        said.append(dict(await cluster.capability(ZOOKEEPERS).zookeeper_modes(10)))
        return str(said[-1]) if None in said[-1].values() else None

    kcluster.backend.driver.call(cluster.wait_until("each server answers", answers, timeout_s=scaled(30)))
    return states(kcluster) == ["S"] * 3 and sorted(map(str, said[-1].values())) == ["follower", "follower", "leader"]


def test_restart(kcluster_module: KCluster, chaos: Chaos) -> None:
    with chaos.fault("zookeeper_restart") as fault:
        (server,) = fault.observed()["servers"]
        assert states(kcluster_module)[server - 1] is None
        assert fault.nodes == ()
        kcluster_module.create_topic("of-two", partitions=2, replication_factor=2)  # two are enough
    assert is_whole(kcluster_module)


@pytest.mark.kcontroller(zookeeper=1, nodes=1, backends=["process"])
def test_a_write_does_not_wait_for_the_healing(kcluster: KCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who heals is who waits."""
    kcluster.create_topic("orders")
    kcluster.wait_until_converged()
    monkeypatch.setattr("pytest_kcontroller.cluster.observed.ANSWER_S", 1.0)
    with kcluster.chaos.fault("zookeeper_restart"):
        said = r"ZooKeeper has not answered for \S+ s while the topic 'orders' was marked for deletion: was it stopped"
        with pytest.raises(EnvironmentFailure, match=said):
            kcluster.delete_topic("orders")
    monkeypatch.undo()
    kcluster.wait_until_converged()


def test_pause(kcluster_module: KCluster, chaos: Chaos) -> None:
    before = leader(kcluster_module)
    with chaos.fault("zookeeper_pause", server="leader") as fault:
        assert fault.observed() | {"t_us": 0} == {"servers": [before], "state": "T", "answers": False, "t_us": 0}
        wait_for_leader(kcluster_module, before)
        kcluster_module.create_topic("under-another", partitions=2, replication_factor=2)
    assert is_whole(kcluster_module)


def test_kill_leader(kcluster_module: KCluster, chaos: Chaos) -> None:
    before = leader(kcluster_module)
    with chaos.fault("zookeeper_kill_leader") as fault:
        seen = fault.observed()
        assert seen["servers"] == [before]
        assert seen["leader"] == leader(kcluster_module) != before
        kcluster_module.create_topic("of-another-leader", partitions=2, replication_factor=2)
    assert is_whole(kcluster_module)


def test_lose_quorum(kcluster_module: KCluster, chaos: Chaos) -> None:
    with chaos.fault("zookeeper_lose_quorum") as fault:
        assert len(fault.observed()["servers"]) == 2
        assert list(modes(kcluster_module).values()) == [None] * 3
    assert is_whole(kcluster_module)
    kcluster_module.create_topic("after-all", partitions=2, replication_factor=2)
    assert is_whole(kcluster_module)


def test_one_that_somebody_else_takes_back_does_not_last(kcluster_module: KCluster, chaos: Chaos) -> None:
    servers = kcluster_module._cluster.capability(ZOOKEEPERS)
    fault = chaos.inject("zookeeper_pause")
    (server,) = fault.observed()["servers"]
    kcluster_module.backend.driver.call(servers.mend_zookeeper([server]))
    what = f"was not lasting: ZooKeeper's server {server}, which was stopped, goes on"
    with pytest.raises(EnvironmentFailure, match=what):
        fault.heal()


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.kind)
def test_what_does_not_happen_is_not_observed(
    kcluster_module: KCluster, chaos: Chaos, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def strike(*_: object) -> None:
        """Nothing."""

    monkeypatch.setattr(fault, "strike", strike)
    monkeypatch.setattr(fault, "within_s", lambda *_: 1.0)
    asked = chaos.inject(fault.kind)
    with pytest.raises(EnvironmentFailure, match=rf"the fault {fault.kind}-\d was not observed: no evidence within"):
        asked.heal()
    chaos._faults.clear()  # it has said so, and would again at the end of the test


@pytest.mark.parametrize(
    ("kind", "more", "what"),
    [
        (
            "zookeeper_restart",
            {"target": "controller"},
            "zookeeper_restart is on ZooKeeper's servers, and not on 'contr",
        ),
        ("kill", {"target": "zookeeper"}, "kill is on a node, and `zookeeper` is none"),
        ("zookeeper_pause", {"server": "one"}, "'one' is not known"),
    ],
)
def test_what_cannot_be_is_refused(kcluster_module: KCluster, chaos: Chaos, kind: str, more: Any, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        chaos.inject(kind, **more)
    assert kcluster_module.controller is not None


@pytest.mark.kcontroller(zookeeper=1, nodes=1)
def test_one_server_alone(kcluster: KCluster, chaos: Chaos) -> None:
    """It is all of ZooKeeper, whichever server is asked for; nobody could lead it."""
    with pytest.raises(UsageError, match="zookeeper_kill_leader needs an ensemble, and ZooKeeper has one server"):
        chaos.inject("zookeeper_kill_leader")
    kcluster.create_topic("before")
    for kind in ("zookeeper_restart", "zookeeper_pause"):
        with chaos.fault(kind, server="leader") as fault:
            assert fault.observed()["servers"] == [1]
        kcluster.wait_until_converged()
    kcluster.check()


PAUSED = """
[campaign]
name = "paused"
duration_s = 15
seeds = "1"

[cluster]
nodes = 1

[[topics]]
name = "orders"

[[faults]]
kind = "zookeeper_pause"
target = "zookeeper"
at_s = 1
duration_s = 6
"""


def test_the_harness_may_lose_its_session_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a server that stands still for longer than that lives: no host was overloaded. As a rule it does:
    ZooKeeper may hear from the harness first when it goes on."""
    monkeypatch.setattr("pytest_kcontroller.cluster.admin.TIMEOUT_MS", 2000)
    (tmp_path / "paused.toml").write_text(PAUSED)
    status = main(["campaign", "run", str(tmp_path / "paused.toml"), "--out", str(tmp_path / "runs")])
    (judged,) = tmp_path.glob("runs/paused/*/verdicts.json")
    found = json.loads(judged.read_text())
    assert (found["overloaded"], found["overall"], status) == ([], "held", 0)


def test_the_campaign_on_an_ensemble_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two leaders end in the same moment, ZooKeeper's and the cluster's; the run is judged by what three logs have."""
    status = main(["campaign", "run", str(CAMPAIGNS / "ensemble.toml"), "--seeds", "1", "--out", str(tmp_path)])
    said = capsys.readouterr()
    assert status == 0, said.out + said.err
    (run,) = tmp_path.glob("*/*")
    value = json.loads((run / "verdicts.json").read_text())
    assert [part["verdict"] for part in value["parts"].values()] == ["held"] * 5
    assert [fault["id"] for fault in value["faults"] if fault["observed_us"]] == ["leader", "controller", "majority"]
    assert len([*(run / "zookeeper").glob("server-*/log.*")]) >= 3
    (run / "history" / "zookeeper.jsonl").unlink()
    assert judge(run)["transactions"] == value["transactions"] > 0


def test_one_that_is_not_injected_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.toml"
    fault = '[[faults]]\nkind = "zookeeper_restart"\nat_s = 0.1\n'
    file.write_text(f'[campaign]\nname = "one"\nduration_s = 1\n[cluster]\nnodes = 1\n{fault}')
    out = str(tmp_path / "runs")
    assert main(["campaign", "run", str(file), "--noop-fault", "zookeeper_restart", "--out", out]) == 6
    assert "not observed: fault-0 (zookeeper_restart)" in capsys.readouterr().out
    assert main(["campaign", "run", str(file), "--backend", "sim", "--out", out]) == 2
    assert "the backend sim has no ZooKeeper servers" in capsys.readouterr().err
