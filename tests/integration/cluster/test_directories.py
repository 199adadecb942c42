"""A temporary directory goes with its owner, however that ends, and whether or not anything runs there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pytest_kcontroller.cluster.children.directories import new_directory, owner_of_temporary, session_directory
from pytest_kcontroller.cluster.children.processes import leftovers, session_id
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure

LIMIT_S = 15

OWNER = """
import os, pathlib, signal, sys
from pytest_kcontroller.cluster.children.directories import new_directory, session_directory

def made(name):
    directory = new_directory(pathlib.Path(sys.argv[1]))
    (directory / "below").mkdir()
    (directory / "below" / name).write_text("x")

"""
"""Makes directories below its first argument, and leaves them there."""

ENDS = {
    "by itself": "made('one'); made('two')",
    "by SIGKILL": "made('one'); made('two'); os.kill(os.getpid(), signal.SIGKILL)",
    "by os._exit": "made('one'); os._exit(0)",
    "in a fork": "made('one'); os.fork() or made('two'); os.kill(os.getpid(), signal.SIGKILL)",
    "after a fork that has made one": """
made('one')
if (child := os.fork()) == 0:
    made('two')
    os._exit(0)
os.waitpid(child, 0)
assert [file.name for file in pathlib.Path(sys.argv[1]).glob('*/below/*') if file.name == 'one']
os.kill(os.getpid(), signal.SIGKILL)
""",
}


@pytest.mark.parametrize("ends", ENDS)
def test_they_go_however_their_owner_ends(tmp_path: Path, ends: str) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER + ENDS[ends], str(tmp_path)]) as owner:
        status = owner.wait(scaled(LIMIT_S))
    if ends == "by itself":  # then it waits for the guard
        assert list(tmp_path.iterdir()) == []
    assert status == (0 if ends in ("by itself", "by os._exit") else -signal.SIGKILL)
    until("the directories are gone", lambda: not list(tmp_path.iterdir()))
    until("the guard is gone", lambda: not [left for left in leftovers() if left.session.startswith(f"{owner.pid}-")])


def test_one_goes_with_its_block() -> None:
    with session_directory() as directory:
        (directory / "below").mkdir()
        (directory / "below" / "file").write_text("x")
        assert owner_of_temporary(directory.name) == session_id(), "or `kcontroller gc` would not see it"
    assert not directory.exists()
    with pytest.raises(ZeroDivisionError), session_directory() as directory:
        _ = 1 / 0
    assert not directory.exists()


def test_one_guard_does_for_all_and_another_replaces_it(tmp_path: Path) -> None:
    new_directory(tmp_path)
    (guard,) = guards()
    new_directory(tmp_path)
    assert guards() == [guard]
    guard.kill()
    psutil.wait_procs([guard], timeout=scaled(LIMIT_S))
    third = new_directory(tmp_path)
    assert third.is_dir()
    (second,) = guards()
    assert second != guard


def test_one_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"no temporary directory could be made: .*No such file") as failed:
        new_directory(tmp_path / "not" / "there")
    assert str(tmp_path / "not" / "there") in str(failed.value)


def guards() -> list[psutil.Process]:
    """Of this process."""
    found = [left for left in leftovers() if left.session == session_id() and left.command.endswith(" -1 --")]
    return [psutil.Process(left.pid) for left in found]


def until(what: str, check: Callable[[], object]) -> None:
    ends = time.monotonic() + scaled(LIMIT_S)  # noqa: TID251  # the time of the test itself
    while not check():
        assert time.monotonic() < ends, f"not within {scaled(LIMIT_S):g} s: {what}"  # noqa: TID251
        time.sleep(0.02)  # noqa: TID251
