"""`kcontroller up`: a cluster that says what happens to it, and that leaves nothing whatever ends it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import psutil
import pytest

from pytest_kcontroller.cli import main
from pytest_kcontroller.cluster.timing import scaled

PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]
SCHEMA = json.loads((Path(__file__).parents[3] / "docs/cli.schema.json").read_text())


class Up:
    """A running `kcontroller up`; `lines` is what it has said so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.lines = process, list[str]()

    def until(self, pattern: str) -> re.Match[str]:
        """Reads on to the first line that matches."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if (found := re.search(pattern, line)) is not None:
                return found
        raise AssertionError(f"it ended without {pattern!r}:\n{''.join(self.lines)}")

    def pids(self) -> dict[int, int]:
        """Node -> pid, from the lines that it prints when it is up."""
        found = re.findall(r"^  node (\d+)  \S+  pid (\d+)", "".join(self.lines), re.MULTILINE)
        return {int(node): int(pid) for node, pid in found}


@contextlib.contextmanager
def up(temporary: Path, *arguments: str) -> Iterator[Up]:
    process = subprocess.Popen(
        [*PROGRAM, "up", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    limit = threading.Timer(scaled(90), process.kill)  # so that a line that never comes is a failure
    limit.start()
    try:
        with process:
            yield Up(process)
            process.kill()
    finally:
        limit.cancel()


def test_it_says_what_happens_and_stops_at_ctrl_c(tmp_path: Path) -> None:
    with up(tmp_path, "--topic", "orders:2:3", "--session-timeout-ms", "6000") as cluster:
        epoch = int(cluster.until(r"controller, epoch (\d+)")[1])
        while len(cluster.pids()) < 3:
            cluster.until(r"^  node ")
        said = "".join(cluster.lines)
        assert "3 nodes are up; Ctrl-C stops everything\n" in said
        assert re.search(r"^  bootstrap servers +(127\.4\.251\.\d:\d+,){2}127\.4\.251\.\d:\d+$", said, re.MULTILINE)
        assert re.search(r"^  session time-out +6000 ms$", said, re.MULTILINE)
        assert re.search(r"^  topics +orders \(2 x 3\)$", said, re.MULTILINE)
        found = re.search(r"^  node (\d)  \S+  pid (\d+)  controller", said, re.MULTILINE)
        assert found is not None
        logs = re.search(r"^  logs +(\S+)$", said, re.MULTILINE)
        assert logs is not None
        assert (Path(logs[1]) / "node-0.log").exists()

        os.kill(int(found[2]), signal.SIGKILL)
        ended = cluster.until(r"node (\d) ended by SIGKILL; nodes that run: (\d, \d); its log: (\S+)")
        assert ended[1] == found[1]
        assert Path(ended[3]).exists()
        after = cluster.until(r"controller: node (\d), epoch (\d+)")
        assert after[1] != found[1]
        assert int(after[2]) > epoch

        children = psutil.Process(cluster.process.pid).children(recursive=True)
        cluster.process.send_signal(signal.SIGINT)
        cluster.until(r"^stopped; nothing is left$")
        assert cluster.process.wait() == 130
        assert "Traceback" not in "".join(cluster.lines)
    assert not psutil.wait_procs(children, timeout=scaled(10))[1]
    assert [*tmp_path.iterdir(), *outside(cluster)] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.usefixtures("hangups")
def test_other_signals_leave_nothing_either(number: signal.Signals, tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "1", "--json") as cluster:
        line = cluster.until(r'^{"event": "up".*').group()
        jsonschema.validate(json.loads(line), SCHEMA)
        assert json.loads(line)["controller"] == 0
        children = psutil.Process(cluster.process.pid).children(recursive=True)
        cluster.process.send_signal(number)
        if number != signal.SIGKILL:
            jsonschema.validate(json.loads(cluster.until(r'^{"event": "stopped".*').group()), SCHEMA)
        assert cluster.process.wait() == (-number if number == signal.SIGKILL else 130)
    gone, alive = psutil.wait_procs(children, timeout=scaled(15))
    assert len(gone) >= 5
    assert not alive
    assert [*tmp_path.iterdir(), *outside(cluster)] == []


@pytest.mark.parametrize("form", ["text", "json"])
def test_it_can_be_stopped_when_nobody_reads_it_any_more(form: str, tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "1", *(["--json"] if form == "json" else [])) as cluster:
        cluster.until(r'"event": "up"' if form == "json" else r"^  node 0")
        children = psutil.Process(cluster.process.pid).children(recursive=True)
        assert cluster.process.stdout is not None
        cluster.process.stdout.close()  # of stderr too, which goes there
        cluster.process.send_signal(signal.SIGINT)
        assert cluster.process.wait(scaled(60)) == 130
    assert not psutil.wait_procs(children, timeout=scaled(15))[1]
    assert [*tmp_path.iterdir(), *outside(cluster)] == []


def test_ctrl_c_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    with up(tmp_path) as cluster:
        cluster.until("starting ZooKeeper and 3 nodes")
        cluster.process.send_signal(signal.SIGINT)
        assert cluster.process.wait() == 130
    assert list(tmp_path.iterdir()) == []


def zookeeper_of(cluster: Up) -> psutil.Process:
    (found,) = [c for c in psutil.Process(cluster.process.pid).children(recursive=True) if c.name() == "java"]
    return found


def test_sigkill_after_the_end_of_zookeeper_leaves_nothing_either(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "1") as cluster:
        cluster.until("1 node is up")
        children = psutil.Process(cluster.process.pid).children(recursive=True)
        zookeeper = zookeeper_of(cluster)
        cluster.process.send_signal(signal.SIGSTOP)  # it must not notice
        zookeeper.kill()
        assert not psutil.wait_procs([zookeeper], timeout=scaled(10))[1]
        cluster.process.send_signal(signal.SIGKILL)
        cluster.process.wait()
    assert not psutil.wait_procs(children, timeout=scaled(15))[1]
    assert list(tmp_path.iterdir()) == []
    assert outside(cluster) == []


def outside(cluster: Up) -> list[Path]:
    """Its directories outside of TMPDIR, whose path may be too long for sockets."""
    return list(Path("/tmp").glob(f"kcontroller-{cluster.process.pid}-*"))


def test_the_end_of_zookeeper_is_status_6(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "1", "--keep", str(tmp_path / "kept")) as cluster:
        cluster.until(r"^  node 0")
        zookeeper_of(cluster).kill()
        cluster.until("kcontroller: .*zookeeper.log: ZooKeeper (has ended|does not answer)")
        assert cluster.process.wait() == 6
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_what_is_kept_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with up(tmp_path, "--nodes", "1", "--keep", str(kept)) as cluster:
        cluster.until(r"^  node 0")
        cluster.process.send_signal(signal.SIGINT)
        cluster.until(f"^stopped; histories and logs are in {kept}$")
    assert (kept / "history" / "node-0.jsonl").exists()
    assert "process.exited" in (kept / "history" / "engine.jsonl").read_text(), "opened as every run is"
    assert (kept / "logs" / "zookeeper.log").exists()
    assert list((kept / "zookeeper").glob("log.*"))


def test_a_start_that_fails_shows_the_log_and_is_status_6(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\n[ "$1" = -version ] && exit 0\necho "no memory for a JVM today"\nexit 1\n')
    java.chmod(0o755)
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "KCONTROLLER_JAVA": str(java), "TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run(
        [*PROGRAM, "up"], capture_output=True, text=True, timeout=scaled(60), check=False, env=environment
    )
    assert done.returncode == 6
    assert "ZooKeeper did not start" in done.stderr
    assert "no memory for a JVM today" in done.stderr
    assert "with --keep DIR it stays" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--nodes", "0"], "--nodes: 1 to 200 nodes are possible, not 0"),
        (["--log-dirs", "0"], "--log-dirs: 1 to 16 are possible, not 0"),
        (["--session-timeout-ms", "0"], "--session-timeout-ms: 1 to 60000 ms are possible, not 0"),
        (["--session-timeout-ms", "60001"], "--session-timeout-ms: 1 to 60000 ms are possible, not 60001"),
        (["--topic", "a b"], "--topic: 'a b' is no name of a topic"),
        (["--topic", "orders:six"], "--topic: 'orders:six' is not NAME"),
        (["--topic", ".."], "--topic: '..' is no name of a topic"),
        (["--topic", "orders:0"], "--topic: 'orders:0' has none of something"),
        (
            ["--topic", "orders:99999999"],
            "--topic: 99999999 partitions of orders are too many\n  -> 1 to 10000",
        ),
        (["--topic", "orders:1:4"], "--topic: 4 replicas of orders do not fit on 3 nodes"),
        (["--topic", "orders", "--topic", "orders:2"], "--topic: two topics are called orders"),
        (["--keep", "full"], "--keep: full is not empty"),
        (["--keep", "full/file"], "--keep: full/file: "),
    ],
)
def test_a_bad_option_is_named_before_anything_starts(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert main(["up", *arguments]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.out == ""
