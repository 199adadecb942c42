"""Shapes of a partition, as Jepsen names them: who does not hear whom. Pure: from the nodes and whom it is about.

Nodes are taken in the order of a ring that begins at the node that the fault is on, so the seed, which draws that one,
draws the groups too.
"""

from __future__ import annotations

from collections.abc import Sequence

Split = list[tuple[int, int]]
"""Pairs of nodes that do not hear each other, each pair once."""


def halves(node: int, others: Sequence[int]) -> Split:
    """`node` and so many of those after it that they are half of all; of an odd number the smaller half."""
    around = ring(node, others)
    return across(around[: max(1, len(around) // 2)], around[max(1, len(around) // 2) :])


def majority(node: int, others: Sequence[int]) -> Split:
    """`node` is in the smallest majority; the others are cut off from it."""
    around = ring(node, others)
    return across(around[: least_majority(len(around))], around[least_majority(len(around)) :])


def minority(node: int, others: Sequence[int]) -> Split:
    """`node` is in the largest minority, cut off from the majority."""
    around = ring(node, others)
    return across(
        around[: len(around) - least_majority(len(around))], around[len(around) - least_majority(len(around)) :]
    )


def majorities_ring(node: int, others: Sequence[int]) -> Split:
    """Every node hears a majority, itself among them, and no two hear the same: its nearest ones on the ring.

    Whom two nodes both hear differs from node to node. With fewer than four nodes everybody hears everybody.
    """
    around = ring(node, others)
    count = len(around)
    near = least_majority(count) // 2
    apart: Split = []
    for at, one in enumerate(around):
        for step in range(near + 1, count - near):
            other = around[(at + step) % count]
            if (other, one) not in apart:
                apart.append((one, other))
    return apart


def bridge(node: int, others: Sequence[int]) -> Split:
    """Two halves that do not hear each other, and `node` between them that hears both."""
    around = ring(node, others)[1:]
    return across(around[: len(around) // 2], around[len(around) // 2 :])


def ring(node: int, others: Sequence[int]) -> list[int]:
    """All nodes, by their ids, beginning at `node`."""
    return [node, *sorted(one for one in others if one > node), *sorted(one for one in others if one < node)]


def least_majority(count: int) -> int:
    return count // 2 + 1


def across(some: Sequence[int], rest: Sequence[int]) -> Split:
    return [(one, other) for one in some for other in rest]
