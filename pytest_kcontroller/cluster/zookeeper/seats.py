"""Where servers listen: ports that stay theirs from one start to the next, and the places of an ensemble."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

INIT_TICKS, SYNC_TICKS = 50, 10
"""A follower may take so many ticks to begin, and be so many behind; then it, or its leader, counts as gone. A leader that
stands still is given up after SYNC_TICKS."""


class HeldPort:
    """A port that is free on every address of the loopback, as the proxies of links to one node listen on several. Until
    `release` the system gives it nobody else on any of them: neither to who asks for any port, with SO_REUSEADDR or without,
    nor as the near end of a connection. A server with SO_REUSEADDR that asks for this one, as each of Java's is on Linux,
    may still listen on it."""

    def __init__(self) -> None:
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("", 0))
        self.number: int = self._held.getsockname()[1]

    def release(self) -> None:
        """Idempotent."""
        self._held.close()


PEER_PORTS = (2888, 3888)
"""Of a server that has an address of its own: ZooKeeper's usual ones."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One server's place in an ensemble. `ports`: of each, in the order of their numbers, that for followers and that for
    elections; where each has an address of its own, that is in `hosts` instead."""

    number: int
    """From 1, as the file `myid` has it."""
    ports: tuple[tuple[HeldPort, HeldPort], ...]
    hosts: tuple[str, ...] = ()

    @classmethod
    def on(cls, hosts: Sequence[str]) -> Sequence[Self]:
        """All of an ensemble, one on each of these."""
        return [cls(number, (), tuple(hosts)) for number in range(1, len(hosts) + 1)]

    @classmethod
    def of(cls, count: int) -> Sequence[Self]:
        """All of an ensemble of so many."""
        ports = tuple((HeldPort(), HeldPort()) for _ in range(count))
        return [cls(number, ports) for number in range(1, count + 1)]

    @property
    def peers(self) -> list[str]:
        """`server.N=HOST:PORT:PORT` of all."""
        if self.hosts:
            quorum, election = PEER_PORTS
            return [f"server.{number}={host}:{quorum}:{election}" for number, host in enumerate(self.hosts, 1)]
        return [
            f"server.{number}=127.0.0.1:{quorum.number}:{election.number}"
            for number, (quorum, election) in enumerate(self.ports, 1)
        ]

    @property
    def configuration(self) -> str:
        """What one of an ensemble has in its zoo.cfg besides."""
        return "\n".join([f"initLimit={INIT_TICKS}", f"syncLimit={SYNC_TICKS}", *self.peers, ""])

    def release(self) -> None:
        """The ports of all: nobody listens there any more."""
        for pair in self.ports:
            for port in pair:
                port.release()
