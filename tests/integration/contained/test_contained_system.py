"""A program of the user's, in an image of theirs, as the nodes: the faults and the witness are the same."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import secrets
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kcontroller_chaos.history.read import read_history
from kcontroller_chaos.history.transactions import ZkTxn
from kcontroller_chaos.znode_invariants import exists_after_healing, owned_after_healing
from pytest_kcontroller import KSystems
from pytest_kcontroller.cluster.children.processes import session_id
from pytest_kcontroller.cluster.contained import BASE_VARIABLE
from pytest_kcontroller.cluster.contained.image import base, image_name, last_used, node_image, use_again
from pytest_kcontroller.cluster.docker import container_process
from pytest_kcontroller.cluster.docker.containers import SESSION_LABEL, Contained, ContainerSpec, engine
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.model.history import FaultAsked, ProcessExited
from tests.integration.chaos.test_campaign_run import campaign, only_run, verdicts
from tests.integration.cluster.test_container_zookeeper import NO_IMAGE
from tests.integration.system.test_peers import TALK, assert_links_are_hit_and_seen
from tests.integration.system.test_system_campaign import ELECT, believed_by_both_us
from tests.tools.programs import run_in

FILE = """\
[campaign]
name = "imaged"
duration_s = 24

[cluster]
nodes = 2
session_timeout_ms = 3000

[system]
image = "{image}"
command = "/srv/elect.py {{zk}} {{id}} {{session_timeout_ms}}"
env = {{ PEERS = "{{peers}}" }}
ready = "znode:/my/members/{{id}}"

[[faults]]
id = "frozen"
kind = "pause"
target = "owner-of:/my/leader"
at_s = 0.5
duration_s = 8

[[faults]]
id = "apart"
kind = "disconnect"
target = "owner-of:/my/leader"
when = "healed:frozen"
after_ms = 300
duration_s = 0.3

[[faults]]
id = "unheard"
kind = "partition"
mode = "control"
target = "random"
when = "healed:apart"
duration_s = 0.1

[[faults]]
id = "asked"
kind = "graceful_stop"
target = "owner-of:/my/leader"
when = "healed:unheard"
after_ms = 300
duration_s = 0.1
"""
DOCKERFILE = """\
FROM {base}
COPY elect.py talk.py /srv/
ENTRYPOINT ["python3"]
"""
LEADER = "/my/leader"
FORKING = """
import os, runpy, signal, time

if os.fork() == 0:  # one that works by forking, as a shell or a web server does; they stay when it is held up
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    workers = []
    while True:
        workers.append(os.fork())
        if workers[-1] == 0:
            signal.pause()
        if len(workers) > 20:
            os.kill(workers.pop(0), signal.SIGKILL)
        time.sleep(0.002)
runpy.run_path("/srv/elect.py", run_name="__main__")
"""


@pytest.fixture(scope="module")
def image(in_containers: str) -> Iterator[str]:
    """As somebody has built theirs; kazoo is in ours."""
    context, name = io.BytesIO(), f"kcontroller-programs:{os.getpid()}"
    files = {"Dockerfile": DOCKERFILE.format(base=node_image(())).encode()}
    files |= {program.name: program.read_bytes() for program in (ELECT, TALK)}
    with tarfile.open(fileobj=context, mode="w") as tar:
        for file, data in files.items():
            info = tarfile.TarInfo(file)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    context.seek(0)
    with engine() as client:
        client.images.build(fileobj=context, custom_context=True, tag=name, rm=True)
        yield name
        client.images.remove(name)


def test_faults_hit_containers_of_another_image(image: str, in_containers: str, tmp_path: Path) -> None:
    file = tmp_path / "imaged.toml"
    file.write_text(FILE.format(image=image))
    done = campaign(file, "--backend", "docker", "--zookeeper-image", in_containers, out=tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    run = only_run(tmp_path / "runs")
    assert [fault["status"] for fault in verdicts(run)["faults"]] == ["healed"] * 4
    history = read_history(run / "history")
    frozen, *_ = (event["node"] for event in history.of(FaultAsked))
    assert believed_by_both_us(history, frozen) > 100_000
    exited, *_ = history.of(ProcessExited)
    assert exited["status"] == -15, "it has no word for SIGTERM, and had it all the same, though it is alone there"
    assert any(event["type"] == "close-session" for event in history.of(ZkTxn))


def test_one_that_does_not_start_is_told_with_what_a_person_can_type(kc_system: KSystems, image: str) -> None:
    with pytest.raises(StartError) as ended:
        kc_system(["-c", "raise SystemExit('no licence')"], image=image, env={"ZK": "{zk}", "TOKEN": "s3"}, nodes=1)
    by_hand = rf"start it by hand: docker run --rm --user \S+ .*--env ZK=\S+:\d+ .*--env TOKEN=\.\.\. .*{image} -c .*"
    assert re.search(rf"{by_hand}# its ZooKeeper has ended with it(.|\n)*no licence", str(ended.value))
    with pytest.raises(StartError) as missing:
        kc_system("{zk}", image=NO_IMAGE, nodes=1)
    assert f"-> try `docker pull {NO_IMAGE}`, or name another image (`image` of the program)" in str(missing.value)
    for failed in (ended, missing):
        assert "--network" not in str(failed.value), "it is gone by now"


def test_no_command_line_on_this_machine_has_its_environment(image: str, tmp_path: Path) -> None:
    secret, log = secrets.token_hex(), tmp_path / "log"
    program = ("-c", "import os; print(os.environ['TOKEN'])")
    name = f"kcontroller-test-{session_id()}"

    async def run() -> list[str]:
        spec = ContainerSpec(name=name, image=image, environment={"TOKEN": secret}, command=program)
        container = await Contained.start(spec, log=log)
        try:
            assert await container.wait_ended() == 0, container.error
            commands = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
        finally:
            await container.stop()
        return commands

    commands = asyncio.run(run())
    assert any(container_process.__name__ in command for command in commands)
    assert not [command for command in commands if secret in command]
    assert log.read_text() == f"{secret}\n"


def test_its_zookeeper_that_does_not_start_is_not_that_of_others(pytester: pytest.Pytester, in_containers: str) -> None:
    pytester.makeconftest(
        f"""
        from pytest_kcontroller.cluster.contained import cluster
        from pytest_kcontroller.cluster.zookeeper import source

        cluster.DEFAULT_IMAGE = source.DEFAULT_IMAGE = {NO_IMAGE!r}
        """
    )
    pytester.makepyfile(
        """
        def test_1(kc_system): kc_system("x {zk}", image="any")
        def test_2(kc_system): kc_system("x {zk}", image="any")
        def test_3(kcluster): pass
        """
    )
    ran = run_in(pytester, "-p", "no:randomly")
    ran.assert_outcomes(failed=2, passed=1)
    ran.stdout.fnmatch_lines(["E *ZooKeeper did not start: *", "E *tried before in this run, for *::test_1, and not *"])


def test_a_base_that_was_built_anew_has_another_image(in_containers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names, called = list[str](), f"kcontroller-base:{os.getpid()}"
    first = base()
    monkeypatch.setenv(BASE_VARIABLE, called)
    with engine() as client:
        for built in (first, in_containers):
            client.images.get(built).tag(called)
            names.append(image_name(client, ()))
        client.images.remove(called)
    assert len(set(names)) == 2


def test_an_image_that_is_used_again_was_used_last(in_containers: str) -> None:
    """Else another project's build would remove it as old, while a cluster of it has nodes to start."""
    called = f"kcontroller-base:used-{os.getpid()}"
    with engine() as client:
        if any("containerd" in str(of) for of in client.info().get("DriverStatus") or ()):
            pytest.skip("containerd's image store does not keep when an image was named again")
        assert not use_again(client, called)
        client.images.get(in_containers).tag(called)
        try:
            before = last_used(client.images.get(called).attrs)
            assert use_again(client, called)
            assert last_used(client.images.get(called).attrs) > before
        finally:
            client.images.remove(called)


def first_process(node: int) -> psutil.Process:
    """Of the node's container."""
    with engine() as client:
        mine = {"label": f"{SESSION_LABEL}={session_id()}", "name": f"kcontroller-node-{node}-"}
        (container,) = client.containers.list(filters=mine)
        return psutil.Process(container.attrs["State"]["Pid"])


def states(node: int) -> set[str]:
    """Of all that runs in the node's container."""
    first, found = first_process(node), set[str]()
    for process in (first, *first.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            found.add(process.status())
    return found


def test_a_fixture_has_it_as_nodes_and_holds_up_what_they_fork(kc_system: KSystems, image: str) -> None:
    command = ["-c", FORKING, "{zk}", "{id}", "{session_timeout_ms}"]
    system = kc_system(command, image=image, nodes=2, ready="znode:/my/members/{id}", session_timeout_ms=4000)
    first = system.wait_for_owner(LEADER)
    system.wait_until_said(first, leads=LEADER)

    before = len(system.said(first))
    system.pause(first)
    assert states(first) == {psutil.STATUS_STOPPED}
    second = system.wait_for_owner(LEADER, other_than=first)
    system.resume(first)
    system.wait_until_said(first, follows=LEADER, since=before)

    with system.chaos.fault("disconnect", target=f"owner-of:{LEADER}") as alone:
        assert alone.nodes == (second,)
        system.wait_for_owner(LEADER, other_than=second)
    system.wait_until_ready()
    system.check(owned_after_healing(LEADER), exists_after_healing("/my/members/*", count=2))


def test_a_fault_has_lasted_where_another_container_was_started_in_its_place(kc_system: KSystems, image: str) -> None:
    command = ["/srv/elect.py", "{zk}", "{id}", "{session_timeout_ms}"]
    more: dict[str, Any] = {"nodes": 1, "ready": "znode:/my/members/{id}", "session_timeout_ms": 1000, "respawn": True}
    system = kc_system(command, image=image, **more)
    for kind in ("memory_limit", "disconnect"):
        fault = system.chaos.inject(kind, target="node:0")
        fault.observed()
        before = len(system.said(0))
        first_process(0).kill()
        system.wait_until_said(0, leads=LEADER, since=before)
        fault.heal()
    system.wait_until_ready()
    system.check()


def test_faults_hit_what_containers_say_to_each_other_and_are_seen(kc_system: KSystems, image: str) -> None:
    command = ["/srv/talk.py", "{zk}", "{id}", "{peers}", "{peer:0}"]
    system = kc_system(command, image=image, nodes=3, ready="port")
    assert_links_are_hit_and_seen(system)

    for node in system.nodes:
        assert any("lost" in line for line in system.said(node)), "the programs have seen it too"
    before = len(system.said(0))
    system.restart(0)
    system.wait_until_said(0, hears=1, since=before)
    system.check()
