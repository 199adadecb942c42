"""Backends: what a cluster can be made of. The table is the only place that knows their names.

Whoever must treat them differently asks for a property (`simulated`, `lacks`), never for a name. A further backend is a
module here (see BackendModule) and an entry of the table: options, markers, checks, runs and fixtures take it from there.
Only the standard library is imported here, because a command line that prints its help, and a foreign project's pytest,
read this too.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from pytest_kcontroller.cluster.capabilities import (
    CLIENTS,
    CLOCKS,
    CONTAINERS,
    CRASH_POINTS,
    HOLDS,
    OWN_CLOSE,
    POWERS,
    REPORTS,
    SIZED_DISKS,
    ZOOKEEPER_BYTES,
    ZOOKEEPERS,
    Capability,
)
from pytest_kcontroller.cluster.contained import BASE_VARIABLE
from pytest_kcontroller.cluster.kafka import RELEASE_VARIABLE
from pytest_kcontroller.cluster.zookeeper import CONTAINER, PLACES
from pytest_kcontroller.errors import NotOnThisBackend, UsageError

if TYPE_CHECKING:
    from kcontroller_chaos.backends.run import BackendModule
    from kcontroller_chaos.campaign.file import Campaign


PLUGINS = ("plugins", "settings")
"""That what is chosen can be loaded, which every backend needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The facts that are known before anything of it is imported."""

    name: str
    help: str
    """What its clusters are made of, as a part of a sentence."""
    module: str
    """Where its runs are opened: a BackendModule."""
    simulated: bool = False
    """Its time is virtual: a seed is one history, runs are played side by side and hunted, nothing has a socket."""
    needs: tuple[str, ...] = PLUGINS
    """What must be on a machine, by the names of `kcontroller doctor`."""
    zookeepers: tuple[str, ...] = PLACES
    """Where its ZooKeeper may run (`--zookeeper`); empty: nowhere else."""
    lacks: tuple[Capability[object], ...] = ()
    programs: bool = False
    """Its nodes may be programs of a user's."""
    containers: bool = False
    """Its nodes are containers: the code is that of processes, and a start takes longer."""
    requirement: str | None = None
    """What `--kc-require` calls that of its needs which others have not."""
    chosen_by: Mapping[str, str] = field(default_factory=dict)
    """Of the versions in run.json those that the environment chooses: name -> variable."""
    unchosen: Mapping[str, str] = field(default_factory=dict)
    """Where that is what nobody chose, and goes with the Python that plays: name -> pattern."""

    @property
    def chosen(self) -> dict[str, str]:
        """The variables that choose such a version now: a line that is typed elsewhere needs them."""
        return {name: value for name in self.chosen_by.values() if (value := os.environ.get(name))}

    def load(self) -> BackendModule:
        return cast("BackendModule", importlib.import_module(self.module))

    def zookeeper_place(self, wanted: str) -> str:
        """Where its ZooKeeper runs if that is wanted: what has one place has that."""
        return self.zookeepers[0] if len(self.zookeepers) == 1 else wanted

    def runs_programs(self, *, in_image: bool) -> bool:
        return self.programs and self.containers is in_image

    def check_runs_programs(self, *, in_image: bool = False, where: str = "") -> None:
        """Raises NotOnThisBackend."""
        if self.runs_programs(in_image=in_image):
            return
        others = [each.name for each in BACKENDS if each.runs_programs(in_image=in_image)]
        hint = f"use the backend {' or '.join(others)}"
        if self.programs:
            kind = "is in no image" if self.containers else "is in an image"
            hint += ", or name the `image` that it is in" if self.containers else ", or leave `image` out"
            raise NotOnThisBackend(f"the backend {self.name} runs no program that {kind}", where=where, hint=hint)
        raise NotOnThisBackend(
            f"the backend {self.name} has no nodes that are programs of yours", where=where, hint=hint
        )

    def check_has(self, needed: Iterable[Capability[object]], *, where: str = "") -> None:
        """Raises NotOnThisBackend for the first that it lacks, with the backends that have it."""
        for capability in needed:
            if capability in self.lacks:
                others = [backend.name for backend in BACKENDS if capability not in backend.lacks]
                hint = f"use the backend {' or '.join(others)}" if others else "no backend has them"
                raise NotOnThisBackend(f"the backend {self.name} has no {capability}", where=where, hint=hint)


BACKENDS = (
    Backend(
        name="process",
        help="nodes, ZooKeeper and proxies as processes",
        module="kcontroller_chaos.backends.process",
        needs=("java", "zookeeper", "proxies", "loopback", "descriptors", "temporary", *PLUGINS),
        lacks=(CRASH_POINTS, SIZED_DISKS, POWERS, CONTAINERS),
        programs=True,
    ),
    Backend(
        name="sim",
        help="all of it in simulated time",
        module="kcontroller_chaos.backends.sim",
        simulated=True,
        zookeepers=(),
        lacks=(CLIENTS, ZOOKEEPERS, ZOOKEEPER_BYTES, CONTAINERS),
    ),
    Backend(
        name="kafka",
        help="brokers of Apache Kafka, ZooKeeper and proxies as processes",
        module="kcontroller_chaos.backends.kafka",
        needs=("java", "kafka", "zookeeper", "proxies", "loopback", "descriptors", "temporary", *PLUGINS),
        lacks=(HOLDS, CRASH_POINTS, REPORTS, OWN_CLOSE, SIZED_DISKS, POWERS, CLOCKS, CONTAINERS),
        requirement="kafka",
        chosen_by={"kafka": RELEASE_VARIABLE},
    ),
    Backend(
        name="docker",
        help="nodes, ZooKeeper and proxies in containers",
        module="kcontroller_chaos.backends.docker",
        needs=("docker client", "docker engine", "proxies", "temporary", *PLUGINS),
        zookeepers=(CONTAINER,),
        lacks=(CRASH_POINTS, POWERS),
        programs=True,
        containers=True,
        requirement="docker",
        chosen_by={"node base": BASE_VARIABLE},
        unchosen={"node base": r"python:\d+\.\d+-slim"},
    ),
)
NAMES = tuple(backend.name for backend in BACKENDS)
DEFAULT = BACKENDS[0].name
REAL = tuple(backend.name for backend in BACKENDS if not backend.simulated)
FOR_REAL = "@pytest.mark.kcontroller(backends=[{}])".format(", ".join(f'"{name}"' for name in REAL))
"""What a test says that needs sockets."""
HELP = "; ".join(f"{backend.name}: {backend.help}" for backend in BACKENDS)


def backend(name: str) -> Backend:
    """Raises UsageError."""
    for known in BACKENDS:
        if known.name == name:
            return known
    raise UsageError(f"there is no backend {name!r}", hint=f"one of {', '.join(NAMES)}")


def with_all(needed: Iterable[Capability[object]]) -> tuple[Backend, ...]:
    """Those that have everything that is needed, in the order of the table."""
    wanted = tuple(needed)
    return tuple(known for known in BACKENDS if not any(capability in known.lacks for capability in wanted))


def able(campaign: Campaign) -> tuple[Backend, ...]:
    """Those that can play it, in the order of the table."""
    program = campaign.program
    return tuple(
        known
        for known in with_all(campaign.needs)
        if program is None or known.runs_programs(in_image=bool(program.image))
    )


def first_able(campaign: Campaign) -> Backend:
    """The default, if none is: it says then what is missing."""
    return next(iter(able(campaign)), BACKENDS[0])


def simulated() -> Backend:
    """The one for hunts: so many runs as a machine can play, and each can be played again."""
    return next(known for known in BACKENDS if known.simulated)
