"""What the faults that go on need for themselves: no drawn fault takes it from them, else neither could be observed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from kcontroller_chaos.injection import EVERYTHING, NETWORK, PROCESS, SESSION, Injection

ENDS_OF_A_LINK = 2

Claim = tuple[str, int | None]
"""A claim of injection.py, and the node or session that it is on; None: the whole cluster."""


@dataclass(slots=True)
class Claims:
    """`taken`: claim -> the id of the fault that has it. `freed` is set when some are given back next."""

    taken: dict[Claim, str] = field(default_factory=dict)
    freed: asyncio.Event = field(default_factory=asyncio.Event)

    def of(self, names: Sequence[str], members: Sequence[Injection], running: Sequence[int]) -> list[Claim]:
        """What a fault with these claims needs on these nodes; a node may be all that is left at one end of the links."""
        claims = [(claim, _whose(claim, member)) for member in members for claim in names]
        if PROCESS in names and len(self._free(running, {member.node for member in members})) < ENDS_OF_A_LINK:
            claims.append((NETWORK, None))  # no link would have somebody at its other end who could be asked
        return claims

    def holder(self, claims: Sequence[Claim]) -> str | None:
        """The fault that has one of them."""
        if (EVERYTHING, None) in claims and self.taken:
            return next(iter(self.taken.values()))
        if (EVERYTHING, None) in self.taken:
            return self.taken[EVERYTHING, None]
        return next((self.taken[claim] for claim in claims if claim in self.taken), None)

    def take(self, claims: Sequence[Claim], fault: str) -> list[Claim]:
        """Those that nobody had; to be given back."""
        mine = [claim for claim in dict.fromkeys(claims) if claim not in self.taken]
        self.taken.update(dict.fromkeys(mine, fault))
        return mine

    def give_back(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            del self.taken[claim]
        self.freed.set()
        self.freed = asyncio.Event()

    def _free(self, running: Sequence[int], but: set[int]) -> list[int]:
        """The running nodes, but these, that are in the hands of no fault."""
        return [node for node in running if node not in but and (PROCESS, node) not in self.taken]


def _whose(claim: str, member: Injection) -> int | None:
    """What a claim is on. Two sessions of a node, one after the other, are two."""
    return {NETWORK: None, EVERYTHING: None, SESSION: member.session}.get(claim, member.node)
