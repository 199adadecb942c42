"""Forks our own Python programs: `python -m [this module] FD ROOM`, which forked.py starts and talks to.

To import what a node is made of takes ten times as long as all the rest of its start. So this process imports it once, and
each program is a fork of it: the same code, under a supervisor of its own as ever (supervisor.py), with arguments,
environment, directory, signals and standard streams of a program that was started by `python -m MODULE ...`.

FD is a socket. A request is eight bytes with the length of a JSON object (`command`, `environment`: what differs from ours,
`cwd`, `cleanup`), which follow, and three descriptors: OWNER_FD, STATUS_FD and the log. Nothing is answered: the supervisor
tells STATUS_FD. At end of file this process ends; what it has forked does not depend on it.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_kcontroller.cluster.children.supervisor import supervise

IMPORTED = (
    "pytest_kcontroller.node.process",
    "kcontroller_plugins",
    "pytest_kcontroller.cluster.zookeeper.relay",
    "pytest_kcontroller.cluster.zookeeper.handshake",
    "pytest_kcontroller.cluster.toxiproxy.api",
)
"""What the programs are made of. One that cannot be imported here says so in its own log."""
HEADER = 8
DESCRIPTORS = 3


def main(fd: int) -> None:
    """Returns at end of file. In a program it returns as the program's own main module does, or raises."""
    with socket.socket(fileno=fd) as requests:
        for module in IMPORTED:
            with contextlib.suppress(Exception):
                importlib.import_module(module)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors: the kernel does
        gc.collect()
        gc.freeze()  # pages that no program writes to stay shared
        request = _next_forked(requests)
    if request is not None:
        _supervise(*request)


def _next_forked(requests: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Forks one after the other: None in this process, once nobody asks any more; its request in each fork."""
    for request, descriptors in _received(requests):
        if os.fork() == 0:
            return request, descriptors
        for descriptor in descriptors:
            os.close(descriptor)
    return None


def _received(requests: socket.socket) -> Iterator[tuple[dict[str, Any], list[int]]]:
    while True:
        header, ancillary, _, _ = requests.recvmsg(HEADER, socket.CMSG_SPACE(DESCRIPTORS * array.array("i").itemsize))
        if not header:
            return
        descriptors = array.array("i")
        for _, _, data in ancillary:
            descriptors.frombytes(data)
        header += _exactly(requests, HEADER - len(header))
        yield json.loads(_exactly(requests, int.from_bytes(header))), list(descriptors)


def _exactly(requests: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        if not (part := requests.recv(length)):
            raise EOFError("the owner ended in the middle of a request")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _supervise(request: dict[str, Any], descriptors: list[int]) -> None:
    """In a fork: becomes the supervisor, and in a fork of that the program."""
    owner, status, log = descriptors
    os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.chdir(request["cwd"])
    for name, value in request["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    command = request["command"]
    _show(["supervisor.py", *command])
    supervise(owner, status, request["cleanup"], lambda: _run(command))


def _run(command: list[str]) -> None:
    """`python -m MODULE ...` from here on: what Python itself does at its start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    _show(command)
    _, _, module, *arguments = command
    sys.argv[1:] = arguments
    sys.orig_argv[:] = command
    if not sys.flags.safe_path:
        sys.path[0] = str(Path.cwd())
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


def _show(command: list[str]) -> None:
    """As the command line of this process, for `ps` and whoever else lists processes; where it has room (ROOM)."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()  # from the state (field 3) on
        begin, end = int(fields[45]), int(fields[46])  # arg_start and arg_end
        line = b"\0".join(map(os.fsencode, command))[: end - begin - 1]
        ctypes.memmove(begin, line.ljust(end - begin, b"\0"), end - begin)


if __name__ == "__main__":
    main(int(sys.argv[1]))
