"""A campaign on a program of the user's, as a person runs it: real ZooKeeper, real proxies, 40 lines with kazoo."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kcontroller_chaos.history.read import History, read_history
from pytest_kcontroller.model.history import FaultAsked, ProgramSaid, SessionGranted
from tests.integration.chaos.test_campaign_run import campaign, only_run, verdicts

ELECT = Path(__file__).parents[2] / "data" / "programs" / "elect.py"
FILE = f"""\
[campaign]
name = "mine"
duration_s = 30

[cluster]
nodes = 2
session_timeout_ms = 3000

[system]
command = "{sys.executable} {ELECT} {{zk}} {{id}} {{session_timeout_ms}}"
ready = "znode:/my/members/{{id}}"

[[faults]]
id = "frozen"
kind = "pause"
target = "owner-of:/my/leader"
at_s = 0.5
duration_s = 8

[[faults]]
id = "apart"
kind = "partition"
mode = "zookeeper"
target = "owner-of:/my/leader"
when = "healed:frozen"
after_ms = 500
duration_s = 0.3

[[faults]]
id = "dead"
kind = "kill"
target = "owner-of:/my/leader"
when = "healed:apart"
after_ms = 300
duration_s = 0.1

[[faults]]
id = "asked"
kind = "graceful_stop"
target = "owner-of:/my/leader"
when = "healed:dead"
after_ms = 300
duration_s = 0.1

[[faults]]
id = "rolled"
kind = "restart"
target = "random"
when = "healed:asked"
"""


def test_faults_hit_who_owns_the_znode_and_beliefs_are_in_the_history(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    done = campaign(file, out=tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    run = only_run(tmp_path / "runs")
    value = verdicts(run)
    assert [fault["status"] for fault in value["faults"]] == ["healed"] * 5
    assert [entry["name"] for entry in value["invariants"]] == ["nodes-stay-up"]
    history = read_history(run / "history")
    frozen = next(event for event in history.of(FaultAsked) if event["fault"] == "frozen")
    assert {event["session"]: event["node"] for event in history.of(SessionGranted)}[frozen["session"]] == frozen[
        "node"
    ]
    overlap_us = believed_by_both_us(history, frozen["node"])
    assert overlap_us > 100_000, "who was frozen believed on for longer than its session lived"
    timeline = json.loads((run / "timeline.json").read_text())
    assert {entry["node"] for entry in timeline["sessions"] if entry["view"] == "zookeeper"} >= {0, 1}


ONCE = """\
import sys, time
from pathlib import Path
from kazoo.client import KazooClient
zk, node, directory = sys.argv[1:]
client, been = KazooClient(zk, timeout=6), Path(directory, "been-here")
client.start()
if not been.exists():
    been.touch()
    client.create(f"/my/members/{node}", ephemeral=True, makepath=True)
time.sleep(600)
"""


def test_a_program_that_is_never_ready_again_is_violated_and_no_environment_failure(tmp_path: Path) -> None:
    """That its process runs again is the end of the fault."""
    (tmp_path / "once.py").write_text(ONCE)
    head, _, faults = FILE.partition('id = "frozen"')
    assert faults
    kill = 'kind = "kill"\ntarget = "node:0"\nat_s = 0.1\nduration_s = 0.1\n'
    text = f"{head}{kill}".replace("duration_s = 30", "duration_s = 1").replace("{session_timeout_ms}", "{dir}")
    text = text.replace(str(ELECT), str(tmp_path / "once.py")).replace("\n\n[[faults]]", "\nready_s = 5\n\n[[faults]]")
    (tmp_path / "mine.toml").write_text(text)
    done = campaign(tmp_path / "mine.toml", out=tmp_path / "runs")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "nodes-stay-up: node 0 runs, and is not ready again: there is no znode /my/members/0" in done.stdout
    value = verdicts(only_run(tmp_path / "runs"))
    assert [fault["status"] for fault in value["faults"]] == ["healed"]


MORTAL = """\
import sys, threading
from kazoo.client import KazooClient
client, lost = KazooClient(sys.argv[1], timeout=6), threading.Event()
client.add_listener(lambda state: state == "LOST" and lost.set())
client.start()
client.create(f"/my/members/{sys.argv[2]}", ephemeral=True, makepath=True)
lost.wait()
sys.exit("the session has expired")
"""


def test_a_program_that_ends_by_itself_is_shown_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "mortal.py").write_text(MORTAL)
    head, _, faults = FILE.partition('id = "frozen"')
    assert faults
    expiry = 'kind = "session_expiry"\nmode = "server"\ntarget = "node:0"\nat_s = 0.1\n'
    text = f"{head}{expiry}".replace("duration_s = 30", "duration_s = 1").replace(str(ELECT), "mortal.py")
    (tmp_path / "mine.toml").write_text(text.replace("\n\n[[faults]]", f'\ndirectory = "{tmp_path}"\n\n[[faults]]'))
    done = campaign(tmp_path / "mine.toml", out=tmp_path / "runs")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "nodes-stay-up: node 0 ended with status 1; it printed last: " in done.stdout
    assert " | the session has expired (logs/node-0*.log, " in done.stdout, "kazoo has said something before"


def believed_by_both_us(history: History, frozen: int) -> int:
    """From the other's belief that it leads until the frozen one gave up its own."""
    said: list[dict[str, Any]] = [dict(event) for event in history.of(ProgramSaid)]
    other = next(event for event in said if event["node"] != frozen and "leads" in event["said"])
    gave_up = next(event for event in said if event["node"] == frozen and "follows" in event["said"])
    return int(gave_up["at_us"]) - int(other["at_us"])
