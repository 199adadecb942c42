"""What both stock strategies share: Kafka's ring of brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pytest_kcontroller.model.assignment import AssignmentRequest


@dataclass(frozen=True, slots=True)
class Ring:
    """`size` brokers in a ring; `start` is where the first replica of partition 0 would go."""

    size: int
    start: int
    shift: int
    first_partition: int

    @classmethod
    def of(cls, request: AssignmentRequest, size: int, draw: Callable[[int], int]) -> Ring:
        """A fixed start index is the first shift too; without one both are drawn, independently."""
        fixed = request.start_index
        start = draw(size) if fixed is None else fixed
        shift = draw(size) if fixed is None else fixed
        return cls(size, start, shift, max(0, request.first_partition))

    def partitions(self, count: int) -> Iterator[tuple[int, int, int]]:
        """Partition, index of its first replica, shift of its followers.

        The shift grows whenever a partition's number is a multiple of the ring's size, for the first one of this request
        too; number 0 is no such multiple.
        """
        shift = self.shift
        for partition in range(self.first_partition, self.first_partition + count):
            if partition > 0 and partition % self.size == 0:
                shift += 1
            yield partition, (partition + self.start) % self.size, shift

    def follower(self, first: int, shift: int, number: int) -> int:
        """Index of the `number`-th follower's candidate: never the first replica itself. Needs a ring of two or more."""
        return (first + 1 + (shift + number) % (self.size - 1)) % self.size
