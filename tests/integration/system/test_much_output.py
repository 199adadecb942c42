"""Programs that print more than is read as they print it: nothing that they said before the end is left out of a verdict."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.play.runner import Options, run_once
from kcontroller_chaos.znode_invariants import one_owner
from pytest_kcontroller import KSystems
from pytest_kcontroller.cluster.system import output
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import InvariantError

BURST = """
import json, sys, threading, kazoo.client as k
client, go = k.KazooClient(sys.argv[1]), threading.Event()
client.start()
client.exists("/go", lambda event: go.set()) or go.wait()
sys.stdout.write('{"level": "info", "message": "a request was served"}\\n' * 30_000)
print(json.dumps({"leads": "/my/lock"}), flush=True)
client.create(f"/done/{sys.argv[2]}", makepath=True)
threading.Event().wait()
"""


@pytest.mark.kcontroller(backends=["process"])
def test_what_was_said_behind_a_burst_is_judged(kc_system: KSystems) -> None:
    system = kc_system([sys.executable, "-c", BURST, "{zk}", "{id}"], nodes=2)
    done = threading.Event()
    system.zk.ensure_path("/done")

    @system.zk.ChildrenWatch("/done")  # type: ignore[untyped-decorator]
    def look(children: list[str]) -> None:
        if len(children) == len(system.nodes):
            done.set()

    system.zk.create("/go")
    assert done.wait(scaled(60))
    with pytest.raises(InvariantError, match=r"one-believer\(/my/lock\)"):
        system.check(one_owner("/my/lock"))


PRINTS = """
import signal, sys, kazoo.client as k
kazoo = k.KazooClient(sys.argv[1])
kazoo.start()
kazoo.create("/ready", ephemeral=True)
if sys.argv[2] == "end":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    signal.sigwait([signal.SIGTERM])
print('{"n": 1}\\n' * 20, flush=True)
if sys.argv[2] == "begin":
    signal.pause()
"""
FILE = """
[campaign]
name = "much"
duration_s = 1

[cluster]
nodes = 1

[system]
command = "{{python}} prints.py {{zk}} {when}"
directory = "{directory}"
ready = "znode:/ready"

[thresholds]
faults_applied = 0
operations_ok = 0
"""


@pytest.mark.parametrize("when", ["begin", "end"])
def test_a_run_with_more_objects_than_are_read_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Also if it prints them when it is asked to end: what it said last is not known."""
    monkeypatch.setattr(output, "MOST_SAID", 10)
    (tmp_path / "prints.py").write_text(PRINTS)
    file = tmp_path / "much.toml"
    file.write_text(FILE.format(directory=tmp_path, when=when))
    result = asyncio.run(run_once(load_campaign(file), 1, Options(out=tmp_path / "runs")))
    assert result.verdict == "environment", result
    assert "the program of node 0 has printed more than 10 JSON objects" in result.error
