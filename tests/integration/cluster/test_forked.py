"""A program of ours is a fork of a process that has imported it, and nobody can tell: neither it nor its owner."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_kcontroller.cluster.children import forked
from pytest_kcontroller.cluster.children.processes import Supervised, leftovers, session_id
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.runtime.timeouts import within

LIMIT_S = 20

PROBE = """
import json, os, random, resource, signal, sys, threading
numbers = [n for n in signal.valid_signals() if n not in (signal.SIGKILL, signal.SIGSTOP)]
fds = [fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}")]
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "name": __name__, "file": __file__, "path": sys.path,
    "flags": str(sys.flags), "environment": dict(os.environ), "cwd": os.getcwd(),
    "signals": {n: str(signal.getsignal(n)) for n in numbers}, "blocked": [*signal.pthread_sigmask(signal.SIG_BLOCK, [])],
    "leads": os.getpgid(0) == os.getpid(), "session": os.getsid(0), "umask": os.umask(0),
    "open": [os.readlink(f"/proc/self/fd/{fd}").partition(":")[0] for fd in fds], "input": sys.stdin.read(),
    "threads": threading.active_count(), "nofile": resource.getrlimit(resource.RLIMIT_NOFILE),
    "encoding": [sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering],
    "cmdline": [a for a in open("/proc/self/cmdline").read().split(chr(0)) if a],
}))
print(random.random(), file=sys.stderr)
{end}
"""


def probe(tmp_path: Path, end: str = "") -> list[str]:
    (tmp_path / "of_the_test.py").write_text(PROBE.replace("{end}", end))
    return [sys.executable, "-m", "of_the_test", "an argument", "-x"]


async def ended(tmp_path: Path, name: str, end: str = "", **env: str) -> tuple[int, list[str]]:
    """Status and lines of a program that has ended by itself."""
    log = tmp_path / f"{name}.log"
    child = await Supervised.start(name, probe(tmp_path, end), log=log, cwd=tmp_path, env=env, is_ours=True)
    async with within(scaled(LIMIT_S)):
        return await child.wait(), log.read_text().splitlines()


def said(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lines[0])
    found["environment"].pop(forked.VARIABLE, None)
    return found


def test_a_fork_finds_what_a_program_of_its_own_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KC_OURS", "as it is now")

    async def both() -> list[tuple[int, list[str]]]:
        return [await ended(tmp_path, name, **{forked.VARIABLE: says}) for name, says in (("own", "0"), ("fork", "1"))]

    (own_status, own), (fork_status, fork) = asyncio.run(both())
    assert said(fork) == said(own)
    assert own_status == fork_status == 0
    assert said(fork)["cmdline"] == probe(tmp_path)
    assert said(fork)["environment"]["KC_OURS"] == "as it is now"
    assert fork[1] != own[1], "both drew the same number"


@pytest.mark.parametrize(
    ("end", "status", "last"),
    [
        ("sys.exit(3)", 3, None),
        ("sys.exit('a sentence')", 1, "a sentence"),
        ("raise ValueError('broken')", 1, "ValueError: broken"),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, None),
        ("os.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT, "KeyboardInterrupt"),
        ("import atexit; atexit.register(print, 'the last words', flush=True)", 0, "the last words"),
    ],
)
def test_a_fork_ends_as_a_program_of_its_own(tmp_path: Path, end: str, status: int, last: str | None) -> None:
    ended_with, lines = asyncio.run(ended(tmp_path, "fork", end))
    assert ended_with == status
    assert last is None or last in lines


def test_forks_draw_numbers_of_their_own(tmp_path: Path) -> None:
    async def two() -> list[str]:
        return [(await ended(tmp_path, name))[1][1] for name in ("one", "other")]

    one, other = asyncio.run(two())
    assert one != other


def test_another_environment_is_another_fork_server(tmp_path: Path) -> None:
    """What Python or a library reads at its start is as it is for a program of its own."""

    async def seeds() -> list[str]:
        found = [await ended(tmp_path, seed, "print(hash('x'))", PYTHONHASHSEED=seed) for seed in ("1", "2", "1")]
        return [lines[2] for _, lines in found]

    first, second, again = asyncio.run(seeds())
    assert first == again != second


def test_a_fork_has_the_umask_and_the_limits_that_its_owner_has_then(tmp_path: Path) -> None:
    kind, umask = resource.RLIMIT_NOFILE, os.umask(0o022)
    limits = resource.getrlimit(kind)

    async def before_and_after() -> list[dict[str, Any]]:
        before = said((await ended(tmp_path, "before"))[1])
        os.umask(0o027)
        resource.setrlimit(kind, (limits[0] - 1, limits[1]))
        return [before, said((await ended(tmp_path, "after"))[1])]

    try:
        before, after = asyncio.run(before_and_after())
    finally:
        os.umask(umask)
        resource.setrlimit(kind, limits)
    assert (before["umask"], after["umask"]) == (0o022, 0o027)
    assert (before["nofile"][0], after["nofile"][0]) == (limits[0], limits[0] - 1)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_fork_server_that_is_ended_or_stopped_costs_nothing_but_time(
    tmp_path: Path, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def again() -> int:
        before, _ = await ended(tmp_path, "before")
        servers = [left.pid for left in leftovers() if left.session == session_id() and "fork_server" in left.command]
        for server in servers:
            os.kill(server, how)
        assert servers
        if how is signal.SIGSTOP:
            monkeypatch.setattr("pytest_kcontroller.cluster.children.processes.FORK_S", 0.5)
        after, _ = await ended(tmp_path, "after")
        assert not any(psutil.pid_exists(server) for server in servers)
        return before + after

    assert asyncio.run(again()) == 0


OWNER = """
import asyncio, pathlib, sys
from pytest_kcontroller.cluster.children.processes import Supervised

async def main(at):
    (at / "sleeper.py").write_text("import time; print('up', flush=True); time.sleep(600)")
    child = await Supervised.start(
        "sleeper", [sys.executable, "-m", "sleeper"], log=at / "log", cwd=at, cleanup=[at / "trash"], is_ours=True
    )
    print(child.pid, child._supervisor, flush=True)
    await asyncio.Event().wait()

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


def test_sigkill_of_the_owner_ends_forks_and_the_fork_server(tmp_path: Path) -> None:
    (tmp_path / "trash").mkdir()
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [*map(int, owner.stdout.readline().split())]
        mine = [psutil.Process(left.pid) for left in leftovers() if left.session.startswith(f"{owner.pid}-")]
        owner.kill()
    assert {process.pid for process in mine} > {*pids}
    assert len(mine) == 3, "the program, its supervisor and the fork server"
    _, alive = psutil.wait_procs(mine, timeout=scaled(LIMIT_S))
    assert not alive
    assert not (tmp_path / "trash").exists()
