"""The pytest plugin. Loaded in every pytest run where this distribution is installed: it imports the standard library and
pytest only, and everything else inside the fixtures and items that need it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcontroller_chaos.backends import DEFAULT
from pytest_kcontroller.fixtures import campaign_items, marker
from pytest_kcontroller.fixtures.definitions import (
    _kc_image,
    _kc_loop,
    _kc_simulation,
    _kc_zookeeper_server,
    _kc_zookeeper_starts,
    chaos,
    cluster_key,
    failed_key,
    kc_settings,
    kcluster,
    kcluster_module,
    kcontroller,
    khistory,
    toxiproxy,
    zk,
    zookeeper,
)
from pytest_kcontroller.fixtures.options import TIMEOUT_SCALE_VARIABLE, add_options, read_settings

if TYPE_CHECKING:
    from pytest_kcontroller.fixtures.kcluster import KCluster

MARKERS = (
    "kcontroller(nodes=3, session_timeout_ms=3000, selectors={}, assignment='striped', plugin_limit_s=1, config={}, "
    "backends=[...]): what kcluster is made of, and the backends that the test is for (deselected on others)",
    "chaos: a chaos campaign (set on collected campaign files)",
)

__all__ = [
    "_kc_image",
    "_kc_loop",
    "_kc_simulation",
    "_kc_zookeeper_server",
    "_kc_zookeeper_starts",
    "chaos",
    "kc_settings",
    "kcluster",
    "kcluster_module",
    "kcontroller",
    "khistory",
    "toxiproxy",
    "zk",
    "zookeeper",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    settings = read_settings(config)
    if settings.timeout_scale != 1:
        # Every process that is started reads it there.
        os.environ[TIMEOUT_SCALE_VARIABLE] = str(settings.timeout_scale)
    if not (config.option.help or config.option.version):
        campaign_items.choose_files(config, settings)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return campaign_items.collect(file_path, parent)


def _needs_no_word(error: BaseException) -> tuple[bool, bool]:
    """Whether it needs no word about the cluster (a wrong call), and none about what happened (an invariant has told it)."""
    from pytest_kcontroller.errors import UsageError
    from pytest_kcontroller.fixtures.kcluster import InvariantError

    return isinstance(error, UsageError), isinstance(error, InvariantError)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marker.deselect(config, items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    marker.check(item)
    if "kcluster_module" in getattr(item, "fixturenames", ()):
        _restore(item)


def _restore(item: pytest.Item) -> None:
    """A module's cluster is whole when a test of it begins, whatever the one before has left."""
    from pytest_kcontroller.errors import KControllerError

    cluster = next((c for node in item.listchain() if (c := node.stash.get(cluster_key, None)) is not None), None)
    if cluster is None:
        return
    try:
        cluster.restore()
    except KControllerError as failed:
        pytest.fail(f"kcluster_module: {failed}", pytrace=False)


def pytest_report_collectionfinish(config: pytest.Config) -> str | None:
    return marker.report_deselected(config)


def _sections(item: pytest.Item, cluster: KCluster, failure: BaseException) -> list[tuple[str, str]]:
    """What a failed test shows of its cluster. That it cannot be read must not hide the failure itself."""
    nothing, no_moments = _needs_no_word(failure)
    if nothing:
        return []
    settings = read_settings(item.config)
    seed = f" --kc-seed={settings.seed}" if settings.seed is not None else ""
    kept = "removed at the end, see --kc-keep" if settings.keep == "never" else cluster.directory
    backend = f" --kc-backend={settings.backend}" if settings.backend != DEFAULT else ""
    shown = [
        ("kcluster: to run it again", f"pytest {shlex.quote(item.nodeid)}{backend}{seed}\nhistories and logs: {kept}")
    ]
    try:
        return shown if no_moments else [*cluster.last_moments(), *shown]
    except Exception as bad:  # noqa: BLE001
        return [("kcluster", f"its history cannot be read: {bad}"), *shown]


def _cluster(item: pytest.Item) -> KCluster | None:
    """The one that this test uses: its own, or its module's."""
    shared = "kcluster_module" in getattr(item, "fixturenames", ())
    found = [node.stash.get(cluster_key, None) for node in (item.listchain() if shared else [item])]
    return next((cluster for cluster in reversed(found) if cluster is not None), None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for node in item.listchain():  # a module's cluster asks its module
            node.stash[failed_key] = True
        cluster = _cluster(item)
        if cluster is not None and call.excinfo is not None:
            report.sections += _sections(item, cluster, call.excinfo.value)
    return report
