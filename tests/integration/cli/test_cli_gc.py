"""`kcontroller gc`: what a dead session left goes, what a living one has stays."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.cli import _leftovers, main
from pytest_kcontroller.cli._leftovers import Item
from pytest_kcontroller.cluster.children.directories import temporary_name
from pytest_kcontroller.cluster.children.processes import VARIABLE, leftovers, session_id, session_of
from pytest_kcontroller.cluster.docker.containers import HOST_LABEL, SESSION_LABEL, engine, host
from pytest_kcontroller.cluster.docker.leftovers import (
    leftover_containers,
    leftover_volumes,
    remove_container,
    remove_network,
    remove_volume,
)
from pytest_kcontroller.cluster.process.shared_proxies import prefix
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from tests.tools.programs import run_kcontroller
from tests.tools.toxiproxy_servers import embedded

PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]
SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


def test_a_directory_that_its_owner_removes_meanwhile_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "gone").mkdir()
    entries = list(os.scandir(tmp_path))
    (tmp_path / "gone").rmdir()
    assert [entry.name for entry in entries if _leftovers._is_ours(entry)] == ["here"]


def gc(temporary: Path, *arguments: str, session: str) -> subprocess.CompletedProcess[str]:
    """Only of one session: other tests run on this machine too."""
    surroundings = {**os.environ, "TMPDIR": str(temporary)}
    done = run_kcontroller("gc", "--session", session, *arguments, timeout=scaled(60), env=surroundings)
    done.stdout = without_engine(done.stdout)
    return done


def without_engine(said: str) -> str:
    """Where there is no Docker engine, gc says so."""
    return re.sub(r"^not looked at: (containers|networks|volumes): .*\n", "", said, flags=re.MULTILINE)


@pytest.fixture
def dead() -> str:
    """The id of a session whose owner has ended."""
    command = [
        sys.executable,
        "-c",
        "from pytest_kcontroller.cluster.children.processes import session_id; print(session_id())",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def start(session: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(SLEEP, env={**os.environ, VARIABLE: session}, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n", "it has its environment then, and its command"
    return process


@pytest.fixture
def left(dead: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    directory = tmp_path / f"kcontroller-{dead}-0123abcd"
    (directory / "zookeeper").mkdir(parents=True)
    (directory / "zookeeper" / "log.1").write_bytes(b"x")
    with start(dead) as process:
        yield process, directory
        process.kill()


def test_what_a_dead_session_left_is_listed_and_removed(
    left: tuple[subprocess.Popen[str], Path], dead: str, tmp_path: Path
) -> None:
    process, directory = left
    listed = gc(tmp_path, "--dry-run", session=dead)
    assert listed.returncode == 0, listed.stderr
    assert f"found    process {process.pid} " in listed.stdout
    assert f"found    directory {directory} " in listed.stdout
    assert listed.stdout.endswith("2 leftovers; kcontroller gc removes them\n")
    assert process.poll() is None
    assert directory.exists()

    done = gc(tmp_path, session=dead)
    assert done.returncode == 0, done.stderr
    assert f"removed  process {process.pid} " in done.stdout
    assert done.stdout.endswith("2 leftovers, 2 removed\n")
    assert process.wait(timeout=scaled(10)) == -signal.SIGKILL
    assert not directory.exists()

    again = gc(tmp_path, session=dead)
    assert (again.returncode, again.stdout) == (0, "0 leftovers\n")


def test_what_a_killed_node_left_is_found(tmp_path: Path) -> None:
    """And the process with it that looks after its directory."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [*PROGRAM, "node", "--id", "0", "--port", "0", "--zookeeper", place]
        with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}) as node:
            silent.settimeout(scaled(60))
            silent.accept()[0].close()  # it runs, and has its directory
            session = session_of(node.pid)
            guards = [left.pid for left in leftovers() if left.session == session]
            (directory,) = tmp_path.iterdir()
            for pid in guards:
                os.kill(pid, signal.SIGKILL)
            node.kill()
    assert guards
    assert directory.is_dir()
    assert f"removed  directory {directory} " in gc(tmp_path, session=session).stdout
    assert not directory.exists()


def test_json_names_each(left: tuple[subprocess.Popen[str], Path], dead: str, tmp_path: Path) -> None:
    process, directory = left
    said = json.loads(gc(tmp_path, "--json", session=dead).stdout)
    assert said["not_looked_at"].keys() <= {"containers", "networks", "volumes"}
    removed = {(item["kind"], item["name"]): item["removed"] for item in said["leftovers"]}
    assert removed == {("process", str(process.pid)): True, ("directory", str(directory)): True}


def test_what_a_living_owner_has_stays(tmp_path: Path) -> None:
    directory = tmp_path / temporary_name()
    directory.mkdir()
    with start(session_id()) as process:
        done = gc(tmp_path, session=session_id())
        assert done.returncode == 0
        assert f"kept     process {process.pid} " in done.stdout
        assert f"kept     directory {directory} (its owner lives: pid {os.getpid()})" in done.stdout
        assert done.stdout.endswith("\n0 leftovers\n")
        assert process.poll() is None
        process.kill()
    assert directory.exists()


@pytest.mark.parametrize("name", ["kcontroller-notes", "kcontroller-1-2-0123abcd.txt", "other-1-2-0123abcd"])
def test_what_only_looks_like_ours_is_not_seen(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    assert gc(tmp_path, session="1-2").stdout == "0 leftovers\n"
    assert (tmp_path / name).exists()


def test_a_mark_of_another_form_is_not_ours() -> None:
    with start("not-ours") as process:
        assert process.pid not in [left.pid for left in leftovers()]
        process.kill()


def test_a_link_is_not_followed(dead: str, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / f"kcontroller-{dead}-0123abcd").symlink_to(tmp_path / "precious")
    assert gc(tmp_path, session=dead).stdout == "0 leftovers\n"
    assert (tmp_path / "precious").exists()


def test_the_shell_that_it_was_started_from_is_not_ended(dead: str, tmp_path: Path) -> None:
    """A shell that a session left open: gc must not end it, nor itself."""
    script = " ".join(map(_quoted, [*PROGRAM, "gc", "--session", dead])) + "; echo still here"
    done = subprocess.run(
        ["sh", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, VARIABLE: dead, "TMPDIR": str(tmp_path)},
    )
    assert without_engine(done.stdout) == "0 leftovers\nstill here\n"


def test_a_process_in_a_container_is_left_alone(dead: str, tmp_path: Path) -> None:
    """Its session id names a pid that means something else here."""
    mark = uuid.uuid4().hex
    command = ["unshare", "--pid", "--fork", "--kill-child", *SLEEP, mark]
    with subprocess.Popen(
        command, env={**os.environ, VARIABLE: dead}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "up\n":
            pytest.skip(f"no pid namespace can be made here: {process.communicate()[1].strip()}")
        said = json.loads(gc(tmp_path, "--dry-run", "--json", session=dead).stdout)["leftovers"]
        inside = [item for item in said if mark in item["detail"] and "unshare" not in item["detail"]]
        process.kill()
    assert [item["why_not"] for item in inside] == ["it is in a container, where pids mean something else"]


def test_what_a_dead_session_has_in_the_engine_is_removed_and_what_a_living_one_has_is_not(
    zookeeper_image: str, dead: str, tmp_path: Path
) -> None:
    with engine() as client:
        made, networks, volumes = [], [], []
        for session in (dead, session_id()):
            labels = {SESSION_LABEL: session, HOST_LABEL: host()}
            made.append(client.containers.create(zookeeper_image, labels=labels))
            networks.append(client.networks.create(f"kcontroller-{session}-test", labels=labels))
            volumes.append(client.volumes.create(f"kcontroller-{session}-test", labels=labels))
        try:
            done = gc(tmp_path, session=dead)
            assert done.returncode == 0, done.stderr
            assert f"removed  container {made[0].name} " in done.stdout
            assert f"removed  network {networks[0].name} " in done.stdout
            assert f"removed  volume {volumes[0].name} " in done.stdout
            kept = gc(tmp_path, session=session_id()).stdout
            assert f"kept     container {made[1].name} " in kept
            assert f"kept     network {networks[1].name} " in kept
            assert f"kept     volume {volumes[1].name} " in kept
            assert [left.id for left in leftover_containers() if left.session in (dead, session_id())] == [made[1].id]
            assert [left.id for left in leftover_volumes() if left.session in (dead, session_id())] == [volumes[1].id]
        finally:
            for container in made:
                remove_container(container.id)
            for network in networks:
                remove_network(network.id)
            for volume in volumes:
                remove_volume(volume.id)


LINKS = """
import asyncio, pathlib, sys
from pytest_kcontroller.cluster.process.links import Links
from pytest_kcontroller.cluster.children.processes import session_id
from pytest_kcontroller.model.cluster import Address

async def main():
    links = await Links.start(dict.fromkeys((0, 1), (Address("127.0.0.1", 1),)), log=pathlib.Path(sys.argv[1]), seed=0)
    await links.cut("0", "1", "control")
    print(session_id(), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_proxies_of_a_dead_run_go_from_a_named_server_and_all_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with embedded() as server:
        url = f"http://{server.host}:{server.port}"
        monkeypatch.setenv("KCONTROLLER_TOXIPROXY_URL", url)
        command = [sys.executable, "-c", LINKS, str(tmp_path / "log")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            dead = run.stdout.readline().strip()
            run.kill()
        theirs = set(server.call("GET", "/proxies").json())
        assert len(theirs) == 8, "two links to ZooKeeper, four between nodes, two of clients"
        foreign = {
            prefix(0) + "0-1-control",  # of this process, which lives
            f"kcontroller-{dead}-00000000-0-0-1-control",  # of another machine
            f"kcontroller-{dead}-notes",
            f"my-kcontroller-{dead}",
        }
        for name in foreign:
            wanted = {"name": name, "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1"}
            assert server.call("POST", "/proxies", wanted).status_code == 201

        listed = gc(tmp_path, "--dry-run", session=dead)
        assert listed.stdout.endswith("8 leftovers; kcontroller gc removes them\n"), listed.stdout
        assert f"found    proxy {min(theirs)}  on {url}, " in listed.stdout
        assert "00000000-0-0-1-control  " in listed.stdout
        assert set(server.call("GET", "/proxies").json()) == theirs | foreign

        done = gc(tmp_path, session=dead)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "8 leftovers, 8 removed")
        assert set(server.call("GET", "/proxies").json()) == foreign
        assert "(its owner lives, here or on another machine)" in gc(tmp_path, session=session_id()).stdout


def test_a_named_toxiproxy_that_does_not_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("KCONTROLLER_TOXIPROXY_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        done = gc(tmp_path, session="1-2")
    assert done.returncode == 6
    assert "not looked at: proxies: no answer from toxiproxy: " in done.stdout


def test_what_cannot_be_removed_or_seen_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    item = Item(
        kind="directory",
        name="it",
        session="1-2",
        detail="",
        kept="",
        remove=lambda: _leftovers._remove(tmp_path / "file"),
    )

    def unseen() -> Any:
        raise EnvironmentFailure("there is no engine")

    monkeypatch.setattr(_leftovers, "KINDS", {"directories": lambda: [item], "containers": unseen})
    assert main(["gc"]) == 6
    said = capsys.readouterr().out
    assert "FAILED   directory it: it was not removed: " in said
    assert "not looked at: containers: there is no engine" in said
    assert said.endswith("1 leftover, 0 removed\n")


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
