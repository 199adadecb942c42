"""What does not hold of the vectors, and why: the table in docs/fidelity.md is compared with this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fidelity.vectors import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Vectors to which `applies` expect `kafka` under `key`; of ours `ours` is true."""

    applies: Callable[[Vector], bool]
    what: str
    """Which vectors, for the table."""
    key: str
    kafka: Any
    ours: Any
    why: str


EXPLAINED = (
    Explained(
        applies=lambda vector: (
            _input(vector, "leader_recovery_supported") is False
            and vector.expected.get("leader") not in (None, *vector.inputs["zk"]["isr"])
        ),
        what="`leader_election` with `leader_recovery_supported: false`, where a leader comes from outside the ISR",
        key="leader_recovery_state",
        kafka="RECOVERED",
        ours="RECOVERING",
        why="Kafka 3.9 with an inter.broker.protocol.version below 3.2. Our nodes speak 3.9's only, and mark such a "
        "leader as RECOVERING (KIP-704)",
    ),
    Explained(
        applies=lambda vector: vector.operation == "request_batch" and "version" in vector.inputs,
        what="`request_batch` with `version`, where StopReplica has not yet said of each partition whether it is deleted",
        key="requests_old",
        kafka=2,
        ours=None,
        why="StopReplica before version 3, for Kafka 2.5 and older. Our controller sends version 4, as 3.9 does to 3.9",
    ),
)


def _input(vector: Vector, key: str) -> Any:
    return vector.inputs.get(key) if isinstance(vector.inputs, dict) else None


def as_explained(vector: Vector, observed: Any) -> Any:
    """What is to be expected of ours."""
    expected = vector.expected
    for one in EXPLAINED:
        there = one.key in expected and expected[one.key] == one.kafka
        if one.applies(vector) and there and observed.get(one.key) == one.ours:
            expected = {**expected, one.key: one.ours}
    return expected
