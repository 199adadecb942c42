"""`kcontroller hunt`: processes play seeds; what does not hold is played again, kept and explained."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pytest_kcontroller.cli import main
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.runtime.rng import MOST_SEED
from tests.tools.programs import run_kcontroller

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
PROGRAM = [sys.executable, "-u", "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())", "hunt"]

UNREACHED = """
from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.seams import Mutant, seam

@seam("nobody.calls-this")
def step():
    return 1

@hookimpl
def kcontroller_mutants():
    return [Mutant("UNREACHED", "x", "x", (("nobody.calls-this", lambda: 2),))]
"""

BROKEN = """
import os
from dataclasses import dataclass
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.hookspecs import hookimpl

@dataclass(frozen=True, kw_only=True)
class Broken(Fault):
    kind = "broken"

    @classmethod
    def drawn(cls, draw):
        raise ZeroDivisionError("of mine")

    async def inject(self, on):
        print("my last words", flush=True)
        os._exit(7)

    async def observe(self, on):
        return {}

    async def heal(self, on):
        pass

@hookimpl
def kcontroller_faults():
    return [Broken]
"""
DRAWN = """
[campaign]
name = "broken"
duration_s = 8

[generator]
faults = ["broken"]
every_s = [0.1, 1]
"""
WRITTEN = """
[campaign]
name = "broken"
duration_s = 3

[[faults]]
kind = "broken"
at_s = 1
"""

NEVER_APPLIED = """
[campaign]
name = "waits"
duration_s = 1

[[faults]]
kind = "kill"
target = "controller"
when = "epoch.changed"
"""

FIRST_OTHERWISE = """
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from kcontroller_chaos.checking import SAFETY, Verdict
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.hookspecs import hookimpl

PLAYED = Path(__file__).with_suffix(".played")

@dataclass(frozen=True, kw_only=True)
class Otherwise(Fault):
    kind = "otherwise"

    async def inject(self, on):
        with PLAYED.open("a") as plays:
            plays.write("x")
        if PLAYED.stat().st_size == 1:
            raise EnvironmentFailure("not the first time")
        if os.environ["INTERRUPTED"] and Path(sys.argv[0]).name != "_worker.py":
            os.kill(os.getpid(), signal.SIGINT)

    async def observe(self, on):
        return {}

class NeverOtherwise(Invariant):
    \"\"\"No such fault is seen.\"\"\"

    name = "never-otherwise"
    kind = SAFETY
    expected = "no such fault"
    source = "a test"

    def check(self, history):
        if any(event["kind"] == "fault.observed" for event in history.events):
            return Verdict.violated(1, seen="one", where="here", witness={"it": "is"})
        return Verdict.of(1)

@hookimpl
def kcontroller_faults():
    return [Otherwise]

@hookimpl
def kcontroller_invariants():
    return [NeverOtherwise]
"""


BLOCKS_THIRD = """
import threading
from dataclasses import dataclass
from pathlib import Path
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.hookspecs import hookimpl

PLAYED = Path(__file__).with_suffix(".played")

@dataclass(frozen=True, kw_only=True)
class Blocks(Fault):
    kind = "blocks"

    async def inject(self, on):
        with PLAYED.open("a") as plays:
            plays.write("x")
        if PLAYED.stat().st_size == 3:
            threading.Event().wait()
        raise EnvironmentFailure("not here")

    async def observe(self, on):
        return {}

@hookimpl
def kcontroller_faults():
    return [Blocks]
"""


def command(out: Path, *arguments: object) -> list[str]:
    return [*PROGRAM, *map(str, arguments), "--out", str(out)]


def hunt(out: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(out), os.environ.get("PYTHONPATH", "")])}
    return run_kcontroller("hunt", *arguments, "--out", out, timeout=scaled(120), env=surroundings)


def test_a_mutant_is_found_kept_and_explained(tmp_path: Path) -> None:
    done = hunt(tmp_path, CAMPAIGNS / "zombie.toml", "--mutant", "KAFKA-6082", "--from-seed", 7)
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = tmp_path.glob("zombie/*")
    assert json.loads((run / "run.json").read_text())["verdict"] == "violated"
    assert (run / "history" / "zookeeper.jsonl").stat().st_size
    lines = done.stdout.splitlines()
    assert f"zombie seed 7: violated  {run}" in lines
    assert any(line.startswith("    no-stale-epoch-write: ") for line in lines)
    assert f"    again: kcontroller replay {run}" in lines
    assert re.fullmatch(r"mutant KAFKA-6082: found; what it changes ran: store.fence \d+", lines[-2])
    on = f"more seeds: kcontroller hunt {CAMPAIGNS / 'zombie.toml'} --from-seed 8 --mutant KAFKA-6082"
    assert lines[-1] == on


def test_runs_that_hold_are_counted_and_not_kept(tmp_path: Path) -> None:
    done = hunt(tmp_path, CAMPAIGNS / "smoke.toml", "--max-runs", 5, "--mutant", "KAFKA-6082", "--jobs", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
    count, survived, nothing, more = done.stdout.splitlines()
    assert nothing == "no violation was found"
    schedules = int(count.split()[0])
    assert schedules == 5
    assert f"survived; it was reached in {schedules} of {schedules} runs" in survived
    found = re.search(r"--from-seed (\d+) ", more)
    assert found is not None
    assert int(found[1]) <= schedules + 1


def test_a_mutant_that_no_run_reaches_is_not_called_a_survivor(tmp_path: Path) -> None:
    (tmp_path / "my_mutants.py").write_text(UNREACHED)
    done = hunt(
        tmp_path,
        CAMPAIGNS / "smoke.toml",
        "--max-runs",
        2,
        "--plugin",
        "my_mutants",
        "--mutant",
        "UNREACHED",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mutant UNREACHED: not reached" in done.stdout


@pytest.mark.parametrize(
    ("campaign", "exits", "status", "said"),
    [
        (DRAWN, 7, 2, "cannot be drawn: ZeroDivisionError('of mine')\n  -> the same again: kcontroller campaign run "),
        (
            WRITTEN,
            7,
            3,
            "ended with status 7 after 0 of 200 runs; last lines of its output:\n    my last words",
        ),
        (WRITTEN, 0, 3, "a process that plays runs ended with status 0 after 0 of 200 runs; last lines"),
    ],
)
def test_what_breaks_a_run_is_said_and_fails_the_hunt(
    tmp_path: Path, campaign: str, exits: int, status: int, said: str
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN.replace("_exit(7)", f"_exit({exits})"))
    (tmp_path / "broken.toml").write_text(campaign)
    done = hunt(tmp_path, tmp_path / "broken.toml", "--plugin", "broken")
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stderr
    assert campaign is WRITTEN or "--seeds 1 --backend sim --plugin broken" in done.stderr


def test_runs_whose_faults_are_not_applied_are_kept_and_end_the_hunt(tmp_path: Path) -> None:
    (tmp_path / "waits.toml").write_text(NEVER_APPLIED)
    done = hunt(tmp_path, tmp_path / "waits.toml")
    assert done.returncode == 6, done.stdout + done.stderr
    assert len(list(tmp_path.glob("waits/*"))) == 10
    assert "epoch.changed did not happen in 1 s" in done.stdout
    assert "no violation was found (10 environment)" in done.stdout


@pytest.mark.parametrize(
    ("interrupted", "status", "told"),
    [
        ("", 3, ("otherwise seed 2: violated  ", "more seeds: ")),
        ("yes", 130, ("otherwise seed 2: violated, and it could",)),
    ],
)
def test_a_run_that_comes_out_otherwise_does_not_hide_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: str, status: int, told: tuple[str, ...]
) -> None:
    """Seed 1 is environment when it is played first, only. What is to be kept is played by the command itself."""
    monkeypatch.setenv("INTERRUPTED", interrupted)
    (tmp_path / "otherwise.py").write_text(FIRST_OTHERWISE)
    (tmp_path / "otherwise.toml").write_text(WRITTEN.replace("broken", "otherwise"))
    done = hunt(tmp_path, tmp_path / "otherwise.toml", "--plugin", "otherwise")
    assert done.returncode == status, done.stdout + done.stderr
    for text in told:
        assert f"\n{text}" in done.stdout, done.stdout
    if not interrupted:
        assert "    it was environment before, and did not come out the same again\n" in done.stdout
        assert "seed 1 came out as environment, and played again as violated" in done.stderr
        assert len(list(tmp_path.glob("otherwise/*"))) == 2


def test_a_hunt_in_which_no_run_ended_has_found_nothing_out(tmp_path: Path) -> None:
    done = hunt(tmp_path, CAMPAIGNS / "smoke.toml", "--max-seconds", 0)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "no run ended in 0 s" in done.stdout


def test_after_the_last_seed_a_hunt_ends(tmp_path: Path) -> None:
    done = hunt(tmp_path, CAMPAIGNS / "smoke.toml", "--from-seed", MOST_SEED - 1, "--max-runs", 5)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 schedules, " in done.stdout
    assert "smoke.toml --from-seed 0\n" in done.stdout


@pytest.mark.parametrize("option", ["--jobs", "--max-runs", "--max-seconds"])
def test_bad_numbers_are_said(tmp_path: Path, option: str) -> None:
    done = hunt(tmp_path, CAMPAIGNS / "smoke.toml", option, "-1")
    assert done.returncode == 2
    assert f"{option}: -1 is too small" in done.stderr


@pytest.fixture
def hunting(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[psutil.Process], int]]:
    """A hunt that goes on, its two processes, and what it says: on a terminal each second, else only each tenth."""
    arguments = (CAMPAIGNS / "smoke.toml", "--jobs", 2, "--max-seconds", scaled(60))
    ours, theirs = pty.openpty()
    surroundings = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command(tmp_path, *arguments), stdout=theirs, env=surroundings) as process:
        os.close(theirs)
        said = ""
        while not re.search(r"[1-9]\d* schedule", said):
            said += os.read(ours, 4096).decode()
        yield process, psutil.Process(process.pid).children(recursive=True), ours
        process.kill()
    os.close(ours)


def test_no_process_outlives_a_hunt_that_is_killed(
    hunting: tuple[subprocess.Popen[bytes], list[psutil.Process], int],
) -> None:
    process, workers, _ = hunting
    assert len(workers) == 2
    process.kill()
    _, alive = psutil.wait_procs(workers, timeout=scaled(10))
    assert not alive


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_can_be_ended_and_says_how_far_it_came(
    hunting: tuple[subprocess.Popen[bytes], list[psutil.Process], int], number: signal.Signals
) -> None:
    process, workers, terminal = hunting
    process.send_signal(number)
    assert process.wait(scaled(10)) == 130
    _, alive = psutil.wait_procs(workers, timeout=scaled(10))
    assert not alive
    assert re.search(r"schedules?, .* times real time\r\n", rest(terminal)), "the last line, which is whole"


def test_what_did_not_hold_is_said_when_a_hunt_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "blocks.py").write_text(BLOCKS_THIRD)
    (tmp_path / "blocks.toml").write_text(WRITTEN.replace("broken", "blocks"))
    ours, theirs = pty.openpty()
    surroundings = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(tmp_path)}
    arguments = command(tmp_path, tmp_path / "blocks.toml", "--plugin", "blocks", "--max-seconds", scaled(60))
    with subprocess.Popen(arguments, stdout=theirs, stderr=theirs, env=surroundings) as process:
        os.close(theirs)
        said = ""
        while "2 schedules" not in said:
            said += os.read(ours, 4096).decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(scaled(10)) == 130
    said = rest(ours)
    os.close(ours)
    for seed in (1, 2):
        assert f"blocks seed {seed}: environment, and it could not be kept\r\n" in said, said
        assert f"blocks.toml --seeds {seed} --backend sim" in said


def rest(terminal: int) -> str:
    """What is left to be read once nobody has it open: in pieces, of which the first need not be all."""
    said = b""
    with contextlib.suppress(OSError):  # how Linux says that it is the end
        while piece := os.read(terminal, 1 << 16):
            said += piece
    return said.decode()


def test_what_was_found_is_said_where_it_cannot_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").write_text("no folder")
    zombie = str(CAMPAIGNS / "zombie.toml")
    assert main(["hunt", zombie, "--mutant", "KAFKA-6082", "--from-seed", "7", "--out", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr()
    assert "zombie seed 7: violated, and it could not be kept" in said.out
    assert "--seeds 7 --backend sim --mutant KAFKA-6082" in said.out
    assert "no run directory can be made" in said.err
