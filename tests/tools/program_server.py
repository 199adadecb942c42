"""The server of programs.py, `python program_server.py PROGRAM`: forks a program for each request, one after the other.

Requests come from the socket that is its standard input: eight bytes with the length of a JSON object (`arguments`, `cwd`,
`env`), which follow, and two descriptors, standard output and standard error. It answers the process id, then the status.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEADER = struct.Struct(">q")


def exactly(connection: socket.socket, length: int) -> bytes:
    taken = b""
    while len(taken) < length:
        if not (part := connection.recv(length - len(taken))):
            raise EOFError("the server of programs has ended")
        taken += part
    return taken


def serve(program: str) -> None:
    """Returns at end of file, and in no fork."""
    sys.path.pop(0)  # the folder of this file: no program has it
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    before = list(sys.path)
    _import_for(program)
    sys.path[:] = before
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    gc.collect()
    gc.freeze()
    for request, (out, err) in _received(requests):
        child = os.fork()
        if not child:
            requests.close()
            _become(program, request, out, err)
        os.close(out)
        os.close(err)
        requests.sendall(HEADER.pack(child))
        requests.sendall(HEADER.pack(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))


def _import_for(program: str) -> None:
    """pytest is run once: only what its own importer has imported, which rewrites assertions, is taken by the next run."""
    if program == "kcontroller":
        from pytest_kcontroller import cli

        cli._commands()
        import pytest_kcontroller.cluster.observed  # noqa: F401

        return
    import pytest

    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nothing:
        test = Path(folder, "test_of_the_server.py")
        test.write_text("import pytest_kcontroller.node.process\n\ndef test_it(kcluster, zk, chaos, khistory): pass\n")
        options = ["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder]
        with contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
            status = pytest.main([*options, "--kc-backend=sim", f"--basetemp={folder}/base", str(test)])
    if status:
        sys.exit(f"{__file__}: the first run of pytest ended with {status!r}")


def _received(requests: socket.socket) -> Iterator[tuple[dict[str, Any], list[int]]]:
    while True:
        header, descriptors, _, _ = socket.recv_fds(requests, HEADER.size, 2)
        if not header:
            return
        (length,) = HEADER.unpack(header + exactly(requests, HEADER.size - len(header)))
        yield json.loads(exactly(requests, length).decode("utf-8", "surrogatepass")), descriptors


def _become(program: str, request: dict[str, Any], out: int, err: int) -> None:
    """In a fork: does what the program does, and ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, number in ((out, 1), (err, 2)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    tempfile.tempdir = None  # it is asked for anew
    sys.path[:0] = [request["cwd"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    status: object = 1
    try:
        status = _of_pytest(request["arguments"]) if program == "pytest" else _of_kcontroller(request["arguments"])
    except SystemExit as ended:
        status = ended.code
    except BaseException:  # noqa: BLE001 - as Python itself does at the end of a program
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    if isinstance(status, str):
        print(status, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined] # as Python ends, but for what only takes memory apart
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(int(status or 0) if not isinstance(status, str) else 1)


def _of_pytest(arguments: list[str]) -> int:
    import pytest

    sys.argv[:] = [str(Path(pytest.__file__).with_name("__main__.py")), *arguments]
    return pytest.main()


def _of_kcontroller(arguments: list[str]) -> int:
    from pytest_kcontroller.cli import main

    sys.argv[:] = ["-c", *arguments]
    return main()


if __name__ == "__main__":
    serve(sys.argv[1])
