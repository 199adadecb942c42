"""`kcontroller` and `pytest` as processes of their own, without the second that each of them imports for.

Each program is a fork of a server that has done its imports (program_server.py), with the arguments, directory, environment
and streams that it would have as `python -m pytest ...` or `kcontroller ...`. For a test of the start itself (what is
imported, PYTHONHASHSEED, options of Python), or one that sends signals: subprocess.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.program_server import HEADER, exactly

SERVER = Path(__file__).with_name("program_server.py")
LIMIT_S, LOOK_S = 60.0, 0.05
T = TypeVar("T")


def run_kcontroller(
    *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Of `kcontroller ARGUMENTS`. `env` is all of its environment, as for subprocess.run."""
    return _server("kcontroller").run(arguments, cwd, env, timeout)


def run_pytest(
    *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Of `python -m pytest ARGUMENTS`."""
    return _server("pytest").run(arguments, cwd, env, timeout)


def run_in(pytester: pytest.Pytester, *arguments: object) -> pytest.RunResult:
    """`pytester.runpytest_subprocess` by a fork."""
    base = tempfile.mkdtemp(prefix="runpytest-", dir=pytester.path)
    done = run_pytest(f"--basetemp={base}", *arguments, cwd=pytester.path, timeout=scaled(300))
    print(done.stdout, done.stderr, sep="\n")  # shown if the test fails
    return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0)


def while_it_runs(process: subprocess.Popen[Any], look: Callable[[], T | None]) -> T:
    """What `look` gives once that is something: until then the processor is left to the process, which fails if it ends."""
    for _ in range(round(scaled(LIMIT_S) / LOOK_S)):
        if found := look():
            return found
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_S)
            pytest.fail(f"it has ended before: {process.communicate()}")
    pytest.fail(f"not within {scaled(LIMIT_S):g} s")


@cache
def _server(program: str) -> _Server:
    return _Server(program)


class _Server:
    def __init__(self, program: str) -> None:
        self._socket, far = socket.socketpair()
        outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        with far:
            command = [sys.executable, SERVER, program]
            self._process = subprocess.Popen(command, stdin=far, env=outside, cwd=SERVER.parents[2])
        atexit.register(self._end)

    def run(
        self, arguments: tuple[object, ...], cwd: Path | None, env: Mapping[str, str] | None, timeout: float | None
    ) -> subprocess.CompletedProcess[str]:
        said = {"arguments": list(map(str, arguments)), "cwd": str(cwd or Path.cwd()), "env": dict(env or os.environ)}
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            text = json.dumps(said).encode("utf-8", "surrogatepass")
            socket.send_fds(self._socket, [HEADER.pack(len(text))], [out.fileno(), err.fileno()])
            self._socket.sendall(text)
            child = _number(self._socket)
            try:
                self._socket.settimeout(timeout)
                status = _number(self._socket)
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                self._socket.settimeout(None)
                _number(self._socket)
                raise subprocess.TimeoutExpired(said["arguments"], timeout or 0, _all_of(out), _all_of(err)) from None
            finally:
                self._socket.settimeout(None)
            return subprocess.CompletedProcess(said["arguments"], status, _all_of(out), _all_of(err))

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


def _all_of(file: Any) -> str:
    file.seek(0)
    text: str = file.read()
    return text


def _number(connection: socket.socket) -> int:
    value: int = HEADER.unpack(exactly(connection, HEADER.size))[0]
    return value
