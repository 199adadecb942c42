"""The fixture `kc_system`: what a test does to a program of its own, and what it sees of it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.exceptions import NoAuthError

from kcontroller_chaos.znode_invariants import exists_after_healing, one_owner, owned_after_healing
from pytest_kcontroller import KSystems
from pytest_kcontroller.cluster.children.processes import Leftover, leftovers, session_id
from pytest_kcontroller.errors import (
    EnvironmentFailure,
    InvariantError,
    NeverExercisedWarning,
    StartError,
    UsageError,
    WaitTimeoutError,
)
from pytest_kcontroller.fixtures.noted import clusters_key

ELECT = Path(__file__).parents[2] / "data" / "programs" / "elect.py"
COMMAND = [sys.executable, ELECT, "{zk}", "{id}", "{session_timeout_ms}"]
LEADER = "/my/leader"

pytestmark = pytest.mark.kcontroller(backends=["process"])


@pytest.fixture(autouse=True)
def nothing_is_there_for_another_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """A plugin that runs a failed test again does so with the same item: what it had is not to be mended then."""
    yield
    assert not request.node.stash.get(clusters_key, {})


def test_a_leader_is_killed_paused_cut_off_and_loses_its_session(kc_system: KSystems) -> None:
    system = kc_system(COMMAND, nodes=2, ready="znode:/my/members/{id}", session_timeout_ms=3000)
    first = system.wait_for_owner(LEADER)
    assert system.wait_until_said(first, leads=LEADER)["at_ns"] > 0
    with pytest.raises(WaitTimeoutError, match=r"node \d says \{.*\} after the first 1 that it said: "):
        system.wait_until_said(first, leads=LEADER, since=1, timeout_s=0.1)
    for since in (-1, None, True, "1"):
        with pytest.raises(
            UsageError, match=f"since={since!r} is no number of objects\n  -> a whole number, 0 or more"
        ):
            system.wait_until_said(first, leads=LEADER, since=since)  # type: ignore[arg-type]
    assert system.zk.get(LEADER)[0] == str(first).encode()

    system.kill(first)
    second = system.wait_for_owner(LEADER, other_than=first)
    assert system.running == (second,)
    system.restart(first)
    system.wait_until_ready()
    system.check(one_owner(LEADER)[0], owned_after_healing(LEADER), exists_after_healing("/my/members/*", count=2))

    expired = system.expire_session(second)
    assert system.wait_for_owner(LEADER) in system.nodes
    assert expired in [int(event["session"], 16) for event in system.history.of("session.granted")]

    third = system.wait_for_owner(LEADER)
    before = {node: len(system.said(node)) for node in system.nodes}
    with system.chaos.fault("pause", target=f"owner-of:{LEADER}") as paused:
        assert paused.nodes == (third,)
        other = system.wait_for_owner(LEADER, other_than=third)
        system.wait_until_said(other, leads=LEADER, since=before[other])
    system.wait_until_said(third, follows=LEADER, since=before[third])
    system.wait_until_ready()
    with pytest.raises(InvariantError, match="one-believer"):
        system.check(one_owner(LEADER))

    system.net.cut(other, "zookeeper")
    with pytest.raises(UsageError, match="a cluster with a cut link cannot be judged"):
        system.check()
    assert system.wait_for_owner(LEADER, other_than=other) == third
    system.net.heal()
    system.wait_until_ready()
    assert system.stop(other) is None
    assert system.running == (third,)


def test_a_leader_that_only_its_service_may_read(kc_system: KSystems) -> None:
    """Who owns a znode is seen by the harness, whatever ACL it and its parents have."""
    command = [sys.executable, ELECT.with_name("elect_apart.py"), *COMMAND[2:]]
    system = kc_system(command, nodes=2, ready="znode:/my/members/{id}", session_timeout_ms=3000)
    with pytest.raises(NoAuthError):
        system.zk.get(LEADER)
    first = system.wait_for_owner(LEADER)
    with system.chaos.fault("kill", target=f"owner-of:{LEADER}") as killed:
        assert killed.nodes == (first,)
        system.wait_for_owner(LEADER, other_than=first)
    system.wait_until_ready()
    with pytest.raises(EnvironmentFailure, match="no session owns it; /my has leader, members"):
        system.chaos.inject("kill", target="owner-of:/my/reader")
    system.check(one_owner(LEADER)[0], owned_after_healing(LEADER), exists_after_healing("/my/members/*", count=2))


def test_of_a_node_with_several_sessions_the_one_that_owns_is_meant(kc_system: KSystems) -> None:
    """Each of them may make the znode that says that it is ready."""
    command = [sys.executable, ELECT.with_name("elect_with_data.py"), *COMMAND[2:]]
    system = kc_system(command, nodes=2, ready="znode:/my/members/{id}", session_timeout_ms=3000)
    first = system.wait_for_owner(LEADER)
    session = system.zk.get(LEADER)[1].ephemeralOwner
    with pytest.raises(EnvironmentFailure, match=f"no session of node {1 - first} owns {LEADER} now"):
        system.expire_session(1 - first, owning=LEADER)
    with pytest.raises(UsageError, match="nobody can own"):
        system.expire_session(first, owning="my/leader")
    assert system.expire_session(first, owning=LEADER) == session

    second = system.wait_for_owner(LEADER)
    session = system.zk.get(LEADER)[1].ephemeralOwner
    with system.chaos.fault("session_expiry", mode="server", target=f"owner-of:{LEADER}") as expired:
        assert expired.nodes == (second,)
        system.wait_for_owner(LEADER)
    assert system.zk.get(LEADER)[1].ephemeralOwner != session
    assert system.history.of("fault.asked")[-1]["sessions"] == [hex(session)]
    system.wait_until_ready()
    system.check(one_owner(LEADER)[0], owned_after_healing(LEADER))


def test_what_shall_be_in_the_end_is_waited_for_as_in_a_campaign(kc_system: KSystems) -> None:
    system = kc_system(COMMAND, nodes=2, ready="znode:/my/members/{id}", session_timeout_ms=3000)
    everybody = exists_after_healing("/my/members/*", count=2)
    system.expire_session(0, "natural")
    system.check(everybody)  # node 0 is not connected yet, which is our doing and no finding

    killed = system.chaos.inject("kill", target="node:0")
    said = r"a node that a fault has ended \(0, by kill-1\) cannot be judged\n  -> heal the fault first"
    with pytest.raises(UsageError, match=said):
        system.check(everybody)
    killed.heal()
    system.check(everybody)
    system.kill(0)  # one that the test has ended itself may be down in the end
    system.check(one_owner(LEADER)[0])


SERVE = """
import http.server, sys, kazoo.client
kazoo.client.KazooClient(sys.argv[1]).start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), http.server.SimpleHTTPRequestHandler)
print("serving", sys.argv[3], flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize("ready", ["port", "log:serving {dir}"])
def test_a_port_or_a_line_says_that_it_is_ready(kc_system: KSystems, ready: str) -> None:
    from urllib.request import urlopen

    system = kc_system([sys.executable, "-c", SERVE, "{zk}", "{port}", "{dir}"], nodes=1, ready=ready)
    with urlopen(f"http://{system.address(0)}/") as answer:
        assert answer.status == 200


def program(text: str) -> list[str]:
    return [sys.executable, "-c", f"import os, signal, sys, time, kazoo.client as k\n{text}"]


BAD = {
    "it ends at once": ("print('no licence'); sys.exit(3)", {}, "it ended with status 3 .*no licence"),
    "it never gets a session": (
        "sys.stderr.write('no licence'); print('still here', flush=True); time.sleep(99)",
        {"ready_s": 1},
        r"it has no ZooKeeper session yet; not ready within ready_s = 1[ :].*cd .* && .*still here.*no licence|"
        r"it has no ZooKeeper session yet; not ready within ready_s = 1[ :].*no licence.*still here",
    ),
    "it hangs": ("while True: pass", {"ready_s": 1}, "it has no ZooKeeper session yet"),
    "garbage": ("os.write(1, os.urandom(3000000)); sys.exit(1)", {}, "it ended with status 1"),
    "no znode": (
        "k.KazooClient(os.environ['ZK']).start(); time.sleep(99)",
        {"ready_s": 2, "ready": "znode:/my/{id}", "env": {"ZK": "{zk}"}},
        "there is no znode /my/0; / has zookeeper",
    ),
}


@pytest.mark.parametrize("how", BAD)
def test_a_program_that_does_not_start_is_told_in_a_sentence(kc_system: KSystems, how: str) -> None:
    text, more, said = BAD[how]
    with pytest.raises(StartError, match=f"(?s)^node 0 did not start: .*({said})"):
        kc_system([*program(text), "{zk}"], nodes=1, **more)


ENDS = """
client = k.KazooClient(sys.argv[1])
client.start()
client.ensure_path("/my/members")
if sys.argv[2] == "1":
    client.create("/my/members/1", ephemeral=True)
    sys.exit("the address is in use")
time.sleep(500)
"""


def test_the_node_that_has_ended_is_named_before_one_that_is_not_ready(kc_system: KSystems) -> None:
    """It was ready before, or was not seen to be."""
    said = "(?s)^node 1 did not start: it ended .*the address is in use"
    with pytest.raises(StartError, match=said):
        kc_system([*program(ENDS), "{zk}", "{id}"], nodes=2, ready="znode:/my/members/{id}", ready_s=8)


DEAF = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
client = k.KazooClient(sys.argv[1])
client.start()
while True:
    time.sleep(600)
"""


def test_one_that_ignores_the_signal_and_forks_leaves_nothing(kc_system: KSystems) -> None:
    from pytest_kcontroller.errors import EnvironmentFailure

    def mine() -> list[Leftover]:
        return [each for each in leftovers() if each.session == session_id() and "time.sleep(600)" in each.command]

    system = kc_system([*program(DEAF), "{zk}"], nodes=1, stop_s=0.5)
    with pytest.raises(EnvironmentFailure, match=r"node 0 did not end within .* s after SIGTERM"):
        system.stop(0)
    assert mine() != []
    system.kill(0)
    assert mine() == []


MORTAL = """
client = k.KazooClient(sys.argv[1], timeout=6)
client.add_listener(lambda state: state == "LOST" and os._exit(4))
client.start()
client.ensure_path("/members")
while True:
    try:
        client.create(sys.argv[2], ephemeral=True)
    except k.NodeExistsError:
        time.sleep(0.05)
        continue
    time.sleep(600)
"""


def test_one_that_ends_when_its_session_does_is_started_again(kc_system: KSystems) -> None:
    command = [*program(MORTAL), "{zk}", "/members/{id}"]
    system = kc_system(command, nodes=1, ready="znode:/members/{id}", respawn=True)
    system.expire_session(0)
    system.wait_until_ready()

    async def kill_too_late() -> None:
        node = system._cluster.process(0)
        assert node.pid is not None and node._watch is not None
        os.kill(node.pid, signal.SIGKILL)
        await node._watch
        await system._cluster.kill(0)

    with pytest.raises(UsageError, match="node 0 does not run"):
        system._driver.call(kill_too_late())
    system.wait_until_ready()  # as nothing was done to it
    assert [event["status"] for event in system.history.of("process.exited")] == [4, -9]
    assert system.history.of("node.respawned")
    system.check()
    system.kill(0)

    async def restart_twice() -> None:
        """As when a fault is healed in the moment in which a program is started again anyway."""
        await asyncio.gather(system._cluster.restart(0), system._cluster.restart(0))

    system._driver.call(restart_twice())
    started = [each for each in leftovers() if each.session == session_id() and "/members/0" in each.command]
    assert len(started) == 2, "its supervisor and itself"
    system.check()


def test_a_marker_that_says_nothing_to_it_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest


        @pytest.mark.kcontroller(nodes=5)
        def test_it(kc_system):
            kc_system("./my-service")
        """
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(
        ["*the marker kcontroller(nodes=5) is of a kcluster, and kc_system takes it in its call"]
    )
    result.assert_outcomes(errors=1)


def test_the_summary_begins_with_the_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest

        from kcontroller_chaos.znode_invariants import value_never_decreases
        from pytest_kcontroller.errors import StartError

        pytestmark = pytest.mark.kcontroller(backends=["process"])
        TEXT = "import sys, time, kazoo.client as k; k.KazooClient(sys.argv[1]).start(); time.sleep(600)"


        def test_1(kc_system):
            kc_system(["{python}", "-c", "", "{zk}"], nodes=1)

        def test_2(kc_system):
            system = kc_system(["{python}", "-c", TEXT, "{zk}"], nodes=1)
            system.zk.create("/x", b"2")
            system.zk.set("/x", b"1")
            kc_system(["{python}", "-c", TEXT, "{zk}"], nodes=1)
            system.check(value_never_decreases("/x"))
        """
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.stdout.fnmatch_lines(
        [
            "*- kc_system: to run it again -*",
            "*- kc_system 2: to run it again -*",
            "FAILED test_it.py::test_1 - node 0 did not start: it ended *",
            "FAILED test_it.py::test_2 - value-never-decreases(/x) is violated: *",
        ]
    )
    assert "contextlib.py" not in result.stdout.str(), "where it happened is in the test"


def test_a_wrong_call_is_shown_where_it_is_made(pytester: pytest.Pytester) -> None:
    """Wherever in our code it is refused."""
    pytester.makepyfile(
        test_it="""
        import pytest

        from kcontroller_chaos.znode_invariants import ephemeral_back_within, one_owner

        pytestmark = pytest.mark.kcontroller(backends=["process"])
        COMMAND = "{python} it.py {zk}"


        @pytest.mark.parametrize("wrong", [
            lambda kc_system: kc_system(COMMAND, node=3),
            lambda kc_system: kc_system(COMMAND, nodes="3"),
            lambda kc_system: kc_system("no-such-program {zk}"),
            lambda kc_system: kc_system("{python} it.py"),
            lambda kc_system: kc_system(COMMAND, ready="port"),
            lambda kc_system: one_owner("app/lock"),
            lambda kc_system: ephemeral_back_within("/app/*", "5"),
        ])
        def test(kc_system, wrong):
            wrong(kc_system)


        def test_a_block(kcontroller):
            with kcontroller(node=3):
                pass
        """
    )
    result = pytester.runpytest("-p", "no:randomly", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=8)
    lines = result.stdout.lines
    assert len([line for line in lines if re.match(r"test_it\.py:\d+: \w+Error$", line)]) == 8
    assert [line for line in lines if re.match(r"\S+/(pytest_kcontroller|kcontroller_chaos)/\S+:\d+:", line)] == []
    result.stdout.fnmatch_lines(["E *kc_system() has no argument 'node'", "E *-> did you mean `nodes`?"])
    result.stdout.fnmatch_lines(["E *kcontroller() has no argument 'node'"])


def test_who_takes_it_for_the_system_is_told_to_call_it(kc_system: KSystems) -> None:
    with pytest.raises(AttributeError, match=r"call it first, system = kc_system\(\.\.\.\), then system.kill"):
        kc_system.kill(0)  # type: ignore[attr-defined]


def test_what_nodes_of_ours_are_told_is_refused(kc_system: KSystems) -> None:
    with pytest.raises(UsageError, match=r"programs of yours as nodes, and log_dirs is of ours\n  -> leave it out"):
        kc_system(COMMAND, log_dirs=2)


def test_what_was_not_said_is_waited_for_and_told(kc_system: KSystems) -> None:
    text = "print('INFO me - {}'); print('x'); k.KazooClient(sys.argv[1]).start(); time.sleep(99)"
    system = kc_system([*program(text), "{zk}"], nodes=2)
    others = r"2 lines were printed that are no JSON object; the first: INFO me - \{\}"
    with pytest.raises(WaitTimeoutError, match=rf"node 0 says .*: it has said nothing; {others}"):
        system.wait_until_said(0, leads="/x", timeout_s=0.1)
    with pytest.raises(
        UsageError, match=r'latency: this backend has no .*\n  -> name {peers} .*; or use mode="zookeeper"'
    ):
        system.chaos.inject("latency", target="node:0", delay_ms=1)
    with pytest.raises(
        UsageError, match=r"there is nothing called 'zk'\n  -> a node's number, 'zookeeper' or 'client'"
    ):
        system.net.cut(0, "zk")
    for wrong, said in {
        "owner-of:/x/": "'owner-of:/x/' names no znode: no part of a path is empty",
        "owner-of:/x/*": "'owner-of:/x/\\*' names no znode: .* no pattern",
        "owner_of:/x": "'owner_of:/x' is no target\n  -> did you mean `owner-of:/a/znode`",
        "controller": "the target 'controller' is of nodes of ours\n  -> one of owner-of:/a/znode, random, node:N",
        None: 'pause has no target\n  -> say target="owner-of:/a/znode", or random or node:N',
    }.items():
        with pytest.raises(UsageError, match=said):
            system.chaos.inject("pause", target=wrong)
    with pytest.raises(UsageError, match="there is no fault 'freeze'\n  -> there are: ") as offered:
        system.chaos.inject("freeze", target="random")
    assert "pause" in str(offered.value) and "depose" not in str(offered.value)
    for path in ("x/y", "/x/", "/x/*"):
        with pytest.raises(UsageError, match="nobody can own "):
            system.wait_for_owner(path)
        with pytest.raises(UsageError, match="nobody can own "):
            system.owner(path)
    with pytest.raises(UsageError, match="there is no node 7; there are: 0, 1"):
        system.wait_for_owner("/x", other_than=7)
    with pytest.raises(
        UsageError, match=r"its program is not told where to listen\n  -> write {port} into its command"
    ):
        system.address(0)
    with pytest.raises(
        UsageError, match=r"there is no link between node 0 and node 1\n  -> name {peers} in its command"
    ):
        system.net.cut(0, 1)
    assert system.owner("/x") is None
    with pytest.raises(WaitTimeoutError, match=r"a node owns /x/y: no session owns it; / has zookeeper"):
        system.wait_for_owner("/x/y", timeout_s=0.1)
    with pytest.warns(NeverExercisedWarning) as idle:
        system.check([*one_owner("/x")])
    assert {str(told.message).partition(": nothing")[0] for told in idle} == {
        "never exercised: one-owner(/x)",
        "never exercised: one-believer(/x)",
    }
    assert any("objects; node 0: 2 lines were printed that are no JSON object" in str(told.message) for told in idle)
    with pytest.raises(UsageError, match=r"'/x' is no invariant"):
        system.check("/x")  # type: ignore[arg-type]
