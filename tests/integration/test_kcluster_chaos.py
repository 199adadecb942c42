"""The fixtures `chaos` and `khistory`, on every backend (test_kcluster_sim.py)."""

from __future__ import annotations

import pytest

from pytest_kcontroller.chaos_fixture import Chaos
from pytest_kcontroller.errors import EnvironmentError_, UsageError
from pytest_kcontroller.kcluster import KCluster
from pytest_kcontroller.khistory import KHistory
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE

pytestmark = pytest.mark.kcontroller(session_timeout_ms=1000)


def told(khistory: KHistory) -> list[str]:
    return [event["kind"] for event in khistory if event["kind"].startswith("fault.")]


def test_a_paused_controller_is_replaced(kcluster: KCluster, chaos: Chaos, khistory: KHistory) -> None:
    kcluster.create_topic("orders", partitions=3, replication_factor=3)
    kcluster.wait_until_converged()
    old = kcluster.controller
    pause = chaos.inject("pause", target="controller")
    assert pause.nodes == (old,)
    assert kcluster.wait_for_controller(other_than=old) != old
    evidence = pause.observed()
    (closed,) = [e for e in khistory.of("zk.txn") if e["type"] == "close-session" and e["zxid"] == evidence["zxid"]]
    assert closed["session"] == evidence["session"]
    pause.heal()
    pause.heal()
    kcluster.wait_until_converged()
    assert told(khistory) == ["fault.asked", "fault.applied", "fault.observed", "fault.healed"]
    kcluster.check()


def test_a_fault_lasts_as_long_as_its_block(kcluster: KCluster, chaos: Chaos, khistory: KHistory) -> None:
    kcluster.create_topic("orders", partitions=3, replication_factor=3)
    with chaos.fault("kill", target="node:1"):
        assert "fault.healed" not in told(khistory)
    kcluster.wait_until_converged()
    assert told(khistory)[-1] == "fault.healed"
    kcluster.check()


def test_an_orderly_stop_is_a_fault_too(kcluster: KCluster, chaos: Chaos, khistory: KHistory) -> None:
    kcluster.create_topic("orders", partitions=3, replication_factor=3)
    kcluster.wait_until_converged()
    with chaos.fault("kill", mode="sigterm", target="controller") as stop:
        evidence = stop.observed()
        assert evidence["status"] == 0
        assert evidence["cxid"] != 0  # its client closed it
        assert [event["done"] for event in khistory.of("broker.controlled-shutdown")] == [True]
    kcluster.wait_until_converged()
    kcluster.check()


def test_one_with_a_duration_heals_itself(kcluster: KCluster, chaos: Chaos, khistory: KHistory) -> None:
    first = kcluster.controller
    chaos.inject("session_expiry", mode="natural", target="controller", duration_s=2.5)
    kcluster.wait_for_controller(other_than=first)
    kcluster.wait_until_converged()
    assert told(khistory)[-1] == "fault.healed"


def test_one_without_an_effect_is_an_error(kcluster: KCluster, chaos: Chaos) -> None:
    hold = chaos.inject("hold", target="controller", point=BEFORE_STATE_WRITE)
    with pytest.raises(EnvironmentError_, match=r"the fault hold-1 was not observed: no evidence within"):
        hold.heal()


def test_one_that_is_reached_is_observed(kcluster: KCluster, chaos: Chaos, khistory: KHistory) -> None:
    kcluster.create_topic("orders", partitions=3, replication_factor=3)
    kcluster.wait_until_converged()
    other = next(node for node in kcluster.nodes if node != kcluster.controller)
    with chaos.fault("hold", target="controller", point=BEFORE_STATE_WRITE) as hold:
        kcluster.kill(other)
        assert hold.observed()["point"] == BEFORE_STATE_WRITE
        assert len(khistory.of("hold.reached")) == 1
    kcluster.restart(other)
    kcluster.wait_until_converged()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "kil"}, "there is no fault 'kil'\n  -> did you mean `kill`?"),
        ({"kind": "kill", "target": "node:7"}, "there is no node '7'"),
        ({"kind": "kill", "target": "conroller"}, "'conroller' is no target\n  -> did you mean `controller`?"),
        ({"kind": "kill", "mode": "hard"}, "kill has no mode 'hard'"),
        ({"kind": "session_expiry", "mode": "sever"}, "did you mean `server`?"),
        ({"kind": "hold", "pint": "x"}, "a fault of the kind hold has no parameter 'pint'\n  -> did you mean `point`?"),
        ({"kind": "hold", "point": "x"}, "hold has no point 'x'"),
    ],
)
def test_what_does_not_exist_is_said(chaos: Chaos, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        chaos.inject(**arguments)  # type: ignore[arg-type]
    assert message in str(raised.value)


def test_the_failure_of_the_block_wins(chaos: Chaos, khistory: KHistory) -> None:
    with pytest.raises(ZeroDivisionError), chaos.fault("session_expiry", mode="server"):
        raise ZeroDivisionError
    assert told(khistory)[-1] == "fault.healed"
