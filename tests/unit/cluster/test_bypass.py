"""Who goes round the proxies, by what ZooKeeper says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_kcontroller.cluster.proxied import bypass
from pytest_kcontroller.cluster.proxied.bypass import Watchman
from pytest_kcontroller.cluster.proxied.passing import Passed, Passing
from pytest_kcontroller.cluster.zookeeper.view import WordNotAllowedError
from pytest_kcontroller.cluster.zookeeper.words import Connected, Dump
from pytest_kcontroller.errors import BypassError
from pytest_kcontroller.model.cluster import Address

SERVER, OURS, STRAIGHT = (Address("127.0.0.1", port) for port in (1, 2, 3))
SESSION = 0xA


class Words:
    """What ZooKeeper answers, look by look; the last for ever: who is connected, and whether the session lives."""

    members = (SERVER,)

    def __init__(self, answers: Sequence[tuple[Address | None, bool | None]]) -> None:
        self._answers = list(answers)

    async def connections(self) -> dict[int, tuple[Address, Connected]]:
        peer, self.lives = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return {} if peer is None else {SESSION: (SERVER, Connected(peer, 3000))}

    async def dump(self) -> Dump:
        if self.lives is None:
            raise WordNotAllowedError("dump")
        return Dump(frozenset([SESSION] if self.lives else []), {})


@pytest.mark.parametrize(
    ("answers", "goes_round"),
    [
        ([(OURS, True)], False),
        ([(STRAIGHT, True)], True),
        ([(STRAIGHT, False), (STRAIGHT, False), (None, False)], False),  # it was closed, and is still listed
        ([(STRAIGHT, None), (None, None)], False),
        ([(STRAIGHT, False)], True),  # a server that does not lead may not know all
        ([(STRAIGHT, None)], True),
    ],
)
def test_a_session_that_has_ended_is_listed_for_a_moment(
    answers: list[tuple[Address | None, bool | None]], goes_round: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bypass, "LOOK_S", 0)
    passing = Passing()
    passing.reach(OURS)
    passing._sessions[SESSION] = Passed(SESSION, b"", 3000, SERVER)
    words: Any = Words(answers)
    check = Watchman(passing, words, "/kc", (), tuple).check("it is cut")
    if goes_round:
        with pytest.raises(BypassError, match="session 0xa, which came through the proxy, is connected to"):
            asyncio.run(check)
    else:
        asyncio.run(check)
