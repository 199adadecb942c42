"""What dead owners left in the engine: each kind of thing is found by its label, and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.cluster.children.processes import SESSION, host, owner_lives
from pytest_kcontroller.cluster.docker.containers import HOST_LABEL, SESSION_LABEL, engine
from pytest_kcontroller.errors import EnvironmentFailure

OURS = {"label": SESSION_LABEL}


@dataclass(frozen=True, slots=True)
class Leftover:
    """A thing of ours; `owner_lives` False: nobody looks after it any more. Of another machine we cannot tell: True."""

    id: str
    name: str
    session: str
    owner_lives: bool


def leftover_containers() -> list[Leftover]:
    """Every container whose label has our form, running or not, by name. Raises as `engine` does."""
    with engine() as client:
        # the engine's own list, in one answer: docker's objects ask again for each, which may be gone by then
        return _ours((one["Names"][0].lstrip("/"), one) for one in client.api.containers(all=True, filters=OURS))


def leftover_networks() -> list[Leftover]:
    """Every network whose label has our form, by name. Raises as `engine` does."""
    with engine() as client:
        return _ours((one["Name"], one) for one in client.api.networks(filters=OURS))


def leftover_volumes() -> list[Leftover]:
    """Every volume whose label has our form, by name. Raises as `engine` does."""
    with engine() as client:
        found = client.api.volumes(filters=OURS)["Volumes"] or []
        return _ours((one["Name"], {"Id": one["Name"], **one}) for one in found)


def _ours(labelled: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Leftover]:
    found = []
    for name, one in labelled:
        session, made_on = one["Labels"][SESSION_LABEL], one["Labels"].get(HOST_LABEL)
        if SESSION.fullmatch(session):
            found.append(Leftover(one["Id"], name, session, made_on != host() or owner_lives(session)))
    return sorted(found, key=lambda leftover: leftover.name)


def remove_container(name: str) -> None:
    """Ends it if it runs; its anonymous volumes go too. One that is gone already is no error. Raises EnvironmentFailure."""
    _remove("container", name, lambda client: client.containers.get(name).remove(force=True, v=True))


def remove_network(name: str) -> None:
    """One that is gone already is no error. Raises EnvironmentFailure: somebody is in it."""
    _remove("network", name, lambda client: client.networks.get(name).remove())


def remove_volume(name: str) -> None:
    """One that is gone already is no error. Raises EnvironmentFailure: a container has it."""
    _remove("volume", name, lambda client: client.api.remove_volume(name))


def _remove(kind: str, name: str, remove: Callable[[Any], None]) -> None:
    from docker.errors import APIError, NotFound

    try:
        with engine() as client:
            remove(client)
    except NotFound:
        return
    except APIError as refused:
        raise EnvironmentFailure(f"the {kind} cannot be removed: {refused.explanation}", where=name) from None
