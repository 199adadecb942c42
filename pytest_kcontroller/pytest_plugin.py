"""The pytest plugin. Loaded in every pytest run where this distribution is installed: it imports the standard library and
pytest only, and everything else inside the fixtures and items that need it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pytest

from kcontroller_chaos.backends import backend
from pytest_kcontroller.fixtures import campaign_items, marker
from pytest_kcontroller.fixtures.definitions import (
    _kc_grounds,
    _kc_image,
    _kc_loop,
    _kc_proxy_server,
    _kc_simulation,
    chaos,
    kafka_release,
    kc_settings,
    kc_stub_brokers,
    kcluster,
    kcluster_class,
    kcluster_module,
    kcontroller,
    khistory,
    toxiproxy,
    zk,
    zk_proxy,
    zookeeper,
)
from pytest_kcontroller.fixtures.noted import clusters_key, failed_key, fixtures_of, left_key, logs_key
from pytest_kcontroller.fixtures.options import TIMEOUT_SCALE_VARIABLE, KcSettings, add_options, given, read_settings
from pytest_kcontroller.fixtures.server_fixtures import (
    _kc_zookeeper_ensemble,
    _kc_zookeeper_of_run,
    _kc_zookeeper_server,
    _kc_zookeeper_starts,
)
from pytest_kcontroller.fixtures.system_fixture import kc_system

if TYPE_CHECKING:
    from pytest_kcontroller.fixtures.kcluster import KCluster
    from pytest_kcontroller.fixtures.leaks import Before

MARKERS = (
    f"kcontroller({', '.join(f'{name}={value}' for name, value in marker.NAMES.items())}): what kcluster "
    "is made of, and the backends that the test is for (deselected on others)",
    "chaos: a chaos campaign (set on collected campaign files)",
)

OURS = ("pytest_kcontroller", "kcontroller_chaos", "kcontroller_plugins", contextlib.__name__)
"""Packages whose frames say nothing to whoever made a wrong call; the last is between two of them."""

before_key: pytest.StashKey[Before | None] = pytest.StashKey()
interrupted_key = pytest.StashKey[Path]()
"""Of the session: where the histories and logs of the test are that was interrupted."""
FIXTURES = (
    *marker.CLUSTERS,
    *("kcontroller", "kc_system", "zookeeper", "zk", "zk_proxy", "toxiproxy", "kc_stub_brokers", "kafka_release"),
)
"""Tests with one of these are looked at for what they leave behind. Each is made of `kc_settings`, which a fixture of
a suite's own that has the name is not."""

__all__ = [
    "_kc_grounds",
    "_kc_image",
    "_kc_loop",
    "_kc_proxy_server",
    "_kc_simulation",
    "_kc_zookeeper_ensemble",
    "_kc_zookeeper_of_run",
    "_kc_zookeeper_server",
    "_kc_zookeeper_starts",
    "chaos",
    "kafka_release",
    "kc_settings",
    "kc_stub_brokers",
    "kc_system",
    "kcluster",
    "kcluster_class",
    "kcluster_module",
    "kcontroller",
    "khistory",
    "toxiproxy",
    "zk",
    "zk_proxy",
    "zookeeper",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    settings = read_settings(config)
    _put_into_environment(config, settings)
    if not (config.option.help or config.option.version):
        campaign_items.choose_files(config, settings)


def _put_into_environment(config: pytest.Config, settings: KcSettings) -> None:
    """Every process that is started reads it there. It ends with the run: another one in this process has its own."""
    said = settings.environment
    said[TIMEOUT_SCALE_VARIABLE] = str(settings.timeout_scale)  # 1, too: the environment may say otherwise
    environment = pytest.MonkeyPatch()
    for name, value in said.items():
        environment.setenv(name, value)
    config.add_cleanup(environment.undo)


@pytest.hookimpl(wrapper=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> Generator[None, bool | None, bool | None]:
    return campaign_items.ignores(collection_path, config, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    found = yield
    ours = campaign_items.collect(file_path, parent, alone=not found)
    return found if ours is None else [*found, ours]


def _needs_no_word(error: BaseException) -> tuple[bool, bool]:
    """Whether it needs no word about the cluster (a wrong call), and none about what happened (an invariant has told it)."""
    from pytest_kcontroller.errors import InvariantError, UsageError

    return isinstance(error, UsageError), isinstance(error, InvariantError)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marker.deselect(config, items)


@pytest.hookimpl
def pytest_runtest_setup(item: pytest.Item) -> None:
    """After pytest's own, which skips: a test that does not run needs no cluster."""
    item.stash[failed_key] = False  # it may be run again (pytest-rerunfailures)
    marker.check(item)
    for name, cluster in _clusters(item, also_by="request"):  # which may ask for any
        _begin(name, cluster)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    if read_settings(item.config).leaks != "off" and _uses_ours(item):
        from pytest_kcontroller.fixtures.leaks import Before

        item.stash[before_key] = Before.now()
    try:
        yield
    except (KeyboardInterrupt, pytest.exit.Exception):  # of which there is no report
        _mark_failed(item)
        if (clusters := _clusters(item)) and read_settings(item.config).keep != "never":
            item.config.stash[interrupted_key] = clusters[0][1].directory
        raise


def _uses_ours(item: pytest.Item) -> bool:
    names = fixtures_of(item)
    return "kc_settings" in names and not names.isdisjoint(FIXTURES)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if (directory := config.stash.get(interrupted_key, None)) is not None:
        terminalreporter.write_line(f"kcluster: histories and logs of the test that was interrupted: {directory}")


def _mark_failed(item: pytest.Item) -> None:
    for node in item.listchain():  # a module's cluster asks its module
        node.stash[failed_key] = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    try:
        yield
    finally:
        before, found = item.stash.get(before_key, None), _found_left(item)
        item.stash[before_key] = None  # it may be run again
    how = read_settings(item.config).leaks
    if how != "off" and (before is not None or found):
        from pytest_kcontroller.fixtures.leaks import tell

        tell(item, before, found, how)


def _found_left(item: pytest.Item) -> dict[str, list[str]]:
    """By node id, what is in left_key since the last look. A cluster of `kcontroller` ends with its block, in a test."""
    found: dict[str, list[str]] = {}
    for node in item.listchain():
        if left := node.stash.get(left_key, []):
            found.setdefault(item.nodeid if isinstance(node, pytest.Session) else node.nodeid, []).extend(left)
            left.clear()
    return found


def _clusters(item: pytest.Item, also_by: str = "") -> list[tuple[str, KCluster]]:
    """Those that are there of its fixtures, the nearest first; of a test with the fixture `also_by` all."""
    names = fixtures_of(item)
    known = [each for node in reversed(item.listchain()) for each in node.stash.get(clusters_key, {}).items()]
    return [(name, each.cluster) for name, each in known if also_by in names or not names.isdisjoint(each.fixtures)]


def _nearest(item: pytest.Item) -> list[tuple[str, KCluster]]:
    """All that the nearest fixture has made: kc_system can be called twice."""
    found = _clusters(item)
    return [each for each in found if each[0].partition(" ")[0] == found[0][0].partition(" ")[0]]


def _begin(name: str, cluster: KCluster) -> None:
    """That of a class or module is whole when a test of it begins, whatever the one before has left."""
    from pytest_kcontroller.errors import KControllerError

    try:
        cluster.begin_test()
    except KControllerError as failed:
        pytest.fail(f"{name}: {failed}", pytrace=False)


def pytest_report_collectionfinish(config: pytest.Config) -> str | None:
    return marker.report_deselected(config)


def _sections(item: pytest.Item, cluster: KCluster, failure: BaseException) -> list[tuple[str, str]]:
    """What a failed test shows of its cluster. That it cannot be read must not hide the failure itself."""
    from pytest_kcontroller.plugin.manager import typed

    nothing, no_moments = _needs_no_word(failure)
    if nothing:
        return []
    settings = read_settings(item.config)
    file, _, names = item.nodeid.partition("::")
    seen_from_here = os.path.relpath(item.config.rootpath / file, item.config.invocation_params.dir)
    variables = backend(settings.backend).chosen
    again = typed(["pytest", f"{seen_from_here}::{names}", *given(item.config)], (), variables)
    kept = "removed at the end, see --kc-keep" if settings.keep == "never" else cluster.directory
    shown = [("to run it again", f"{again}\nhistories and logs: {kept}")]
    try:
        return shown if no_moments else [*cluster.last_moments(), *shown]
    except Exception as bad:  # noqa: BLE001
        return [("its history", f"cannot be read: {bad}"), *shown]


def _logs(item: pytest.Item, failure: BaseException) -> list[tuple[str, str]]:
    """Of the servers that it has used beside its cluster."""
    if _needs_no_word(failure)[0]:
        return []
    try:
        return [section for sections in item.stash.get(logs_key, {}).values() for section in sections()]
    except Exception as bad:  # noqa: BLE001
        return [("the logs of its servers", f"cannot be read: {bad}")]


def _begin_with_the_reason(report: pytest.TestReport, failure: BaseException) -> None:
    """The summary at the end has 80 columns, of which the path of an exception's class would take most."""
    from pytest_kcontroller.errors import InvariantError, KControllerError

    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and isinstance(failure, KControllerError | InvariantError):
        crash.message = getattr(failure, "reason", "") or str(failure)


def _end_at_the_call(failure: BaseException) -> None:
    """A wrong call is shown where it is made, from wherever in our code it is refused: its traceback ends there. Of all else
    that is raised, `__tracebackhide__` in the modules of the fixtures hides what is theirs."""
    from pytest_kcontroller.errors import UsageError

    if not isinstance(failure, UsageError):
        return
    last: TracebackType | None = None
    step = failure.__traceback__
    while step is not None:
        if str(step.tb_frame.f_globals.get("__name__")).partition(".")[0] not in OURS:
            last = step
        step = step.tb_next
    if last is not None:
        last.tb_next = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.excinfo is not None and not item.config.getoption("fulltrace", False):  # -p no:terminal has none
        _end_at_the_call(call.excinfo.value)
    report = yield
    if report.failed:
        _mark_failed(item)
        if call.excinfo is not None:
            _begin_with_the_reason(report, call.excinfo.value)
            for name, cluster in _nearest(item):
                named = _sections(item, cluster, call.excinfo.value)
                report.sections += [(f"{name}: {title}", text) for title, text in named]
            report.sections += _logs(item, call.excinfo.value)
    return report
