"""The order in which Kafka's replica state machine goes through brokers: it shows when several replicas of a partition leave
the ISR at once, as when a topic is deleted, since the last one stays in it.

It is the order of scala.collection.immutable.HashMap (2.13), which `replicas.groupBy(_.replica)` gives
(kafka.controller.ReplicaStateMachine.handleStateChanges, 3.9): a trie over the hashes of the ids, five bits a level, in
which what is alone in its branch comes before what shares one.
"""

from __future__ import annotations

from collections.abc import Iterable

_BITS, _HASH_BITS = 5, 32
_WHOLE = (1 << _HASH_BITS) - 1


def in_order(brokers: Iterable[int]) -> list[int]:
    """Each once, whatever order they are given in."""
    return _ordered(sorted(dict.fromkeys(brokers)), 0)


def _ordered(brokers: list[int], depth: int) -> list[int]:
    if len(brokers) < 2 or depth >= _HASH_BITS:
        return brokers
    branches: dict[int, list[int]] = {}
    for broker in brokers:
        branches.setdefault(_hash(broker) >> depth & ((1 << _BITS) - 1), []).append(broker)
    by_number = [branch for _, branch in sorted(branches.items())]
    alone = [branch[0] for branch in by_number if len(branch) == 1]
    return alone + [b for branch in by_number if len(branch) > 1 for b in _ordered(branch, depth + _BITS)]


def _hash(number: int) -> int:
    """scala.collection.Hashing.improve, in 32 bits."""
    mixed = number + ~(number << 9) & _WHOLE
    mixed ^= mixed >> 14
    mixed = mixed + (mixed << 4) & _WHOLE
    return mixed ^ mixed >> 10
