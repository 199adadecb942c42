"""The real process around a node: runtime, plugins, mutant, signals, exit status, one sentence for a bad start."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_kcontroller.errors import KControllerError, UsageError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.history import HistoryEvent, MutantCounts, Record
from pytest_kcontroller.node.control import ControlServer
from pytest_kcontroller.node.main import Node
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.plugin.manager import load_plugins
from pytest_kcontroller.runtime.holds import Holds
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.real import (
    DirectoryDisk,
    RealClock,
    RealRuntime,
    Recorder,
    RunStart,
    SocketTransport,
)
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.seams import Mutant, MutantDoesNotApplyError, counts, installed
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector

MUTANTS = "kcontroller_chaos.mutants"
"""Loaded by import name, and only when a mutant is asked for."""
COUNTS_EVERY_S = 0.1
INTERRUPTED = 130

GARBAGE_EVERY_S = 0.25
MANY_OBJECTS = 10_000
LONG_S = 0.01
"""See `collect_garbage`."""


def command(arguments: Sequence[str]) -> int:
    """Runs the node that a settings file describes; returns its exit status."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m pytest_kcontroller.node SETTINGS.json", file=sys.stderr)
        return UsageError.exit_status
    try:
        return run_node(NodeSettings.load(Path(arguments[0])))
    except KControllerError as error:
        print(f"node: {error}", file=sys.stderr)
        return error.exit_status
    except Exception as bug:  # noqa: BLE001 - the last place where it can be said; the log is for us
        traceback.print_exc()
        print(f"node: internal error: {bug!r}\n  -> please report it as a bug, with this log", file=sys.stderr)
        return KControllerError.exit_status


def run_node(settings: NodeSettings) -> int:
    """Until SIGTERM or SIGHUP (status 0; after a controlled shutdown), or SIGINT (130; without one), all after closing the
    session.

    Raises KControllerError.
    """
    _log_to_stderr()
    if os.environ.get("KCONTROLLER_DEBUG") != "1":
        # kazoo logs every refused connection; what matters of it is in our own messages and in the history.
        logging.getLogger("kazoo").addHandler(logging.NullHandler())
    plugins = load_plugins((*settings.plugins, *((MUTANTS,) if settings.mutant or settings.kafka_compat else ())))
    mutant = plugins.mutant(settings.mutant, where="setting `mutant`")
    kafkas = plugins.kafkas(settings.kafka_compat, where="setting `kafka_compat`")
    clock = RealClock(_run_start(settings))
    with _recorder(settings, clock) as record, _installed(mutant, kafkas):
        runtime = RealRuntime(
            clock=clock,
            rng=NamedRng(settings.seed).child(f"node-{settings.node_id}"),
            zookeeper=_connector(settings),
            transport=SocketTransport(),
            disk=DirectoryDisk(Path(settings.directory)),
            record=record,
            holds=Holds(record),
        )
        return asyncio.run(_run(Node(runtime, settings, plugins), runtime, settings, mutant))


def _log_to_stderr() -> None:
    """Warnings and errors of ours, with their tracebacks; whoever started the process keeps that as the node's log."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("pytest_kcontroller").addHandler(handler)


async def _run(node: Node, runtime: RealRuntime, settings: NodeSettings, mutant: Mutant | None) -> int:
    life = asyncio.current_task()
    assert life is not None
    asked: list[int] = []

    def stop(number: int) -> None:
        """A second signal cuts a controlled shutdown short; nothing interrupts the closing of the session."""
        asked.append(number)
        node.stop(life, controlled=number != signal.SIGINT)

    loop = asyncio.get_running_loop()
    hangup = () if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else (signal.SIGHUP,)  # it is ignored under nohup
    for number in (signal.SIGTERM, signal.SIGINT, *hangup):
        loop.add_signal_handler(number, stop, number)
    try:
        async with contextlib.AsyncExitStack() as stack:
            if settings.control is not None:
                await stack.enter_async_context(ControlServer(Path(settings.control), node, runtime.holds))
            tasks = await stack.enter_async_context(Nursery())
            tasks.start(collect_garbage(), name="garbage")
            if mutant is not None:
                tasks.start(_watch_counts(mutant, runtime.record), name="mutant counts")
            await node.live(os.getpid(), ready=lambda address: _say_ready(settings.node_id, address))
    except asyncio.CancelledError:
        if not asked:
            raise
    finally:
        if mutant is not None:
            runtime.record(MutantCounts(mutant=mutant.name, counts=counts()))
    return INTERRUPTED if asked[0] == signal.SIGINT else 0


async def collect_garbage() -> None:
    """Looks for cycles of rubbish between two turns, in place of Python, which does so in the middle of anything.

    A controller keeps some objects for each partition and leaves hardly a cycle behind: a term that has ended is none. To
    look through them takes hundreds of milliseconds, in which nothing else runs. So when many have been made, or looking
    took long, what is there is set aside (gc.freeze), and never looked at again: the rubbish in it is little, and stays.
    """
    gc.disable()
    try:
        while True:
            await asyncio.sleep(GARBAGE_EVERY_S)
            began = time.thread_time()
            if not (many := _made_since() >= MANY_OBJECTS):
                gc.collect()
            if many or time.thread_time() - began > LONG_S:
                gc.freeze()
    finally:
        gc.enable()


def _made_since() -> int:
    """Objects since the last look. Python's own count is less those that have been freed, old ones too: it is exact if it is
    great, and then there is no need to go through them."""
    net = gc.get_count()[0]
    return net if net >= MANY_OBJECTS else len(gc.get_objects(generation=0))


async def _watch_counts(mutant: Mutant, record: Record) -> None:
    """Records the counts whenever they have changed, since a killed node says nothing at its end."""
    last: dict[str, int] = {}
    while True:
        if (now := counts()) != last:
            record(MutantCounts(mutant=mutant.name, counts=now))
            last = now
        await asyncio.sleep(COUNTS_EVERY_S)


def _say_ready(node: int, address: Address) -> None:
    print(json.dumps({"ready": True, "node": node, "address": str(address)}), flush=True)


def _run_start(settings: NodeSettings) -> RunStart:
    try:
        return RunStart.now() if settings.run_start is None else RunStart.decode(settings.run_start)
    except ValueError:
        raise UsageError(f"{settings.run_start!r} is no run start", where="setting `run_start`") from None


@contextlib.contextmanager
def _recorder(settings: NodeSettings, clock: RealClock) -> Iterator[Record]:
    """The history is written under its file's name: a restarted node writes a file of its own."""
    if settings.history is None:
        yield _kept_nowhere
        return
    path = Path(settings.history)
    try:
        recorder = Recorder(path, path.stem, clock)
    except OSError as bad:
        raise UsageError(f"no history can be written: {bad}", where="setting `history`") from None
    try:
        yield recorder
    finally:
        recorder.close()


def _kept_nowhere(event: HistoryEvent, /) -> None:
    """The history of a node that nobody reads."""


@contextlib.contextmanager
def _installed(mutant: Mutant | None, kafkas: Sequence[Mutant]) -> Iterator[None]:
    try:
        with installed(mutant, kafkas):
            yield
    except MutantDoesNotApplyError as stale:
        raise UsageError(str(stale), where="setting `mutant`") from None


def _connector(settings: NodeSettings) -> KazooConnector:
    """The proxy in front of ZooKeeper, if there is one, takes the place of its host and port; the chroot stays."""
    servers, slash, chroot = settings.zookeeper.partition("/")
    if (link := settings.link("zookeeper", "zk")) is not None:
        servers = str(link)
    return KazooConnector(
        servers + slash + chroot,
        timeout_ms=settings.session_timeout_ms,
        makes_chroot=True,
        close_grace_s=settings.close_grace_s,
    )
