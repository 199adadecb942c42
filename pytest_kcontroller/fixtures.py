"""The fixtures. Only the standard library and pytest are imported here; the rest when a fixture is used."""

from __future__ import annotations

import dataclasses
import difflib
import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_kcontroller.options import KcSettings, read_settings

if TYPE_CHECKING:
    from pytest_kcontroller.kcluster import KCluster
    from pytest_kcontroller.loop_thread import LoopThread
    from pytest_kcontroller.model.cluster import Address
    from pytest_kcontroller.zookeeper_fixture import TestZooKeeper

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
def _kc_zookeeper_server(
    kc_settings: KcSettings,
    _kc_loop: LoopThread,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Address]:
    """One server for all tests of this pytest process."""
    from pytest_kcontroller.model.cluster import Address

    if kc_settings.zookeeper not in ("embedded", "container"):
        yield Address.parse(kc_settings.zookeeper)
        return
    image = request.getfixturevalue("_kc_image")
    from pytest_kcontroller.cluster.zookeeper_source import start_zookeeper
    from pytest_kcontroller.errors import KControllerError

    directory = tmp_path_factory.mktemp("kc-zookeeper")
    try:
        server = _kc_loop.call(start_zookeeper(image, directory / "data", log=directory / "zookeeper.log"))
    except KControllerError as failed:
        raise _without_trace(failed) from None
    try:
        yield server.address
    finally:
        _kc_loop.call(server.stop())
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def zookeeper(_kc_zookeeper_server: Address, _kc_loop: LoopThread) -> Iterator[TestZooKeeper]:
    """A chroot of this test's own on a real ZooKeeper: `.client()`, `.connect_string`, `.expire(client, mode)`."""
    from pytest_kcontroller.zookeeper_fixture import TestZooKeeper

    view = TestZooKeeper(_kc_loop, _kc_zookeeper_server)
    try:
        yield view
    finally:
        view.close()


@pytest.fixture
def zk(zookeeper: TestZooKeeper) -> Any:
    """A started kazoo client in this test's chroot."""
    return zookeeper.client()


@pytest.fixture
def kcluster(
    request: pytest.FixtureRequest,
    kc_settings: KcSettings,
    _kc_loop: LoopThread,
    _kc_image: str | None,
    tmp_path: Path,
) -> Iterator[KCluster]:
    """A cluster of this test's own, made of what the marker `kcontroller(nodes=3, config={...}, selectors={...})` says."""
    from pytest_kcontroller.errors import KControllerError
    from pytest_kcontroller.kcluster import KCluster

    settings = _cluster_settings(request, kc_settings, _kc_image)
    directory = tmp_path / "kcluster"
    try:
        cluster = KCluster.start(_kc_loop, settings, directory)
    except KControllerError as bad:
        raise _without_trace(bad) from None
    request.node.stash[cluster_key] = cluster
    try:
        yield cluster
    finally:
        del request.node.stash[cluster_key]
        cluster.close()
        failed = request.node.stash.get(failed_key, False)
        if kc_settings.keep == "never" or (kc_settings.keep == "on-failure" and not failed):
            shutil.rmtree(directory, ignore_errors=True)


def _cluster_settings(request: pytest.FixtureRequest, settings: KcSettings, image: str | None) -> Any:
    from pytest_kcontroller.cluster.base import ClusterSettings

    values: dict[str, Any] = {"plugins": settings.plugins, "seed": settings.seed or 0, "zookeeper_image": image}
    for mark in reversed(list(request.node.iter_markers("kcontroller"))):
        values |= mark.kwargs
    known = [field.name for field in dataclasses.fields(ClusterSettings)]
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
            pytest.fail(f"the marker kcontroller has no argument {name!r}\n  -> {hint}", pytrace=False)
    return ClusterSettings(**values)


@pytest.fixture
def toxiproxy(kc_settings: KcSettings, _kc_loop: LoopThread, tmp_path: Path) -> Iterator[Any]:
    """toxiproxy-python's own `Toxiproxy`, connected to an embedded server of this test; needs the extra [toxiproxy]."""
    for module in ("toxiproxy", "aiohttp"):
        if importlib.util.find_spec(module) is None:
            from pytest_kcontroller.errors import MissingExtraError

            _missing("toxiproxy", str(MissingExtraError("the fixture toxiproxy", "toxiproxy")), kc_settings)
    from toxiproxy import Toxiproxy

    from pytest_kcontroller.cluster.links import start_server

    process, url = _kc_loop.call(start_server(tmp_path / "toxiproxy.log"))
    host, _, port = url.rpartition("/")[2].partition(":")
    client = Toxiproxy()
    client.update_api_consumer(host, int(port))
    try:
        yield client
    finally:
        _kc_loop.call(process.stop(5.0))
