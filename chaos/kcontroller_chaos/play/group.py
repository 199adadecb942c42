"""One fault on several nodes (`target = "others"`): injected and healed on each, observed when one of them shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kcontroller_chaos.injection import Evidence, FaultWork, Injection
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.runtime.nursery import Nursery


class Group:
    """A FaultWork for all of `members`; the Injection that it is called with stands for the whole."""

    def __init__(self, work: FaultWork, members: Sequence[Injection]) -> None:
        self._work, self._members = work, members
        self.ends_session, self.claims, self.may_miss = work.ends_session, work.claims, work.may_miss

    async def inject(self, on: Injection) -> None:
        for member in self._members:
            await self._work.inject(member)

    async def observe(self, on: Injection) -> Evidence:
        first: asyncio.Future[Evidence] = asyncio.get_running_loop().create_future()

        async def watch(member: Injection) -> None:
            evidence = await self._work.observe(member)
            if not first.done():
                first.set_result({"node": member.node, **evidence})

        async with Nursery() as tasks:
            for member in self._members:
                tasks.start(watch(member), name=f"observe node {member.node}")
            await first
        return first.result()

    async def heal(self, on: Injection) -> None:
        """Every member, whatever happens at another; the first failure is raised at the end."""
        failures: list[KControllerError] = []
        for member in self._members:
            try:
                await self._work.heal(member)
            except KControllerError as failed:
                failures.append(failed)
        if failures:
            raise failures[0]

    def within_s(self, on: Injection) -> float:
        return max(self._work.within_s(member) for member in self._members)
