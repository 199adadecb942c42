"""What ZooKeeper's four-letter words say, read: `cons`, `dump`, `wchc` (ZooKeeper's Administrator's Guide)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_kcontroller.model.cluster import Address

NOT_ALLOWED = "is not executed because it is not in the whitelist"
_SESSION = re.compile(r"0x([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection that has a session, as the server sees it."""

    peer: Address
    """The other end."""
    timeout_ms: int
    """Of its session, as negotiated."""


@dataclass(frozen=True, slots=True)
class Dump:
    """All sessions that live (one server of an ensemble that does not lead may know its own only), and their ephemerals."""

    sessions: frozenset[int]
    ephemerals: Mapping[int, tuple[str, ...]]


def read_connections(cons: str) -> dict[int, Connected]:
    """Session id -> its connection. One that is ending has no peer any more (`null`): it is left out."""
    found = {}
    for line in cons.splitlines():
        peer, _, rest = line.strip().lstrip("/").partition("[")
        fields = dict(part.split("=", 1) for part in rest.partition("(")[2].rstrip(")").split(",") if "=" in part)
        host, _, port = peer.rpartition(":")
        if "sid" in fields and "to" in fields and port.isdigit():
            found[int(fields["sid"], 16)] = Connected(Address(host, int(port)), int(fields["to"]))
    return found


def read_dump(dump: str) -> Dump:
    head, _, rest = dump.partition("ephemeral nodes dump:")
    sessions = {int(found, 16) for found in _SESSION.findall(head)}
    ephemerals = dict(_paths(rest.partition("Connections dump:")[0]))
    return Dump(frozenset(sessions | ephemerals.keys()), ephemerals)


def read_watches(wchc: str) -> dict[int, tuple[str, ...]]:
    """Session id -> the paths that it watches."""
    return dict(_paths(wchc))


def _paths(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Blocks of a session id, and below it paths after a tab."""
    session, paths = None, list[str]()
    for line in [*text.splitlines(), ""]:
        if session is not None and line.startswith("\t"):
            paths.append(line[1:])
            continue
        if session is not None:
            yield session, tuple(sorted(paths))
        found = re.fullmatch(r"0x([0-9a-f]+):?", line)
        session, paths = (int(found[1], 16) if found else None), []
