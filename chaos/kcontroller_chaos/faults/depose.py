"""depose: the controller loses its office, not its session."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.feed import Event
from kcontroller_chaos.history.transactions import ZkTxn
from kcontroller_chaos.injection import SESSION, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import BROKERS
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.zookeeper.session import Delete, ZkError
from pytest_kcontroller.zookeeper.znodes import CONTROLLER


@dataclass(frozen=True, slots=True, kw_only=True)
class Depose(Fault):
    """/controller is deleted under a controller whose session lives on, as an operator does it by hand."""

    kind = "depose"
    example = """\
[[faults]]
kind = "depose"
target = "controller"
at_s = 2
"""
    keeps_session = of_controller = True
    claims = (SESSION,)
    needs = (BROKERS,)

    async def inject(self, on: Injection) -> None:
        owner = await on.cluster.owner_of(CONTROLLER)
        if owner != on.session:
            found = f"that belongs to the session {owner:#x}" if owner else "there is none"
            raise EnvironmentFailure(
                f"node {on.node}, with its session {on.session:#x}, has no /controller that could be deleted: {found}",
                hint='it must be the controller then (target = "controller")',
            )
        try:
            await on.cluster.admin.submit(Delete(CONTROLLER))
        except ZkError as failed:
            raise EnvironmentFailure(f"/controller could not be deleted: {failed}") from None

    async def observe(self, on: Injection) -> Evidence:
        """The deletion in ZooKeeper's log, by another session than the controller's, which has not ended by then."""
        event = await on.feed.wait(lambda e: _deletes_controller(e) and e["session"] != hex(on.session), since=on.since)
        if on.closed(by_client=True) or on.closed(by_client=False):
            raise EnvironmentFailure(f"the session {on.session:#x} of the deposed controller has ended too")
        return {"zxid": event["zxid"], "session": event["session"], "t_us": event["t_us"]}

    async def heal(self, on: Injection) -> None:
        """Nothing to do: the next election writes /controller."""


def _deletes_controller(event: Event) -> bool:
    if event["kind"] != ZkTxn.kind:
        return False
    return any(op["type"] == "delete" and op["path"] == CONTROLLER for op in event.get("ops", ()))
