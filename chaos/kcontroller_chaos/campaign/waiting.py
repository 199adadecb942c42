"""Faults that wait for each other."""

from __future__ import annotations

from collections.abc import Sequence

from kcontroller_chaos.campaign.specs import FaultSpec
from kcontroller_chaos.catalogue.placement import POINTS


def waits_in_a_ring(faults: Sequence[FaultSpec]) -> tuple[int, str, str, str] | None:
    """Index, key, what is wrong and a hint, of the first fault that can never begin, since it waits for others that wait
    for it; None: there is none. What heals a fault (`until`) is waited for in vain for a while only."""
    triggers = {spec.id: (spec.when or "").partition(":") for spec in faults}
    waits_for = {fault: other for fault, (event, _, other) in triggers.items() if event not in POINTS}
    for index, spec in enumerate(faults):
        ring = [spec.id]
        while (following := waits_for.get(ring[-1], "")) and following not in ring:
            ring.append(following)
        if following == spec.id:
            said = ", ".join(f"{one!r} for {other!r}" for one, other in zip(ring, (*ring[1:], spec.id), strict=True))
            return index, "when", f"faults wait for each other: {said}", "one of them needs `at_s`, or a fault outside"
    return None
