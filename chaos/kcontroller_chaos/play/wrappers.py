"""What a fault is put into before it is played: on several nodes, at a crash point, or without its injection.

Each is called with an Injection as the fault itself; that of a Group stands for the whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from kcontroller_chaos.injection import Evidence, Injection, Playable
from pytest_kcontroller.cluster.capabilities import CRASH_POINTS
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.runtime.foreign import DEAF_S, DeafError, GivenUp, awaited_without_power
from pytest_kcontroller.runtime.nursery import Nursery


class Group:
    """One fault on several nodes (`target = "others"`): injected and healed on each, observed when one of them shows it."""

    def __init__(self, fault: Playable, members: Sequence[Injection]) -> None:
        self._fault, self._members = fault, members

    async def inject(self, on: Injection) -> None:
        for member in self._members:
            await self._fault.inject(member)

    async def observe(self, on: Injection) -> Evidence:
        first: asyncio.Future[Evidence] = asyncio.get_running_loop().create_future()

        async def watch(member: Injection) -> None:
            # Half of the time that all have: the nursery waits for each.
            observe = partial(self._fault.observe, member)
            evidence = await awaited_without_power(observe, deaf_s=scaled(DEAF_S) / 2)
            if not first.done():
                first.set_result({"node": member.node, **evidence})

        async with Nursery() as tasks:
            for member in self._members:
                tasks.start(watch(member), name=f"observe node {member.node}")
            await first
        return first.result()

    async def look_again(self, on: Injection) -> None:
        """At each: one that has not shown it yet has nothing that could have been taken back."""
        for member in self._members:
            await self._fault.look_again(member)

    async def heal(self, on: Injection) -> None:
        """Every member, whatever happens at another; the first failure is raised at the end."""
        failures: list[BaseException] = []
        for member in self._members:
            try:
                await awaited_without_power(partial(self._fault.heal, member), deaf_s=scaled(DEAF_S))
            except DeafError:  # all of their time is over
                raise
            except (Exception, SystemExit, GivenUp) as failed:  # noqa: BLE001 - a plugin's fault may raise anything
                failures.append(failed)
        if failures:
            raise failures[0]

    def within_s(self, on: Injection) -> float:
        return max(self._fault.within_s(member) for member in self._members)


class AtPoint:
    """A fault on a node that stands at a crash point: once it is injected, and `still_us` later, the node goes on as far as
    it still can."""

    def __init__(self, fault: Playable, still_us: int) -> None:
        self._fault, self._still_us = fault, still_us
        self.observe, self.within_s = fault.observe, fault.within_s
        self.look_again, self.heal = fault.look_again, fault.heal

    async def inject(self, on: Injection) -> None:
        try:
            await self._fault.inject(on)
            await on.clock.sleep_us(self._still_us)
        finally:
            await on.cluster.capability(CRASH_POINTS).thaw(on.node)


class Noop:
    """Takes the place of a fault's inject (`--noop-fault`): the test of observation."""

    def __init__(self, fault: Playable) -> None:
        self._fault = fault
        self.observe, self.within_s, self.look_again = fault.observe, fault.within_s, fault.look_again

    async def inject(self, on: Injection) -> None:
        """Nothing happens, but whoever stands at a crash point goes on."""
        if isinstance(self._fault, AtPoint):
            await on.cluster.capability(CRASH_POINTS).thaw(on.node)

    async def heal(self, on: Injection) -> None:
        """Nothing has happened."""
