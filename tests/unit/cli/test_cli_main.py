"""The frame of the command line: errors become one message and a status."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kcontroller import cli
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, UsageError

SMOKE = str(Path(__file__).parents[3] / "chaos/campaigns/smoke.toml")


def _raises(error: BaseException) -> Callable[[Any], int]:
    def run(_: Any) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("run", "status", "says"),
    [
        (lambda _: 0, 0, ""),
        (lambda _: 4, 4, ""),
        (_raises(UsageError("no such key", where="a.toml:3", hint="use another")), 2, "a.toml:3: no such key"),
        (_raises(EnvironmentFailure("a port is taken")), 6, "a port is taken"),
        (_raises(KeyboardInterrupt()), 130, "interrupted"),
        (_raises(ZeroDivisionError("oops")), 3, "internal error: ZeroDivisionError: oops"),
        (_raises(GeneratorExit("oops")), 3, "internal error: GeneratorExit: oops"),
        (_raises(SystemExit(0)), 2, "a plugin ended the process (sys.exit(0))"),
    ],
)
def test_every_end_has_its_status(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    run: Callable[[Any], int],
    status: int,
    says: str,
) -> None:
    monkeypatch.delenv("KCONTROLLER_DEBUG", raising=False)
    command = SimpleNamespace(NAME="try", HELP="tries", add_arguments=lambda parser: None, run=run)
    monkeypatch.setattr(cli, "_commands", lambda: {"try": command})
    assert cli.main(["try"]) == status
    printed = capsys.readouterr()
    assert says in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO])
def test_what_cannot_be_written_is_no_bug_of_ours(number: int) -> None:
    assert cli.exit_status_of(OSError(number, os.strerror(number))) == 6
    assert cli.exit_status_of(OSError(errno.EACCES, "Permission denied")) == 3


def test_a_largest_size_of_files_is_named(tmp_path: Path) -> None:
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
    run = f"from pytest_kcontroller.cli import main; sys.exit(main({['campaign', 'run', SMOKE, '--backend', 'sim']!r}))"
    command = [sys.executable, "-c", f"{limited} {run}"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=scaled(60), check=False)
    assert (ended.returncode, ended.stderr) == (
        6,
        "kcontroller: nothing more can be written: [Errno 27] File too large\n",
    )


def test_the_traceback_is_there_when_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KCONTROLLER_DEBUG", "1")
    command = SimpleNamespace(NAME="try", HELP="", add_arguments=lambda p: None, run=_raises(ZeroDivisionError()))
    monkeypatch.setattr(cli, "_commands", lambda: {"try": command})
    assert cli.main(["try"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["nonsense"])
    assert ended.value.code == 2
    assert "nonsense" in capsys.readouterr().err


def test_help_names_the_commands_and_imports_nothing_heavy() -> None:
    script = (
        "import sys, contextlib\nfrom pytest_kcontroller.cli import main\n"
        "with contextlib.suppress(SystemExit):\n    main(['--help'])\n"
        "heavy = ('asyncio', 'kazoo', 'kafka', 'docker', 'psutil', 'pyspark', 'pytest')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=scaled(60)
    )
    assert "run one node in the foreground" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--id", "-1"], "--id: a broker id is 0 to 2147483647, not -1"),
        (["--id", "99999999999"], "--id: a broker id is 0 to 2147483647, not 99999999999"),
        (["--id", "0", "--port", "0", "--host", "a..b"], "--host: 'a..b' is no address: "),
        (["--id", "0", "--port", "0", "--directory", "/dev/null"], "--directory: '/dev/null': it is no directory"),
        (["--id", "0", "--port", "0", "--directory", "/dev/null/x"], "--directory: '/dev/null/x': Not a directory"),
        (["--id", "0", "--port", "70000"], "--port: a port is 0 to 65535"),
        (["--id", "0", "--set", "rack"], "--set: 'rack' is not KEY=VALUE"),
        (["--id", "0", "--set", "colour=red"], "--set: there is no setting 'colour'"),
        (["--id", "0", "--set", "selectors.offline=oflfine"], "did you mean `offline`"),
        (["--id", "0", "--set", "mutant=KAFKA-1"], "there is no mutant 'KAFKA-1'"),
        (["--id", "0", "--set", 'plugins=["no_such"]'], "the plugin no_such cannot be imported"),
        (["--id", "0", "--set", "plugins=5"], "setting `plugins`: 5 is not a list of names"),
        (["--id", "0", "--port", "0", "--set", "directory=5"], "setting `directory`: 5 is not a text"),
        (["--id", "0", "--set", "rack=1"], "setting `rack`: 1 is not a text"),
        (["--id", "0", "--port", "0", "--set", "kafka_compat=KAFKA-1"], "'KAFKA-1'"),
    ],
)
def test_a_bad_argument_of_node_is_named(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    assert cli.main(["node", "--zookeeper", "127.0.0.1:1", *arguments]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["campaign", "run", SMOKE, "--out", ""], "argument -o/--out: an empty name"),
        (["report", "runs", "--out", ""], "argument -o/--out: an empty name"),
        (["up", "--keep", ""], "argument --keep: an empty name"),
        (["campaign", "run", SMOKE, "--plugin", ""], "the plugin '' cannot be imported: ValueError: Empty module name"),
        (["gc", "--dry-run", "--session", "nope"], "--session: 'nope' is no id of a session\n  -> two numbers"),
        (
            ["campaign", "run", SMOKE, "--selector", "offline=offline", "--selector", "offline=b"],
            "--selector: offline is to be both offline and b\n  -> one selector for each reason",
        ),
    ],
)
def test_what_an_option_cannot_mean_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    try:
        status = cli.main(arguments)
    except SystemExit as ended:  # argparse's own
        status = ended.code
    assert status == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("node_id=5", "--set: 'node_id' has an option of its own\n  -> use --id"),
        ("zookeeper=127.0.0.1:2", "--set: 'zookeeper' has an option of its own\n  -> use --zookeeper"),
        ("listen=127.0.0.1:2", "--set: 'listen' has an option of its own\n  -> use --host and --port"),
        (f"log_dirs={'[' * 100_000}", "setting `log_dirs`: '[[["),
    ],
)
def test_a_setting_that_a_node_cannot_be_given_is_refused(
    capsys: pytest.CaptureFixture[str], setting: str, says: str
) -> None:
    assert cli.main(["node", "--zookeeper", "127.0.0.1:1", "--id", "0", "--set", setting]) == 2
    assert says in capsys.readouterr().err


def test_a_port_that_is_taken_is_named_before_zookeeper_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert cli.main(["node", "--zookeeper", "127.0.0.1:1", "--id", "0", "--port", port]) == 6
    assert f"--host and --port: cannot listen on 127.0.0.1:{port}: " in capsys.readouterr().err


def test_ctrl_c_while_it_loads_is_one_message_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_commands", interrupted)
    assert cli.main([]) == 130
    assert capsys.readouterr().err == "kcontroller: interrupted\n"
