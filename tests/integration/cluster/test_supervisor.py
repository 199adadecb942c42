"""Supervised processes: they die with their owner, and say how they ended."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_kcontroller.cluster.children import processes
from pytest_kcontroller.cluster.children.processes import VARIABLE, Supervised, leftovers, session_id
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.runtime.timeouts import within

LIMIT_S = 15

OWNER = """
import asyncio, json, os, pathlib, signal, sys
from pytest_kcontroller.cluster.children.processes import Supervised

async def main(at):
    trash = at / "trash"
    trash.mkdir()
    (trash / "file").write_text("x")
    log = at / "log"
    plain = await Supervised.start("plain", ["sleep", "600"], log=log, cleanup=[trash])
    parent = await Supervised.start("parent", ["sh", "-c", f"sleep 601 & echo $! > {at}/grandchild; wait"], log=log)
    deaf = await Supervised.start("deaf", ["sh", "-c", f"trap '' TERM INT HUP; touch {at}/deaf; sleep 602; :"], log=log)
    stopped = await Supervised.start("stopped", ["sleep", "603"], log=log)
    stopped.signal(signal.SIGSTOP)
    pids = [child.pid for child in (plain, parent, deaf, stopped)]
    (at / "pids.tmp").write_text(json.dumps(pids))
    (at / "pids.tmp").rename(at / "pids")
    await asyncio.Event().wait()

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


STARTING = """
import asyncio, pathlib, sys
from pytest_kcontroller.cluster.children.directories import session_directory
from pytest_kcontroller.cluster.children.processes import Supervised

async def main(at):
    with session_directory() as directory:
        (at / "directory").write_text(f"{directory}\\n")
        starts = []
        for number in range(8):
            (own := directory / str(number)).mkdir()
            script = f"while true; do date >> {own}/file; sleep 60 & wait; done"
            starts.append(Supervised.start("child", ["sh", "-c", script], log=at / "log", cleanup=[own]))
        await asyncio.gather(*starts)
        await asyncio.Event().wait()

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


def asyncio_run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(**arguments: Any) -> None:
        asyncio.run(test(**arguments))

    return run


async def until(what: str, check: Callable[[], object]) -> None:
    try:
        async with within(scaled(LIMIT_S)):
            while not check():  # noqa: ASYNC110  # another process changes it
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"not within {scaled(LIMIT_S):g} s: {what}")


def status(pid: int) -> str:
    """Empty: it is gone (a zombie that nobody has reaped yet is gone too)."""
    try:
        found: str = psutil.Process(pid).status()
    except psutil.NoSuchProcess:
        return ""
    return "" if found == psutil.STATUS_ZOMBIE else found


def filled(file: Path) -> bool:
    return file.exists() and file.read_text().endswith(("\n", "]"))


@asyncio_run
async def test_sigkill_of_the_owner_ends_every_child_and_removes_its_directory(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)])  # noqa: ASYNC220
    try:
        for name in ("pids", "grandchild"):
            await until(f"the owner's children run: {name}", lambda name=name: filled(tmp_path / name))
        await until("the deaf child runs", (tmp_path / "deaf").exists)
        pids = json.loads((tmp_path / "pids").read_text())
        await until("the last child is stopped", lambda: status(pids[-1]) == psutil.STATUS_STOPPED)
        pids.append(int((tmp_path / "grandchild").read_text()))
        supervisors = [child.pid for child in psutil.Process(owner.pid).children()]
        assert len(supervisors) == 4
        assert all(status(pid) for pid in pids)
        assert {pid for pid in pids if any(left.pid == pid and left.owner_lives for left in leftovers())} == set(pids)
        assert (tmp_path / "trash" / "file").exists()
    finally:
        owner.kill()
        owner.wait()
    for pid in pids + supervisors:
        await until(f"{pid} of {pids} and {supervisors} is gone", lambda pid=pid: not status(pid))
    await until("the directory is gone", lambda: not (tmp_path / "trash").exists())
    assert not [left for left in leftovers() if left.session.startswith(f"{owner.pid}-")]


@pytest.mark.parametrize("started", [1, 2, 4, 7])
@asyncio_run
async def test_sigkill_of_the_owner_while_it_starts_children_leaves_nothing(tmp_path: Path, started: int) -> None:
    owner = subprocess.Popen([sys.executable, "-c", STARTING, str(tmp_path)])  # noqa: ASYNC220
    try:
        await until("the directory is made", lambda: filled(tmp_path / "directory"))
        directory = Path((tmp_path / "directory").read_text().strip())
        assert directory.is_dir()
        # The guard of the directory is one of them.
        await until("some run", lambda: len(psutil.Process(owner.pid).children()) > started)
    finally:
        owner.kill()
        owner.wait()
    mine = f"{owner.pid}-"
    await until("every process is gone", lambda: not [one for one in leftovers() if one.session.startswith(mine)])
    await until("the directory is gone", lambda: not directory.exists())
    log = tmp_path / "log"
    assert not log.exists() or "Traceback" not in log.read_text(), "a supervisor broke"


def pipes(pid: int) -> dict[str, str]:
    """The pipes that a process holds: name -> `r` or `w`."""
    held = {}
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if (name := str(fd.readlink())).startswith("pipe:"):
                held[name] = "w" if fd.lstat().st_mode & 0o200 else "r"
        except FileNotFoundError:  # the one that listed them
            continue
    return held


@asyncio_run
async def test_no_sibling_holds_a_pipe_of_another(tmp_path: Path) -> None:
    children = await asyncio.gather(
        *(Supervised.start(f"{number}", ["sleep", "600"], log=tmp_path / "log") for number in range(6))
    )
    own = pipes(os.getpid())
    try:
        seen: list[str] = []
        for child in children:
            assert not pipes(child.pid).keys() & own.keys()
            shared = {name: end for name, end in pipes(psutil.Process(child.pid).ppid()).items() if name in own}
            assert sorted(end + own[name] for name, end in shared.items()) == ["rw", "wr"]
            seen += shared
        assert len(set(seen)) == len(seen)
    finally:
        await asyncio.gather(*(child.kill() for child in children))


@asyncio_run
async def test_a_child_takes_sigpipe_as_a_process_from_a_shell_does(tmp_path: Path) -> None:
    child = await Supervised.start("cat", ["sh", "-c", "yes | head -1; kill -PIPE $$"], log=tmp_path / "log")
    assert await child.wait() == -signal.SIGPIPE
    assert (tmp_path / "log").read_text() == "y\n"


@asyncio_run
async def test_the_child_dies_with_its_supervisor(tmp_path: Path) -> None:
    child = await Supervised.start("sleeper", ["sleep", "600"], log=tmp_path / "log")
    os.kill(psutil.Process(child.pid).ppid(), signal.SIGKILL)
    assert await child.wait() == -signal.SIGKILL
    await until("the child is gone", lambda: not status(child.pid))


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("exit 0", 0), ("kill -9 $$", -9), ("kill -15 $$", -15)])
@asyncio_run
async def test_the_status_is_the_commands_own(tmp_path: Path, script: str, code: int) -> None:
    child = await Supervised.start("shell", ["sh", "-c", f"echo out; echo err >&2; {script}"], log=tmp_path / "log")
    assert await child.wait() == code
    assert child.returncode == code
    assert (tmp_path / "log").read_text() == "out\nerr\n"
    child.signal(signal.SIGTERM)  # nothing is there any more
    assert await child.stop(0) == code
    assert await child.kill() == code


@asyncio_run
async def test_a_command_that_does_not_exist_ends_with_127_and_says_so(tmp_path: Path) -> None:
    child = await Supervised.start("none", ["no-such-command-of-ours", "x"], log=tmp_path / "log")
    assert await child.wait() == 127
    assert (tmp_path / "log").read_text() == "no-such-command-of-ours: No such file or directory\n"


@asyncio_run
async def test_stop_is_sigterm_even_for_a_stopped_process(tmp_path: Path) -> None:
    child = await Supervised.start("sleeper", ["sleep", "600"], log=tmp_path / "log")
    child.signal(signal.SIGSTOP)
    os.kill(child._supervisor, signal.SIGSTOP)  # as `pkill -STOP -f NAME` does, which finds both
    await until("it is stopped", lambda: status(child.pid) == psutil.STATUS_STOPPED)
    assert child.returncode is None
    assert await child.stop(scaled(LIMIT_S)) == -signal.SIGTERM


@pytest.mark.usefixtures("many_open_files")
@asyncio_run
async def test_an_owner_with_many_open_files_starts_and_stops_it_as_ever(tmp_path: Path) -> None:
    child = await Supervised.start("sleeper", ["sleep", "600"], log=tmp_path / "log")
    assert await child.stop(scaled(LIMIT_S)) == -signal.SIGTERM
    assert not (tmp_path / "log").read_text()


@asyncio_run
async def test_stop_kills_the_group_of_a_process_that_ignores_sigterm(tmp_path: Path) -> None:
    script = f"trap '' TERM; sleep 600 & echo $! > {tmp_path}/grandchild; wait; wait"
    child = await Supervised.start("deaf", ["sh", "-c", script], log=tmp_path / "log")
    await until("it runs", lambda: filled(tmp_path / "grandchild"))
    assert await child.stop(0.2) == -signal.SIGKILL
    await until("the grandchild is gone", lambda: not status(int((tmp_path / "grandchild").read_text())))


@asyncio_run
async def test_the_end_of_a_child_takes_its_group_with_it(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! > {tmp_path}/grandchild"
    child = await Supervised.start("parent", ["sh", "-c", script], log=tmp_path / "log")
    assert await child.wait() == 0
    await until("the grandchild is gone", lambda: not status(int((tmp_path / "grandchild").read_text())))


@asyncio_run
async def test_an_ended_child_removes_nothing_and_carries_the_session(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    command = ["sh", "-c", f'echo "${VARIABLE} $OURS"; pwd']
    child = await Supervised.start("shell", command, log=tmp_path / "log", cwd=kept, env={"OURS": "1"}, cleanup=[kept])
    assert await child.wait() == 0
    assert (tmp_path / "log").read_text() == f"{session_id()} 1\n{kept}\n"
    assert kept.is_dir()


@asyncio_run
async def test_a_start_that_is_given_up_ends_it_and_leaves_what_others_use(tmp_path: Path) -> None:
    """Its owner lives, and so does the cluster whose directory is removed only when the owner dies."""
    await give_up(tmp_path)
    await until("all of it has ended", lambda: not given_up())
    await asyncio.gather(*processes._given_up)
    assert (tmp_path / "used").exists()


def test_a_loop_ends_after_the_starts_that_were_given_up(tmp_path: Path) -> None:
    """Whom nobody waits for, nobody reaps; and the end of its pipe would say that its owner has died."""
    asyncio.run(give_up(tmp_path))
    assert not given_up()
    assert (tmp_path / "used").exists()


def test_a_given_up_start_that_does_not_end_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As when its supervisor stands still: the loop ends all the same."""
    monkeypatch.setattr(processes, "GIVEN_UP_S", 0.01)
    read, write = os.pipe()

    async def begin() -> None:
        processes._give_up(write, asyncio.StreamReader(), None)
        await asyncio.sleep(0)

    asyncio.run(begin())
    os.close(read)
    assert not caplog.records


async def give_up(folder: Path) -> None:
    (used := folder / "used").mkdir()
    start = Supervised.start("given up", ["sleep", "604"], log=folder / "log", cleanup=[used])
    starting = asyncio.create_task(start)
    await until("its supervisor runs", given_up)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting


def given_up() -> bool:
    return any(each.session == session_id() and "sleep 604" in each.command for each in leftovers())


PTRACE_SEIZE = 0x4206


def test_a_process_that_ends_is_none_before_it_is_a_zombie() -> None:
    """The first process of a container waits for all others of it, when it has left the container's control group. Here one
    of them is traced: it stays until we have heard of its end."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("only root on Linux may make a namespace of process ids")
    command = ["unshare", "--pid", "--fork", "sh", "-c", "sleep 604 & echo; wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as ran:
        assert ran.stdout is not None
        ran.stdout.readline()
        (first,) = psutil.Process(ran.pid).children()
        (other,) = first.children()
        assert processes.state_of(first.pid) == "S"
        assert ctypes.CDLL(None).ptrace(PTRACE_SEIZE, other.pid, None, None) == 0
        first.kill()
        deadline = time.monotonic() + scaled(LIMIT_S)  # noqa: TID251  # the time of the test itself
        while (state := processes.state_of(first.pid)) is not None and time.monotonic() < deadline:  # noqa: TID251
            os.sched_yield()
        then = first.status()
        os.waitpid(other.pid, 0)
    assert (state, then != psutil.STATUS_ZOMBIE) == (None, True)
