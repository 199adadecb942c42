"""What sessions that have ended left here, in Docker, and on a named toxiproxy: a finder for each kind, in `KINDS`.

A finder gives everything of ours that it sees, also what a living owner has (`kept` says so), and raises EnvironmentFailure
if it cannot look.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from pytest_kcontroller.cluster.children.directories import owner_of_temporary
from pytest_kcontroller.cluster.children.processes import VARIABLE, Leftover, leftovers, owner_lives
from pytest_kcontroller.cluster.docker.leftovers import Leftover as LeftInEngine
from pytest_kcontroller.cluster.docker.leftovers import (
    leftover_containers,
    leftover_networks,
    leftover_volumes,
    remove_container,
    remove_network,
    remove_volume,
)
from pytest_kcontroller.cluster.process.node import short_temporary
from pytest_kcontroller.cluster.process.proxy_choice import CHOICE, URL, chosen
from pytest_kcontroller.cluster.process.shared_proxies import leftover_proxies
from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError

NAMED_BY = {
    **dict.fromkeys(("containers", "networks", "volumes"), ("DOCKER_HOST",)),
    "proxies": (CHOICE, URL),
}
"""Kinds that are somewhere else when one of these variables names the place."""
END_S, END_TRIES = 5.0, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """`kept` says why it must not be touched; empty: nobody looks after it. `remove` returns why it could not be removed."""

    kind: str
    name: str
    session: str
    detail: str
    kept: str
    remove: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Found:
    """`problem` is why this kind could not be looked at."""

    kind: str
    items: tuple[Item, ...]
    problem: str = ""


def survey() -> list[Found]:
    """Every kind, in the order in which they are to be removed."""
    return [_find(kind, finder) for kind, finder in KINDS.items()]


def _find(kind: str, finder: Callable[[], list[Item]]) -> Found:
    try:
        return Found(kind, tuple(finder()))
    except (EnvironmentFailure, MissingExtraError) as unseen:
        return Found(kind, (), unseen.what)


def _processes() -> list[Item]:
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    return [
        Item(
            kind="process",
            name=str(left.pid),
            session=left.session,
            detail=left.command,
            kept=_why_kept(left),
            remove=partial(_end, left),
        )
        for left in leftovers()
        if left.pid not in own  # started from a shell of a dead session, we would end ourselves
    ]


def _why_kept(left: Leftover) -> str:
    if left.owner_lives:
        return _lives(left.session)
    if _namespace(left.pid) != _namespace(os.getpid()):
        return "it is in a container, where pids mean something else"
    return ""


def _namespace(pid: int) -> str:
    """Of pids; empty where there is no such thing, and for a process that has just ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def _end(left: Leftover) -> str:
    """SIGKILL, if this pid is still the process that was found: a pid can be given anew."""
    try:
        process = psutil.Process(left.pid)
        if process.environ().get(VARIABLE) != left.session:
            return ""
        process.kill()
        for _ in range(END_TRIES):
            if process.status() == psutil.STATUS_ZOMBIE:  # it has ended, and its parent has not asked how
                return ""
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(END_S / END_TRIES)
    except psutil.NoSuchProcess:
        return ""
    except psutil.AccessDenied as refused:
        return f"it could not be ended: {refused}"
    return f"it has not ended within {END_S:g} s after SIGKILL"


def _in_engine(kind: str, find: Callable[[], list[LeftInEngine]], remove: Callable[[str], None]) -> list[Item]:
    return [
        Item(
            kind=kind,
            name=left.name,
            session=left.session,
            detail="",
            kept="its owner lives, here or on another machine of this engine" if left.owner_lives else "",
            remove=partial(_removed, remove, left.id),
        )
        for left in find()
    ]


def _removed(remove: Callable[[str], None], name: str) -> str:
    try:
        remove(name)
    except EnvironmentFailure as refused:
        return refused.what
    return ""


def _proxies() -> list[Item]:
    """On the server that a variable names (proxy_server.py); one that a cluster started has ended with it."""
    if (choice := chosen()).kind != "url":
        return []
    url = choice.what
    with contextlib.closing(ToxiproxyClient(url)) as client:
        return [
            Item(
                kind="proxy",
                name=left.name,
                session=left.session,
                detail=f"on {url}, {left.toxics} toxics",
                kept="its owner lives, here or on another machine" if left.owner_lives else "",
                remove=partial(_remove_proxy, url, left.name),
            )
            for left in leftover_proxies(client)
        ]


def _remove_proxy(url: str, name: str) -> str:
    with contextlib.closing(ToxiproxyClient(url)) as client:
        try:
            if name in client.call("GET", "/proxies"):
                client.call("DELETE", f"/proxies/{name}")
        except EnvironmentFailure as refused:
            return refused.what
    return ""


def _directories() -> list[Item]:
    items = []
    for place in sorted({Path(tempfile.gettempdir()), short_temporary()}):
        try:
            entries = [entry for entry in os.scandir(place) if owner_of_temporary(entry.name) and _is_ours(entry)]
        except OSError as refused:
            raise EnvironmentFailure(f"{place}: {refused.strerror}") from None
        items += [_directory(place / name) for name in sorted(entry.name for entry in entries)]
    return items


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Not a link, and of this user. One that its owner has removed meanwhile is nobody's."""
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    except FileNotFoundError:
        return False


def _directory(path: Path) -> Item:
    session = owner_of_temporary(path.name) or ""
    return Item(
        kind="directory",
        name=str(path),
        session=session,
        detail="",
        kept=_lives(session) if owner_lives(session) else "",
        remove=partial(_remove, path),
    )


def _remove(path: Path) -> str:
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return ""
    except OSError as refused:
        return f"it was not removed: {refused}"
    return ""


def _lives(session: str) -> str:
    return f"its owner lives: pid {session.partition('-')[0]}"


KINDS: dict[str, Callable[[], list[Item]]] = {
    "processes": _processes,
    "containers": partial(_in_engine, "container", leftover_containers, remove_container),
    "networks": partial(_in_engine, "network", leftover_networks, remove_network),
    "volumes": partial(_in_engine, "volume", leftover_volumes, remove_volume),
    "proxies": _proxies,
    "directories": _directories,
}
"""What still runs may write into a directory: directories last. Another kind of thing needs a finder here."""
