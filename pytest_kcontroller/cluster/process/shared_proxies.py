"""Proxies of ours on a server that others use too: their names say whose they are, so that gc knows when nobody's."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_kcontroller.cluster.children.processes import host, owner_lives, session_id

NAME = re.compile(r"kcontroller-(\d+-\d+)-([0-9a-f]{8})-\d+(-[0-9a-z]+){3}")
"""Session, machine, number of the cluster in its session, link."""


class Client(Protocol):
    def call(self, method: str, path: str, body: object | None = None) -> Any: ...


def prefix(number: int) -> str:
    """Of the names of all proxies of one cluster of this process."""
    return f"kcontroller-{session_id()}-{_machine()}-{number}-"


def _machine() -> str:
    return hashlib.sha256(host().encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class LeftoverProxy:
    """A proxy of ours; `owner_lives` False: nobody looks after it. Of another machine we cannot tell: True."""

    name: str
    session: str
    owner_lives: bool
    toxics: int


def leftover_proxies(client: Client) -> list[LeftoverProxy]:
    """Every proxy with a name of our form, by name. Raises as the client does."""
    found = []
    for name, proxy in sorted(client.call("GET", "/proxies").items()):
        if (ours := NAME.fullmatch(name)) is not None:
            session, machine = ours.group(1, 2)
            lives = machine != _machine() or owner_lives(session)
            found.append(LeftoverProxy(name, session, lives, len(proxy["toxics"])))
    return found
