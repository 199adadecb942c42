"""ZooKeeper in a container: what fails says why, and nothing outlives its owner."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.cluster.children.processes import session_id
from pytest_kcontroller.cluster.docker.contained_process import ContainedProcess
from pytest_kcontroller.cluster.docker.containers import (
    HOST_LABEL,
    SESSION_LABEL,
    Contained,
    ContainerSpec,
    engine,
    host,
)
from pytest_kcontroller.cluster.docker.leftovers import leftover_containers, remove_container
from pytest_kcontroller.cluster.docker.network import Network
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.container import ContainerZooKeeper
from pytest_kcontroller.errors import EnvironmentFailure, StartError
from pytest_kcontroller.runtime.timeouts import within

NO_IMAGE = "127.0.0.1:1/no-such-image:1"
"""A registry where nobody listens: to pull from it is refused on this machine."""

OWNER = """
import asyncio, sys
from pathlib import Path
from pytest_kcontroller.cluster.zookeeper.container import ContainerZooKeeper

async def main():
    directory = Path(sys.argv[2])
    kept = directory / "kept"
    server = await ContainerZooKeeper.start(sys.argv[1], directory / "work", log=directory / "log", txn_log=kept)
    print(server.name, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def wait(what: str, check: Callable[[], object], limit_s: float = 30) -> None:
    deadline = time.monotonic() + scaled(limit_s)  # noqa: TID251  # the time of the test itself
    while not check():
        if time.monotonic() > deadline:  # noqa: TID251
            pytest.fail(f"not within {scaled(limit_s):g} s: {what}")
        time.sleep(0.05)  # noqa: TID251


def names(**filters: Any) -> list[str]:
    with engine() as client:
        return [container["Names"][0].lstrip("/") for container in client.api.containers(all=True, **filters)]


def mine() -> list[str]:
    return names(filters={"label": f"{SESSION_LABEL}={session_id()}"})


def test_a_container_says_whose_it_is_and_is_gone_after_stop(zookeeper_image: str, tmp_path: Path) -> None:
    async def run() -> None:
        server = await ContainerZooKeeper.start(zookeeper_image, tmp_path / "zk", log=tmp_path / "log")
        try:
            (name,) = mine()
            with engine() as client:
                labels = client.containers.get(name).labels
            assert labels[SESSION_LABEL] == session_id()
            assert labels[HOST_LABEL] == host()
            (leftover,) = [found for found in leftover_containers() if found.name == name]
            assert leftover.owner_lives
        finally:
            await server.stop()

    asyncio.run(run())
    assert mine() == []
    assert "PrepRequestProcessor" in (tmp_path / "log").read_text()


def test_a_server_that_ends_at_once_is_a_start_error_with_its_log(zookeeper_image: str, tmp_path: Path) -> None:
    (tmp_path / "zk" / "data" / "myid").mkdir(parents=True)
    (tmp_path / "zk" / "data" / "version-2").write_text("a file where a directory must be")

    async def run() -> None:
        await ContainerZooKeeper.start(zookeeper_image, tmp_path / "zk", log=tmp_path / "log")

    with pytest.raises(StartError, match=r"the container ended with status [1-9]") as caught:
        asyncio.run(run())
    assert "docker run --rm" in caught.value.command
    assert "version-2" in str(caught.value)
    assert mine() == []


@pytest.mark.usefixtures("zookeeper_image")
def test_an_image_that_cannot_be_had_is_a_start_error(tmp_path: Path) -> None:
    async def run() -> None:
        await ContainerZooKeeper.start(NO_IMAGE, tmp_path / "zk", log=tmp_path / "log")

    with pytest.raises(StartError, match=f"the image {NO_IMAGE} is not here and cannot be pulled") as caught:
        asyncio.run(run())
    assert "--kc-zookeeper-image" in str(caught.value)
    assert mine() == []


def test_no_engine_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EnvironmentFailure, match="no Docker engine answers"), engine():
        pass

    log = tmp_path / "log"
    starts: list[Callable[[], Awaitable[object]]] = [
        lambda: ContainerZooKeeper.start("any", tmp_path / "zk", log=log),
        lambda: ContainedProcess.start("it", ContainerSpec(name="n", image="any"), log=log),
        lambda: Network.start(log=log),
    ]
    for start in starts:

        async def run(start: Callable[[], Awaitable[object]] = start) -> None:
            await start()

        with pytest.raises(StartError, match="no Docker engine answers") as caught:
            asyncio.run(run())
        assert caught.value.seconds > 0


def test_a_start_that_is_cancelled_leaves_nothing(zookeeper_image: str, tmp_path: Path) -> None:
    async def run() -> None:
        starting = asyncio.ensure_future(
            ContainerZooKeeper.start(zookeeper_image, tmp_path / "zk", log=tmp_path / "log")
        )
        while not mine() and not starting.done():  # noqa: ASYNC110  # the engine tells nobody
            await asyncio.sleep(0.01)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(run())
    assert mine() == []


@pytest.mark.usefixtures("many_open_files")
def test_a_container_that_ends_by_itself_is_noticed_and_removed(zookeeper_image: str, tmp_path: Path) -> None:
    async def run() -> None:
        server = await ContainerZooKeeper.start(zookeeper_image, tmp_path / "zk", log=tmp_path / "log")
        try:
            with engine() as client:
                client.containers.get(server.name).kill()
            async with within(scaled(30)):
                assert "137" in await server.wait_ended()
        finally:
            await server.stop()

    asyncio.run(run())
    assert mine() == []


@pytest.fixture
def owner(zookeeper_image: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that has a container, and the container's name."""
    command = [sys.executable, "-c", OWNER, zookeeper_image, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    try:
        yield process, name
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_kill_9_of_its_owner_leaves_nothing_but_the_witness(
    owner: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    process, name = owner
    assert name in names()
    process.kill()
    process.wait()
    wait("the container is gone", lambda: name not in names())
    wait("its directory is gone", lambda: not (tmp_path / "work").exists())
    assert (tmp_path / "kept" / "version-2").is_dir()


def test_what_even_its_guard_left_is_found_and_removed(owner: tuple[subprocess.Popen[str], str]) -> None:
    process, name = owner
    (guard,) = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "container_process"], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(guard), signal.SIGKILL)
    process.kill()
    process.wait()
    (leftover,) = [found for found in leftover_containers() if found.name == name]
    assert not leftover.owner_lives
    remove_container(name)
    assert name not in names()
    remove_container(name)


def test_a_container_of_another_host_is_left_alone(zookeeper_image: str) -> None:
    """Its session id means nothing here: it may well be looked after."""
    labels = {SESSION_LABEL: "1-1", HOST_LABEL: "another"}
    with engine() as client:
        container = client.containers.create(zookeeper_image, labels=labels)
        try:
            (found,) = [leftover for leftover in leftover_containers() if leftover.name == container.name]
            assert found.owner_lives
        finally:
            container.remove(v=True)


def test_what_a_person_types_to_start_it_by_hand() -> None:
    spec = ContainerSpec(name="n", image="zookeeper:3.9", port=2181, environment={"A": "b c"})
    assert spec.by_hand == "docker run --rm --publish 127.0.0.1::2181 --env 'A=b c' zookeeper:3.9"


@pytest.mark.usefixtures("zookeeper_image")
def test_a_process_that_cannot_run_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))

    async def run() -> None:
        await Contained.start(ContainerSpec(name="n", image="i", port=1), log=tmp_path / "log")

    with pytest.raises(EnvironmentFailure, match="could not be started"):
        asyncio.run(run())
