"""`striped`: Kafka 3.9's assignment without racks."""

from __future__ import annotations

from collections.abc import Callable

from kcontroller_plugins.assignments._ring import Ring
from pytest_kcontroller.hookspecs import AssignmentStrategy, hookimpl
from pytest_kcontroller.model.assignment import AssignmentRequest, check_request


class StripedStrategy:
    """First replicas go round the brokers; followers are shifted by one more each time the round is complete.

    Racks are not looked at. (org.apache.kafka.admin.AdminUtils.assignReplicasToBrokersRackUnaware)
    """

    name = "striped"

    def assign(self, request: AssignmentRequest, draw: Callable[[int], int]) -> dict[int, tuple[int, ...]]:
        check_request(request)
        brokers = [broker.id for broker in request.brokers]
        ring = Ring.of(request, len(brokers), draw)
        assigned: dict[int, tuple[int, ...]] = {}
        for partition, first, shift in ring.partitions(request.partitions):
            followers = (ring.follower(first, shift, j) for j in range(request.replication_factor - 1))
            assigned[partition] = (brokers[first], *(brokers[index] for index in followers))
        return assigned


@hookimpl
def kcontroller_assignment_strategies() -> list[type[AssignmentStrategy]]:
    return [StripedStrategy]
