"""What the servers of a ZooKeeper say themselves: who is connected, which sessions live, what these have and watch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_kcontroller.cluster.zookeeper.access import Access
from pytest_kcontroller.cluster.zookeeper.server import four_letter_word
from pytest_kcontroller.cluster.zookeeper.words import (
    NOT_ALLOWED,
    Connected,
    Dump,
    read_connections,
    read_dump,
    read_watches,
)
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address


class WordNotAllowedError(EnvironmentFailure):
    """The server's configuration keeps it from us."""


@dataclass(frozen=True, slots=True)
class ServerView:
    """Of one server, or an ensemble. Everything raises WordNotAllowedError, and EnvironmentFailure if
    no server answers."""

    members: Sequence[Address]
    access: Access

    async def connections(self) -> dict[int, tuple[Address, Connected]]:
        """Session id -> the server that it is on, and its connection."""
        answers = await self._ask("cons")
        return {
            session: (member, connection)
            for member, cons in answers.items()
            for session, connection in read_connections(cons).items()
        }

    async def dump(self) -> Dump:
        """One that does not lead its ensemble may know less: what any of them knows counts."""
        dumps = [read_dump(answer) for answer in (await self._ask("dump")).values()]
        return Dump(
            frozenset[int]().union(*(dump.sessions for dump in dumps)),
            {session: paths for dump in dumps for session, paths in dump.ephemerals.items()},
        )

    async def watches(self) -> dict[int, tuple[str, ...]]:
        """Session id -> paths. Each server knows those of its own connections."""
        answers = (await self._ask("wchc")).values()
        return {session: paths for wchc in answers for session, paths in read_watches(wchc).items()}

    async def _ask(self, word: str) -> dict[Address, str]:
        """Of those that answer: a server of an ensemble may be down."""
        answers = {}
        for member in self.members:
            if answer := await four_letter_word(member, word, access=self.access):
                if NOT_ALLOWED in answer:
                    raise WordNotAllowedError(
                        f"ZooKeeper does not allow the four-letter word {word!r}",
                        where=str(member),
                        hint=f"add {word} to 4lw.commands.whitelist in its configuration",
                    )
                answers[member] = answer
        if not answers:
            where = ",".join(map(str, self.members))
            raise EnvironmentFailure(f"ZooKeeper does not answer the four-letter word {word!r}", where=where)
        return answers
