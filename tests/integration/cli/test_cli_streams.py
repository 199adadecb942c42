"""A command whose stdout or stderr is closed, or is not read any more, ends as it would end otherwise."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.timing import scaled

PROGRAM = "import sys; from pytest_kcontroller.cli import main; sys.exit(main(sys.argv[1:]))"
QUIET = """
[campaign]
name = "quiet"
duration_s = 1

[cluster]
nodes = 1

[[topics]]
name = "t"

[thresholds]
faults_applied = 0
operations_ok = 0
"""


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_run_is_played_and_judged_with_closed_streams(closed: str, tmp_path: Path) -> None:
    (tmp_path / "quiet.toml").write_text(QUIET)
    command = [sys.executable, "-c", PROGRAM, "campaign", "run", "quiet.toml", "--backend", "sim"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *command]
    ended = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=scaled(60))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(list((tmp_path / "runs").glob("quiet/*/verdicts.json"))) == 1


def test_a_mistake_keeps_its_status_when_nobody_reads_what_is_said_of_it() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", PROGRAM, "faults", "no_such"]
    ended = subprocess.run(command, stderr=writer, check=False, timeout=scaled(60))
    os.close(writer)
    assert ended.returncode == 2


@pytest.mark.usefixtures("hangups")
def test_a_closed_terminal_interrupts_a_run(tmp_path: Path) -> None:
    """Nothing can be said any more, not even that the line of its progress is over."""
    (tmp_path / "long.toml").write_text(QUIET.replace("duration_s = 1", "duration_s = 20000"))
    command = [sys.executable, "-c", PROGRAM, "campaign", "run", "long.toml", "--backend", "sim"]
    ours, its = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(its, termios.TIOCSCTTY, 0)

    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=its,
        stdout=its,
        stderr=its,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
        preexec_fn=take_terminal,
    ) as ran:
        os.close(its)
        said = b""
        while b"[1/1]" not in said:
            said += os.read(ours, 1000)
        os.close(ours)
        assert ran.wait(scaled(60)) == 130
