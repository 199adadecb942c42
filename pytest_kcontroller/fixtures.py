"""The fixtures. Only the standard library and pytest are imported here; the rest when a fixture is used."""

from __future__ import annotations

import dataclasses
import difflib
import importlib.util
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_kcontroller.backend_marker import place
from pytest_kcontroller.options import KcSettings, read_settings

if TYPE_CHECKING:
    from pytest_kcontroller.chaos_fixture import Chaos
    from pytest_kcontroller.kcluster import KCluster
    from pytest_kcontroller.khistory import KHistory
    from pytest_kcontroller.loop_thread import LoopThread
    from pytest_kcontroller.model.cluster import Address
    from pytest_kcontroller.sim_backend import Simulation
    from pytest_kcontroller.zookeeper_fixture import TestZooKeeper
    from pytest_kcontroller.zookeeper_starts import ZooKeeperStarts

cluster_key = pytest.StashKey["KCluster"]()
failed_key = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def kc_settings(pytestconfig: pytest.Config) -> KcSettings:
    """What the --kc- options and kc_ ini keys say."""
    return read_settings(pytestconfig)


@pytest.fixture(scope="session")
def _kc_loop() -> Iterator[LoopThread]:
    from pytest_kcontroller.loop_thread import LoopThread

    loop = LoopThread()
    yield loop
    loop.stop()


@pytest.fixture(scope="session")
def _kc_image(kc_settings: KcSettings) -> str | None:
    """The image of the containers that ZooKeeper runs in; None: it runs in a JVM.

    Skips where there is no Java, or no Docker engine, unless --kc-require says otherwise.
    """
    from pytest_kcontroller.cluster.zookeeper_source import check_zookeeper, image_of
    from pytest_kcontroller.errors import EnvironmentError_, MissingExtraError, UsageError

    image = image_of(kc_settings.zookeeper, kc_settings.zookeeper_image)
    try:
        check_zookeeper(image)
    except (MissingExtraError, EnvironmentError_) as missing:
        _missing("java" if image is None else "docker", str(missing), kc_settings)
    except UsageError as wrong:
        raise _without_trace(wrong) from None
    return image


def _without_trace(error: Exception) -> BaseException:
    """A failure that shows the sentence alone."""
    return pytest.fail.Exception(str(error), pytrace=False)


def _missing(name: str, why: str, settings: KcSettings) -> None:
    if name in settings.require:
        pytest.fail(f"--kc-require={name}: {why}", pytrace=False)
    pytest.skip(why)


@pytest.fixture(scope="session")
def _kc_zookeeper_starts() -> ZooKeeperStarts:
    from pytest_kcontroller.zookeeper_starts import ZooKeeperStarts

    return ZooKeeperStarts()


@pytest.fixture(scope="session")
def _kc_zookeeper_server(
    kc_settings: KcSettings,
    _kc_loop: LoopThread,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Address]:
    """One server for all tests of this pytest process. Raises StartError: `zookeeper` tells it."""
    from pytest_kcontroller.model.cluster import Address

    if kc_settings.zookeeper not in ("embedded", "container"):
        yield Address.parse(kc_settings.zookeeper)
        return
    image = request.getfixturevalue("_kc_image")
    from pytest_kcontroller.cluster.zookeeper_source import start_zookeeper

    directory = tmp_path_factory.mktemp("kc-zookeeper")
    server = _kc_loop.call(start_zookeeper(image, directory / "data", log=directory / "zookeeper.log"))
    try:
        yield server.address
    finally:
        _kc_loop.call(server.stop())
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def zookeeper(request: pytest.FixtureRequest, kc_settings: KcSettings) -> Iterator[TestZooKeeper]:
    """A chroot of this test's own on a real ZooKeeper: `.client()`, `.connect_string`, `.expire(client, mode)`."""
    _only_on_process("zookeeper", "zk, or kcluster.zk,", kc_settings)
    from pytest_kcontroller.errors import EnvironmentError_
    from pytest_kcontroller.zookeeper_fixture import TestZooKeeper

    starts: ZooKeeperStarts = request.getfixturevalue("_kc_zookeeper_starts")
    own = kc_settings.zookeeper in ("embedded", "container")
    source = (request.getfixturevalue("_kc_image") or "embedded") if own else kc_settings.zookeeper
    loop: LoopThread = request.getfixturevalue("_kc_loop")
    try:
        with starts.trying(source, request.node.nodeid):
            view = TestZooKeeper(loop, request.getfixturevalue("_kc_zookeeper_server"))
    except EnvironmentError_ as failed:
        raise _without_trace(failed) from None
    try:
        yield view
    finally:
        view.close()


@pytest.fixture
def zk(request: pytest.FixtureRequest, kc_settings: KcSettings) -> Iterator[Any]:
    """A started kazoo client in a chroot of this test's own."""
    if kc_settings.backend != "sim":
        yield request.getfixturevalue("zookeeper").client()
        return
    client = request.getfixturevalue("_kc_simulation").client_of_the_test()
    try:
        yield client
    finally:
        client.stop()


def _only_on_process(fixture: str, instead: str, settings: KcSettings) -> None:
    if settings.backend == "process":
        return
    from pytest_kcontroller.errors import NotOnThisBackend

    hint = (
        f"use {instead} or --kc-backend=process; "
        '@pytest.mark.kcontroller(backends=["process"]) deselects this test on other backends'
    )
    what = f"the fixture {fixture} does not exist on the backend {settings.backend}: it needs sockets"
    raise _without_trace(NotOnThisBackend(what, hint=hint))


@pytest.fixture
def _kc_simulation(request: pytest.FixtureRequest, kc_settings: KcSettings) -> Iterator[Simulation]:
    """The world of this test, on the backend sim."""
    with _simulation(request, kc_settings) as simulation:
        yield simulation


@contextmanager
def _simulation(request: pytest.FixtureRequest, settings: KcSettings) -> Iterator[Simulation]:
    from pytest_kcontroller.errors import KControllerError
    from pytest_kcontroller.sim_backend import Simulation

    try:
        simulation = Simulation(_cluster_settings(request, settings, None))
    except KControllerError as bad:
        raise _without_trace(bad) from None
    try:
        yield simulation
    finally:
        simulation.close()


@pytest.fixture
def kcluster(request: pytest.FixtureRequest, kc_settings: KcSettings, tmp_path: Path) -> Iterator[KCluster]:
    """A cluster of this test's own, made of what the marker `kcontroller(nodes=3, config={...}, selectors={...})` says."""
    simulation = request.getfixturevalue("_kc_simulation") if kc_settings.backend == "sim" else None
    with _cluster(request, kc_settings, tmp_path / "kcluster", simulation) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kcluster_module(
    request: pytest.FixtureRequest, kc_settings: KcSettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KCluster]:
    """One cluster for all tests of a module, made of what the module's own marker (`pytestmark`) says."""
    directory = tmp_path_factory.mktemp(request.node.name.removesuffix(".py").replace("/", "-")) / "kcluster"
    with ExitStack() as stack:
        simulation = stack.enter_context(_simulation(request, kc_settings)) if kc_settings.backend == "sim" else None
        yield stack.enter_context(_cluster(request, kc_settings, directory, simulation))


@contextmanager
def _cluster(
    request: pytest.FixtureRequest, settings: KcSettings, directory: Path, simulation: Simulation | None
) -> Iterator[KCluster]:
    from pytest_kcontroller.errors import KControllerError
    from pytest_kcontroller.kcluster import KCluster

    image = request.getfixturevalue("_kc_image") if simulation is None else None
    wanted = _cluster_settings(request, settings, image)
    try:
        if simulation is None:
            from pytest_kcontroller.process_backend import ProcessBackend

            starts: ZooKeeperStarts = request.getfixturevalue("_kc_zookeeper_starts")
            loop: LoopThread = request.getfixturevalue("_kc_loop")
            with starts.trying(image or "embedded", request.node.nodeid):
                cluster = KCluster(ProcessBackend(loop, wanted, directory))
        else:
            from pytest_kcontroller.sim_backend import SimBackend

            cluster = KCluster(SimBackend(simulation, wanted, directory))
    except KControllerError as bad:
        raise _without_trace(bad) from None
    request.node.stash[cluster_key] = cluster
    try:
        yield cluster
    finally:
        del request.node.stash[cluster_key]
        cluster.close()
        failed = request.node.stash.get(failed_key, False)
        if settings.keep == "never" or (settings.keep == "on-failure" and not failed):
            shutil.rmtree(directory, ignore_errors=True)


def _cluster_settings(request: pytest.FixtureRequest, settings: KcSettings, image: str | None) -> Any:
    from pytest_kcontroller.cluster.base import ClusterSettings
    from pytest_kcontroller.kafka_config import HELP, wrong
    from pytest_kcontroller.plugin_manager import nearest

    values: dict[str, Any] = {"plugins": settings.plugins, "seed": settings.seed or 0, "zookeeper_image": image}
    for mark in reversed(list(request.node.iter_markers("kcontroller"))):
        values |= mark.kwargs
    values.pop("backends", None)
    known = [field.name for field in dataclasses.fields(ClusterSettings)]
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, [*known, "backends"], 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes backends, {', '.join(known)}"
            _bad_marker(request, f"has no argument {name!r}", hint)
    for name, (kind, said) in _MARKER_VALUES.items():
        value = values.get(name, 1 if kind is int else {})
        if not isinstance(value, kind) or isinstance(value, bool) or (kind is int and value < 1):
            _bad_marker(request, f"{name}={value!r}", f"must be {said}")
    if found := wrong(values.get("config", {})):
        name, what = found
        _bad_marker(request, f"config: {what}", HELP.get(name) or nearest(name, list(HELP)))
    return ClusterSettings(**values)


_MARKER_VALUES: dict[str, tuple[Any, str]] = {
    "nodes": (int, "a whole number, 1 or more"),
    "session_timeout_ms": (int, "a whole number of milliseconds, 1 or more"),
    "selectors": (Mapping, 'a dict of reasons and names: {"offline": "rack-aware"}'),
    "assignment": (str | Mapping, 'a name, or a dict {"name": ...} with options'),
    "config": (Mapping, 'a dict of Kafka\'s names: {"unclean.leader.election.enable": True}'),
}


def _bad_marker(request: pytest.FixtureRequest, what: str, hint: str) -> NoReturn:
    pytest.fail(f"{place(request.node)}: the marker kcontroller {what}\n  -> {hint}", pytrace=False)


@pytest.fixture
def khistory(request: pytest.FixtureRequest) -> KHistory:
    """What has happened in this test's cluster so far: `.events`, `.of("leader.elected", ...)`; each look is a new one."""
    return _cluster_of(request).khistory


@pytest.fixture
def chaos(request: pytest.FixtureRequest) -> Iterator[Chaos]:
    """Faults by hand: `chaos.inject("pause", target="controller")` until `.heal()`, `with chaos.fault("kill", ...):`.

    What is not healed at the end of the test is healed then; one that had no effect fails the test.
    """
    cluster = _cluster_of(request)
    from pytest_kcontroller.chaos_fixture import Chaos
    from pytest_kcontroller.errors import EnvironmentError_

    faults = Chaos(cluster.backend)
    yield faults
    try:
        faults.close()
    except EnvironmentError_ as failed:
        raise _without_trace(failed) from None


def _cluster_of(request: pytest.FixtureRequest) -> KCluster:
    """The test's own, or its module's if that is the one that it uses."""
    names = request.fixturenames
    shared = "kcluster_module" in names and "kcluster" not in names
    cluster: KCluster = request.getfixturevalue("kcluster_module" if shared else "kcluster")
    return cluster


@pytest.fixture
def toxiproxy(request: pytest.FixtureRequest, kc_settings: KcSettings, tmp_path: Path) -> Iterator[Any]:
    """toxiproxy-python's own `Toxiproxy`, connected to an embedded server of this test; needs the extra [toxiproxy]."""
    _only_on_process("toxiproxy", "kcluster.net, chaos,", kc_settings)
    for module in ("toxiproxy", "aiohttp"):
        if importlib.util.find_spec(module) is None:
            from pytest_kcontroller.errors import MissingExtraError

            _missing("toxiproxy", str(MissingExtraError("the fixture toxiproxy", "toxiproxy")), kc_settings)
    from toxiproxy import Toxiproxy

    from pytest_kcontroller.cluster.links import start_server

    loop: LoopThread = request.getfixturevalue("_kc_loop")
    process, url = loop.call(start_server(tmp_path / "toxiproxy.log"))
    host, _, port = url.rpartition("/")[2].partition(":")
    client = Toxiproxy()
    client.update_api_consumer(host, int(port))
    try:
        yield client
    finally:
        loop.call(process.stop(5.0))
