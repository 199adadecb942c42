"""What the faults on ZooKeeper's own servers share: which server, how it is looked at, and how it is mended.

What is done to a server is seen twice: by its process, as the operating system sees it, and by what it says to a client
that asks (the four-letter word srvr), which is how its clients fare.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import EVERYTHING, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import ZOOKEEPERS, ZooKeepers
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure

LEADER, FOLLOWER, ALL = "leader", "follower", "all"
LOOK_S = 0.5
LOOK_US = 50_000
ELECTION_S = 10.0
"""An election ends within this time, unscaled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnZooKeeper(Fault):
    """One on ZooKeeper's servers; `Injection.kept` has their numbers."""

    on_zookeeper = True
    ends_session = True
    needs = (ZOOKEEPERS,)
    claims = (EVERYTHING,)

    async def inject(self, on: Injection) -> None:
        """The numbers come first: what is done to one of them is taken back if it fails at another."""
        on.kept += await self.chosen(on)
        for server in on.kept:
            await self.strike(servers_of(on), server)

    @abstractmethod
    async def chosen(self, on: Injection) -> Sequence[int]:
        """Whom it hits. Raises EnvironmentFailure: there is no such now."""

    @abstractmethod
    async def strike(self, servers: ZooKeepers, server: int) -> None:
        """Does it to one of them."""

    async def observe(self, on: Injection) -> Evidence:
        while not on.kept or (seen := await self.seen(on)) is None:
            await on.clock.sleep_us(LOOK_US)
        return {"servers": list(on.kept), "t_us": on.clock.now_us(), **seen}

    @abstractmethod
    async def seen(self, on: Injection) -> Evidence | None:
        """What there is to be seen of it; None: not yet."""

    async def heal(self, on: Injection) -> None:
        if on.kept:
            await servers_of(on).mend_zookeeper(on.kept)

    def within_s(self, on: Injection) -> float:
        return ELECTION_S


def servers_of(on: Injection) -> ZooKeepers:
    return on.cluster.capability(ZOOKEEPERS)


async def modes(on: Injection) -> dict[int, str | None]:
    """What each server says to a client."""
    return dict(await servers_of(on).zookeeper_modes(LOOK_S))


async def who_is(on: Injection, wanted: str) -> list[int]:
    """The servers that are it, once there are some: the one that there is, all, or those that say so.

    Raises EnvironmentFailure."""
    deadline_us = on.clock.now_us() + round(scaled(ELECTION_S) * 1e6)
    while True:
        said = await modes(on)
        found = list(said) if wanted == ALL or len(said) == 1 else [n for n, mode in said.items() if mode == wanted]
        if found:
            return found
        if on.clock.now_us() > deadline_us:
            raise EnvironmentFailure(f"no server of ZooKeeper says that it is the {wanted}: {told(said)}")
        await on.clock.sleep_us(LOOK_US)


def told(said: dict[int, str | None]) -> str:
    return ", ".join(f"{server}: {mode or 'serves nobody'}" for server, mode in said.items())


def must_have_ended(on: Injection) -> None:
    """Raises EnvironmentFailure for the first that runs again."""
    for server in on.kept:
        if (state := servers_of(on).zookeeper_state(server)) is not None:
            raise EnvironmentFailure(f"ZooKeeper's server {server}, which had ended, runs again (its state is {state})")


def have_ended(on: Injection) -> bool:
    return all(servers_of(on).zookeeper_state(server) is None for server in on.kept)
