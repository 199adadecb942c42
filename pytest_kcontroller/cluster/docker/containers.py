"""Containers that end with their owner, and the engine that they run in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from pytest_kcontroller.cluster.children.processes import VARIABLE, host, start_guard
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError
from pytest_kcontroller.model.cluster import Address

SESSION_LABEL = "kcontroller.session"
"""On every container that we make: the owner's session id."""
CLUSTER_LABEL = "kcontroller.cluster"
"""On what belongs to a cluster whose nodes are containers: the name of its network."""
HOST_LABEL = "kcontroller.host"
"""Where that session id means something: other machines and other process namespaces may share an engine."""
SPEC_VARIABLE = "KCONTROLLER_CONTAINER"
"""What container_process is to run, as JSON. No argument: all users of a machine can read those, and `environment` may have
secrets."""
DISK_MB = 8
"""Of a volume that is a disk: what a node of ours writes is far from it, and to fill it is a matter of milliseconds."""
STOP_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """What to run. `port` is the container's (0: none), published on the loopback port `published`, or on a free one;
    `more_ports` are published too. With `host_network` the container has the network of this machine, and itself listens
    there; with `network` it is in that one, as `ip`. `volumes`: path here -> path there; `disks`: name of a volume -> path
    there, a file system of DISK_MB in memory, which is made if it is not there, is empty again when no container runs that
    has it, and goes with the last of these; `cleanup`: directories to remove if the owner dies; `command`: in place of the
    image's own; `user`: UID:GID, which `volumes` belong to already; `init`: its first process is the engine's, which passes
    signals on; `named_by`: what a person says to have another image, if anything."""

    name: str
    image: str
    named_by: str = ""
    port: int = 0
    published: int | None = None
    more_ports: tuple[int, ...] = ()
    host_network: bool = False
    network: str = ""
    ip: str = ""
    user: str = ""
    init: bool = False
    directory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    disks: Mapping[str, str] = field(default_factory=dict)
    cleanup: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def by_hand(self) -> str:
        """The same in a shell, but for a network of ours: that is gone when somebody reads this."""
        words = ["docker", "run", "--rm"]
        if self.host_network:
            words += ["--network", "host"]
        elif self.port:
            words += ["--publish", f"127.0.0.1:{self.published or ''}:{self.port}"]
        words += ["--user", self.user] if self.user else []
        words += ["--workdir", self.directory] if self.directory else []
        words += [word for key, value in self.environment.items() for word in ("--env", f"{key}={value}")]
        return shlex.join([*words, self.image, *self.command])


@contextlib.contextmanager
def engine() -> Iterator[Any]:
    """A `docker.DockerClient` whose engine has answered. Raises MissingExtraError, EnvironmentFailure."""
    try:
        import docker
    except ImportError as missing:
        raise MissingExtraError("a container", "docker") from missing
    from docker.errors import DockerException
    from docker.utils import parse_host

    url = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    try:
        url = str(parse_host(url))
        if url.startswith("http+unix://"):  # docker leaves its socket open where nobody listens
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(url.removeprefix("http+unix://"))
        client = docker.from_env(timeout=60)
    except (DockerException, OSError) as unreachable:
        raise EnvironmentFailure(
            f"no Docker engine answers: {unreachable}",
            where=url,
            hint="start it (dockerd), let this user use it, or take what needs no container: the embedded ZooKeeper, and "
            "nodes that are processes",
        ) from None
    with contextlib.closing(client):
        yield client


def labels(cluster: str = "") -> dict[str, str]:
    """Of what this process makes for its owner in the engine."""
    ours = {SESSION_LABEL: os.environ[VARIABLE], HOST_LABEL: host()}
    return ours | ({CLUSTER_LABEL: cluster} if cluster else {})


class Contained:
    """One running container, from its owner's side; container_process is the other. Made by `start`, ended by `stop`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, owner_pipe: int) -> None:
        self.name = name
        self.address = Address("127.0.0.1", 0)
        self.published: dict[int, int] = {}
        """Its further ports -> where they are on this machine's loopback."""
        self.pid: int | None = None
        """Of its first process, as this machine sees it, once it runs."""
        self.phase = "its process starts"
        self.error: tuple[str, str] | None = None
        """What went wrong, and what to do."""
        self.returncode: int | None = None
        """The container's own status, once it has ended."""
        self._process, self._owner_pipe = process, owner_pipe
        self._ended: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @classmethod
    async def start(cls, spec: ContainerSpec, *, log: Path, output: Path | None = None) -> Self:
        """The container's output is appended to `log`, what it prints on stdout to `output`, if there is one. Returns at
        once: see `wait_running`."""
        process, write, reader = await start_guard(
            f"the container {spec.name}",
            lambda read, status: [
                *(sys.executable, "-m", f"{__package__}.container_process"),
                *(str(read), str(status)),
            ],
            log=log,
            output=output,
            env={SPEC_VARIABLE: json.dumps(asdict(spec))},
        )
        contained = cls(spec.name, process, write)
        contained._ended = asyncio.create_task(contained._listen(reader), name=f"container {spec.name}")
        return contained

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            report = json.loads(line)
            self.phase = report.get("phase", self.phase)
            if "error" in report:
                self.error = report["error"], report["hint"]
            if "pid" in report:
                self.pid, self.address = report["pid"], Address("127.0.0.1", report["port"])
                self.published = dict(report["published"])
            self.returncode = report.get("status", self.returncode)
            self._changed.set()
        await self._process.wait()
        if self.returncode is None and self.error is None:
            self.error = f"the process that looks after {self.name} ended", ""
        self._changed.set()

    async def wait_running(self) -> None:
        """Until it runs, or has ended, or `error` says why it cannot. Pulling its image can take minutes."""
        await self._until(lambda: self.pid is not None)

    async def wait_ended(self) -> int | None:
        """The container's status, None if it never ran."""
        await self._until(lambda: False)
        return self.returncode

    async def _until(self, enough: Callable[[], bool]) -> None:
        while self.returncode is None and self.error is None and not enough():
            self._changed.clear()
            await self._changed.wait()

    async def signal(self, number: signal.Signals) -> None:
        """To its process; does nothing once it has ended. Raises EnvironmentFailure: the engine refuses."""
        await asyncio.get_running_loop().run_in_executor(None, _signal, self.name, number)

    async def stop(self) -> None:
        """Ends and removes the container. Idempotent; goes on to the end when cancelled.

        Raises EnvironmentFailure if the engine did not do it.
        """
        before = self.error
        if self._owner_pipe >= 0:
            with contextlib.suppress(BrokenPipeError):  # it has just ended by itself
                os.write(self._owner_pipe, b"t")
            os.close(self._owner_pipe)
            self._owner_pipe = -1
        assert self._ended is not None
        await asyncio.shield(self._ended)
        if self.error is not None and before is None:
            raise EnvironmentFailure(
                f"the container {self.name} may be left: {self.error[0]}", hint="kcontroller gc removes it"
            )


def _signal(name: str, number: signal.Signals) -> None:
    from docker.errors import APIError

    try:
        with engine() as client:
            client.containers.get(name).kill(number.name)
    except APIError as refused:
        if refused.status_code not in (404, 409):  # it is gone, or does not run
            what = f"the container cannot be sent {number.name}: {refused.explanation}"
            raise EnvironmentFailure(what, where=name) from None
