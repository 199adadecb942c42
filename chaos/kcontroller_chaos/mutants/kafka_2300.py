"""KAFKA-2300: after one batch of requests that failed half way, no other could be made (before Kafka 0.9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_kcontroller.controller.controller import Controller
from pytest_kcontroller.model.cluster import Broker
from pytest_kcontroller.seams import Mutant, original, unchanged

RECIPIENTS, RESIGN = "controller.reachable-recipients", "controller.resign-with-unsent-requests"


def all_must_be_there(recipients: Iterable[int], registered: Mapping[int, Broker]) -> list[int]:
    """One that has gone since makes the whole batch fail."""
    wanted = sorted(recipients)
    if gone := [broker for broker in wanted if broker not in registered]:
        raise LookupError(f"broker {gone[0]} has gone")
    unchanged(RECIPIENTS)
    reachable: list[int] = original(RECIPIENTS)(wanted, registered)
    return reachable


async def stay(controller: Controller) -> None:
    """It stays in office with a batch that is half full, so that each one after it fails too."""
    if controller.term is None or not controller.term.requests.unsent:
        unchanged(RESIGN)


MUTANT = Mutant(
    name="KAFKA-2300",
    description="A broker that has gone makes a batch of requests fail, and whatever the controller does after it.",
    source="https://issues.apache.org/jira/browse/KAFKA-2300",
    replacements=((RECIPIENTS, all_must_be_there), (RESIGN, stay)),
    breaks=("metadata-agrees-after-healing",),
)
