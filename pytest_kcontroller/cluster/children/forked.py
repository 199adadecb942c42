"""Starts our own Python programs as forks of one process that has imported them (fork_server.py): one per owner.

Only where a fork is what a new process would be: on Linux, with the environment, the umask and the limits that the fork
server itself has got, but for what only our code and pytest read. With others there is another fork server.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_kcontroller.cluster.children.fork_server import HEADER

MODULE = "pytest_kcontroller.cluster.children.fork_server"
VARIABLE = "KCONTROLLER_FORKS"
"""`0`: each program is started by itself."""
OURS = ("KC_", "KCONTROLLER_", "PYTEST_")
"""So begin the names of variables that only our code and pytest read: no other code does, at its start or later."""
ROOM = " " * 4096
"""A command line that is long enough for those of the forks."""
SEND_S = 5.0

_lock = threading.Lock()
_servers: list[_ForkServer] = []
"""The one in use, if there is one."""


def fork(
    command: Sequence[str | Path],
    *,
    owner: int,
    status: int,
    log: int,
    cwd: Path | None,
    env: Mapping[str, str],
    cleanup: Sequence[Path],
) -> bool:
    """Asks for `command` (sys.executable, -m, MODULE, ...) under a supervisor with these descriptors and this whole
    environment. False: there cannot be a fork server here. That it was asked says nothing yet: it may end first."""
    if not _possible(env):
        return False
    with _lock, suppress(OSError):
        for _ in range(2):  # one that has ended, or was stopped, is replaced
            server = _server(env)
            request = {
                "command": [*map(str, command)],
                "environment": server.different(env),
                "cwd": str(Path.cwd() if cwd is None else cwd),
                "cleanup": [*map(str, cleanup)],
            }
            if server.send(json.dumps(request).encode(), [owner, status, log]):
                return True
            server.close()
            _servers.clear()
    return False


def expect(env: Mapping[str, str]) -> None:
    """Programs of ours will be started soon: what they are made of is imported meanwhile."""
    if _possible(env):
        with _lock, suppress(OSError):
            _server(env)


def forget() -> None:
    """The one in use has not done what it was asked for: the next program gets another."""
    with _lock:
        for server in _servers:
            server.close()
        _servers.clear()


def _possible(env: Mapping[str, str]) -> bool:
    return sys.platform == "linux" and env.get(VARIABLE) != "0"


def _server(env: Mapping[str, str]) -> _ForkServer:
    if _servers and not _servers[0].is_for(env):
        _servers.pop().close()
    if not _servers:
        _servers.append(_ForkServer(env))
    return _servers[0]


class _ForkServer:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._owner, self._env, self._inherited = os.getpid(), dict(env), _inherited()
        self._requests, theirs = socket.socketpair()
        self._requests.settimeout(SEND_S)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno()), ROOM],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # what cannot be imported is said by the program that needs it
                cwd="/",
                env=self._env,
                pass_fds=(theirs.fileno(),),
                process_group=0,
            )
        atexit.register(self.close)

    def is_for(self, env: Mapping[str, str]) -> bool:
        same = _started_with(env) == _started_with(self._env) and _inherited() == self._inherited
        return os.getpid() == self._owner and same

    def different(self, env: Mapping[str, str]) -> dict[str, str | None]:
        """None: it is not set."""
        names = sorted({*env, *self._env})
        return {name: env.get(name) for name in names if env.get(name) != self._env.get(name)}

    def send(self, request: bytes, descriptors: list[int]) -> bool:
        try:
            socket.send_fds(self._requests, [len(request).to_bytes(HEADER)], descriptors)
            self._requests.sendall(request)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Its forks go on. Idempotent."""
        self._requests.close()
        if os.getpid() != self._owner:  # a fork of its owner has a copy of this object, and no children
            self._process.returncode = 0
            return
        atexit.unregister(self.close)
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()


def _started_with(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if not name.startswith(OURS)}


def _inherited() -> object:
    """What a process that we start has from us besides: the umask, which can only be read there without setting it, and the
    limits (setrlimit)."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    umask = next((line for line in status.splitlines() if line.startswith("Umask:")), "")
    return umask, [resource.getrlimit(limit) for limit in _LIMITS]


_LIMITS = sorted(value for name, value in vars(resource).items() if name.startswith("RLIMIT_"))
