"""The toxiproxy server that proxies are on: one that runs already, or one of our own, whose end is its owner's.

Which one is said as in proxy_choice.py.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import secrets
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.children.processes import Supervised, session_id
from pytest_kcontroller.cluster.docker.contained_process import ContainedProcess
from pytest_kcontroller.cluster.docker.containers import ContainerSpec
from pytest_kcontroller.cluster.process.proxy_choice import BINARY, OPTION, Choice, chosen, parse_choice
from pytest_kcontroller.cluster.process.toxiproxy_client import NoToxiproxyError, ToxiproxyClient
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError, StartError
from pytest_kcontroller.model.cluster import Address

START_S = 15.0
POLL_S = 0.02
VERSION_S = 30.0
"""Not stretched: `kcontroller doctor` asks also where nothing can be stretched."""
T = TypeVar("T")


class Serving(Protocol):
    """A server of our own: a process, or a container."""

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int:
        """Its status, once it has ended."""
        ...

    async def stop(self, grace_s: float) -> int:
        """Idempotent."""
        ...


def lacking(choice: Choice, *besides: str) -> list[str]:
    """What is not installed of the packages that it needs, and who talks to it, and of these."""
    needed = ("requests", *(("aiohttp",) if choice.kind == "embedded" else ()), *besides)
    return [package for package in needed if importlib.util.find_spec(package) is None]


def check(choice: Choice, feature: str = "the network of a cluster", *besides: str) -> None:
    """Raises MissingExtraError."""
    if lacking(choice, *besides):
        raise MissingExtraError(feature, "toxiproxy")


def versions(choice: Choice) -> dict[str, str]:
    """Which server it is, for run.json; a version is what the server itself says."""
    if choice.kind == "path":
        return {"toxiproxy": f"{BINARY} {version_of(choice.what)} at {choice.what}"}
    if choice.kind == "container":
        return {"toxiproxy": f"container of {choice.what}"}
    if choice.kind == "embedded":
        return {"toxiproxy": "embedded"}
    parts = urlsplit(choice.what)
    place = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)  # without a password
    client = ToxiproxyClient(choice.what)
    try:
        return {"toxiproxy": f"{client.call('GET', '/version')['version']} at {place}"}
    except EnvironmentFailure:
        return {"toxiproxy": f"at {place}"}  # the start says why
    finally:
        client.close()


def version_of(binary: str) -> str:
    try:
        done = subprocess.run([binary, "-version"], capture_output=True, text=True, timeout=VERSION_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "which does not run"
    found = re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr)
    return found.group() if found else "of unknown version"


async def find_server(log: Path, seed: int) -> tuple[Serving | None, str]:
    """The server that was chosen, and its URL; None: somebody else's. Raises UsageError, StartError, MissingExtraError."""
    choice = chosen()
    check(choice)
    return (None, choice.what) if choice.kind == "url" else await start_server(log, seed, choice)


async def start_server(log: Path, seed: int, choice: Choice | None = None) -> tuple[Serving, str]:
    """A server of our own and its URL. The embedded one draws from `seed`: the real one's `-seed` has no effect. Raises
    StartError."""
    choice = choice or parse_choice("")
    if choice.kind == "container":
        return await _start_container(choice.what, log)
    if choice.kind == "path":
        port = _free_port()
        command = [choice.what, "-host", "127.0.0.1", "-port", str(port)]
    else:
        port = 0
        command = [sys.executable, "-m", "pytest_kcontroller.cluster.toxiproxy", "--port", "0", "--seed", str(seed)]
    process = await Supervised.start("toxiproxy", command, log=log, is_ours=choice.kind == "embedded")
    url = await answering(process, process.pid, Address("127.0.0.1", port), log, shlex.join(command))
    return process, url


async def _start_container(image: str, log: Path) -> tuple[Serving, str]:
    """It listens on this machine's loopback, as its proxies do: a port that is published is not what they could be told."""
    port = _free_port()
    spec = ContainerSpec(
        name=f"kcontroller-toxiproxy-{session_id()}-{secrets.token_hex(4)}",
        image=image,
        named_by=OPTION,
        port=port,
        host_network=True,
        command=("-host", "127.0.0.1", "-port", str(port)),
    )
    server = await ContainedProcess.start("toxiproxy", spec, log=log)
    return server, await answering(server, server.pid, Address("127.0.0.1", port), log, spec.by_hand)


async def answering(server: Serving, pid: int | None, api: Address, log: Path, by_hand: str) -> str:
    """Its URL, once it answers; else it is ended. `api` with port 0: its log says where. Raises StartError."""
    patience = Patience(scaled(START_S), pid)
    try:
        while patience.left_s:
            if server.returncode is not None:
                phase = f"it ended with status {server.returncode}"
                raise StartError("toxiproxy", phase=phase, seconds=patience.seconds, log=log, command=by_hand)
            if (url := await _ready(log, api)) is not None:
                return url
            await asyncio.sleep(POLL_S)
        raise StartError("toxiproxy", phase="no answer", seconds=patience.seconds, log=log, command=by_hand)
    except NoToxiproxyError as other:
        await server.stop(0)
        how = f"another one: {OPTION}"
        raise StartError(
            "toxiproxy", phase=other.what, seconds=patience.seconds, log=log, command=by_hand, hint=how
        ) from None
    except BaseException:
        await server.stop(0)
        raise


async def _ready(log: Path, api: Address) -> str | None:
    """The URL once it answers: the embedded server prints its address, the real one is asked at its port. Raises
    NoToxiproxyError."""
    if not api.port:
        for line in log.read_text(errors="replace").splitlines():
            if line.startswith('{"ready"'):
                return f"http://{json.loads(line)['address']}"
        return None
    url = f"http://{api}"
    try:
        await in_thread(lambda: ToxiproxyClient(url).call("GET", "/version"))
    except NoToxiproxyError:
        raise
    except EnvironmentFailure:
        return None
    return url


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, work)
