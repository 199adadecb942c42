"""`rack-aware`: Kafka 3.9's assignment over racks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kcontroller_plugins.assignments._ring import Ring
from kcontroller_plugins.assignments.striped import StripedStrategy
from pytest_kcontroller.hookspecs import AssignmentStrategy, hookimpl
from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentRequest, PartialRacksError, check_request


class RackAwareStrategy:
    """The replicas of a partition live in as many racks as possible. Without any rack it is `striped`.

    (org.apache.kafka.admin.AdminUtils.assignReplicasToBrokersRackAware; racks known for some brokers only are an error,
    as in Kafka's mode Enforced)
    """

    name = "rack-aware"

    def assign(self, request: AssignmentRequest, draw: Callable[[int], int]) -> dict[int, tuple[int, ...]]:
        check_request(request)
        without = [broker.id for broker in request.brokers if broker.rack is None]
        if len(without) == len(request.brokers):
            return StripedStrategy().assign(request, draw)
        if without:
            raise PartialRacksError(
                f"brokers without a rack: {without}", hint="give every broker a rack, or use the strategy 'striped'"
            )
        brokers = _alternating(request.brokers)
        ring = Ring.of(request, len(brokers), draw)
        racks = len({broker.rack for broker in brokers})
        assigned: dict[int, tuple[int, ...]] = {}
        for partition, first, shift in ring.partitions(request.partitions):
            chosen = [brokers[first]]
            candidates = _candidates(ring, brokers, first, shift * racks)
            while len(chosen) < request.replication_factor:
                candidate = next(candidates)
                if _fits(candidate, chosen, racks, len(brokers)):
                    chosen.append(candidate)
            assigned[partition] = tuple(broker.id for broker in chosen)
        return assigned


def _candidates(ring: Ring, brokers: list[AssignableBroker], first: int, shift: int) -> Iterator[AssignableBroker]:
    number = 0
    while True:
        yield brokers[ring.follower(first, shift, number)]
        number += 1


def _fits(candidate: AssignableBroker, chosen: list[AssignableBroker], racks: int, brokers: int) -> bool:
    """A new rack while there is one, a new broker always."""
    used_racks = {broker.rack for broker in chosen}
    if candidate.rack in used_racks and len(used_racks) < racks:
        return False
    used = {broker.id for broker in chosen}
    return candidate.id not in used or len(used) == brokers


def _alternating(brokers: tuple[AssignableBroker, ...]) -> list[AssignableBroker]:
    """Racks by name in turn, brokers of a rack by id; an exhausted rack is skipped."""
    by_rack: dict[str, list[AssignableBroker]] = {}
    for broker in sorted(brokers, key=lambda b: (b.rack or "", b.id)):
        by_rack.setdefault(broker.rack or "", []).append(broker)
    longest = max(len(members) for members in by_rack.values())
    return [members[turn] for turn in range(longest) for members in by_rack.values() if turn < len(members)]


@hookimpl
def kcontroller_assignment_strategies() -> list[type[AssignmentStrategy]]:
    return [RackAwareStrategy]
