"""The longest turn of the event loop, and how long others wait, while a controller handles events of many partitions.

    python benchmarks/turns.py [--partitions 10000 100000 200000] [--against REV] [--json]

A turn is one callback of the event loop; its length is the CPU time of the loop's thread, pauses of the garbage collector
included. Nothing else of the process runs meanwhile: no ping is answered, no timer fires.

The cluster is controller.py's (the real controller and store, a session over dictionaries). Here each answer of ZooKeeper
comes in a turn of its own, as kazoo's do, and each request to broker 1 is read, handled and answered as that node's own
broker does. What stands for ZooKeeper and for other brokers does not count.

`wait` is the longest that a task which is ready waits for its turn: all turns of one round of the loop. It is what a ping
waits. `AlterPartition` is the time from such a request at the beginning of the event to its answer: it is an event too, and
has to wait for the one before, as in Kafka. Both are the CPU time of the node's turns.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import platform
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import controller as controller_benchmark
from controller import BROKERS, NODE, Bench, CountingChannels, _answer_to
from memory_session import MemorySession
from phases import Phases, additions_s
from revisions import measured_in, worktree

from pytest_kcontroller.broker.handlers import handlers_of
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.controller.controller import Controller
from pytest_kcontroller.node import process as node_process
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.messages import APIS, AlterPartitionRequest, ControlledShutdownRequest
from pytest_kcontroller.zookeeper.session import WatchKind
from pytest_kcontroller.zookeeper.znodes import BROKER_IDS, broker_path

T = TypeVar("T")

AIM_MS = 50
BREATHES = ("sleep", "after", "__anext__")
"""Whoever waits in one of these was the one that did something."""
IDLE_TURNS = 200
"""So many turns of the loop in which nothing is left to do: then it is done."""


class Watch:
    """Measures each turn, from the moment that it is made, and each pause of the garbage collector."""

    def __init__(self) -> None:
        self.longest: list[tuple[float, float, str]] = []
        """The five longest: CPU seconds, of which the garbage collector took so many, whose turn."""
        self.turns, self.cpu_s, self.pause_s = 0, 0.0, 0.0
        self._run = asyncio.events.Handle._run  # type: ignore[attr-defined]
        self._began = self._collected = 0.0
        asyncio.events.Handle._run = lambda handle: self._measure(handle)  # type: ignore[attr-defined]
        gc.callbacks.append(self._collect)

    def start(self) -> None:
        self.longest, self.turns, self.cpu_s, self.pause_s = [], 0, 0.0, 0.0

    def _measure(self, handle: Any) -> None:
        what = _what(handle)
        self._collected, began = 0.0, time.thread_time()
        self._run(handle)
        took = time.thread_time() - began
        if what is not None:
            self.turns, self.cpu_s = self.turns + 1, self.cpu_s + took
            if not self.longest or took > self.longest[-1][0] or len(self.longest) < 5:
                self.longest = sorted([*self.longest, (took, self._collected, what)], reverse=True)[:5]

    def _collect(self, phase: str, info: Mapping[str, int]) -> None:
        now = time.thread_time()
        if phase == "start":
            self._began = now
        else:
            self._collected += now - self._began
            self.pause_s = max(self.pause_s, now - self._began)

    def found(self) -> dict[str, Any]:
        return {
            "longest_ms": self.longest[0][0] * 1000,
            "what": self.longest[0][2],
            "five": [
                [round(took * 1000, 1), round(collected * 1000, 1), what] for took, collected, what in self.longest
            ],
            "turns": self.turns,
            "cpu_s": self.cpu_s,
            "gc_ms": self.pause_s * 1000,
        }


def _what(handle: Any) -> str | None:
    """Whose turn it is; None: not the node's."""
    callback = handle._callback
    of = getattr(callback, "__self__", None)
    if isinstance(of, LaterSession | Others):
        return None
    if not isinstance(of, asyncio.Task):
        return str(getattr(callback, "__qualname__", callback))
    coroutine: Any = of.get_coro()
    if coroutine.__name__ == "as_in_a_node":
        return None
    while getattr(inner := coroutine.cr_await, "cr_code", None) is not None and inner.__name__ not in BREATHES:
        coroutine = inner
    line = "" if coroutine.cr_frame is None else f":{coroutine.cr_frame.f_lineno}"
    return f"{coroutine.__qualname__}{line}"


class LaterSession(MemorySession):
    """Answers each request in a turn of its own, in order; the work is ZooKeeper's, and does not count."""

    def submit(self, request: Any) -> asyncio.Future[object]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()
        loop.call_soon(self._later, request, future)
        return future

    def _later(self, request: Any, future: asyncio.Future[object]) -> None:
        done = super().submit(request)
        if (failed := done.exception()) is not None:
            future.set_exception(failed)
        else:
            future.set_result(done.result())


class Others:
    """The brokers but broker 1: they answer success, in a turn that does not count."""

    def __init__(self, take: Callable[[int, Any, bytes], None]) -> None:
        self._take = take

    def answer(self, broker: int, request: Any, version: int) -> None:
        answer = encode(_answer_to(request), version)
        asyncio.get_running_loop().call_soon(self._take, broker, request, answer)


class TurningChannels(CountingChannels):
    """Each request and each answer is a turn. Broker 1 is the node's own: real handlers read, take over and answer."""

    def __init__(
        self, phases: Phases, answered: Callable[[int, Any, Any], None], record: Callable[[Any], None]
    ) -> None:
        super().__init__(phases, answered)
        self._answered_by = answered
        self._others = Others(self._take)
        self._state = BrokerState(NODE, record, lambda _: None)
        self._handlers = handlers_of(self._state)
        self.flying = 0
        self.tasks: list[asyncio.Task[None]] = []
        self._last: dict[int, asyncio.Task[None]] = {}

    @property
    def unanswered(self) -> int:
        return self.flying

    def send(self, broker: int, request: Any) -> None:
        if broker in self._brokers:
            self.flying += 1
            self.requests += 1
            before = self._last.get(broker)
            self._last[broker] = asyncio.get_running_loop().create_task(self._send(before, broker, request))

    async def _send(self, before: asyncio.Task[None] | None, broker: int, request: Any) -> None:
        if before is not None:
            await before
        version = APIS[request.API_KEY].max_version
        body = encode(request, version)
        self.sent_bytes += len(body)
        await asyncio.sleep(0)
        if broker == NODE:
            await self._serve(request, body, version)
        else:
            asyncio.get_running_loop().call_soon(self._others.answer, broker, request, version)

    async def _serve(self, request: Any, body: bytes, version: int) -> None:
        """As wire.server.serve: one turn."""
        self._state.broker_epoch = request.broker_epoch
        response = await self._handlers[request.API_KEY](decode(type(request), body, version))
        asyncio.get_running_loop().call_soon(self._take, NODE, request, encode(response, version))

    def _take(self, broker: int, request: Any, answer: bytes) -> None:
        api = APIS[request.API_KEY]
        response = decode(api.response, answer, api.max_version)
        self.flying -= 1
        self._answered_by(broker, request, response)


class TurningBench(Bench):
    """controller.py's cluster, whose answers come later."""

    def __init__(self, phases: Phases, partitions: int, history: Path) -> None:
        super().__init__(phases, partitions, history)
        self.session = LaterSession(self.tree, phases)
        self.store = controller_benchmark.Store(self.session)

    def _make_channels(self, answered: Callable[[int, Any, Any], None]) -> TurningChannels:
        record = controller_benchmark.BenchmarkRuntime(self.phases, self._history.with_name("broker-1.jsonl")).record
        self.channels = channels = TurningChannels(self.phases, answered, record)
        return channels

    async def watched(self, watch: Watch, begin: Callable[[], Any]) -> dict[str, Any]:
        watch.start()
        begin()
        await asyncio.sleep(0)
        alter = asyncio.create_task(self._alter_partition(watch))
        idle, wait_s = 0, 0.0
        while idle < IDLE_TURNS:
            idle = idle + 1 if not self.controller.pending else 0
            before_s = watch.cpu_s
            await asyncio.sleep(0)
            wait_s = max(wait_s, watch.cpu_s - before_s)
        if self.consumer is not None and self.consumer.done():
            self.consumer.result()  # it has failed
        return {**watch.found(), "wait_ms": wait_s * 1000, "alter_partition_s": await alter}

    async def _alter_partition(self, watch: Watch) -> float:
        """CPU seconds until it is answered; by whom is told by the broker epoch, which is refused: nothing is written."""
        request = AlterPartitionRequest(broker_id=NODE, broker_epoch=0, topics=[])
        await ask(self.controller, request)
        return watch.cpu_s


async def ask(controller: Controller, request: Any) -> Any:
    return await controller.handlers()[request.API_KEY](request)


async def measure_turns(watch: Watch, partitions: int) -> dict[str, dict[str, Any]]:
    phases = Phases()
    tasks: list[asyncio.Task[Any]] = []
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for row in ("broker failure", "controlled shutdown"):
            bench = TurningBench(phases, partitions, Path(directory) / "node-1.jsonl")
            gc.collect()
            gc.freeze()  # the tree is ZooKeeper's
            bench.consumer = asyncio.create_task(bench.controller.run())
            elected = bench.controller.on_new_session
            electing = partial(elected, bench.store, 1)
            found["failover"] = await bench.watched(watch, partial(_start, electing, tasks))
            assert bench.controller.phase == "active"
            found[row] = await bench.watched(watch, partial(_begin, bench, row, tasks))
            controller_benchmark._assert_nobody_follows(bench, BROKERS)
            bench.consumer.cancel()
            await asyncio.gather(bench.consumer, *tasks, return_exceptions=True)
            tasks.clear()
            gc.unfreeze()
    return found


async def as_in_a_node(work: Coroutine[Any, Any, T]) -> T:
    """With the garbage collector as this revision's nodes have it."""
    if (collect := getattr(node_process, "collect_garbage", None)) is None:
        gc.set_threshold(*getattr(node_process, "GARBAGE", gc.get_threshold()))
        return await work
    collecting = asyncio.create_task(collect())
    try:
        return await work
    finally:
        collecting.cancel()


def _start(work: Callable[[], Coroutine[Any, Any, Any]], tasks: list[asyncio.Task[Any]]) -> None:
    tasks.append(asyncio.create_task(work()))


def _begin(bench: Bench, row: str, tasks: list[asyncio.Task[Any]]) -> None:
    if row == "broker failure":
        bench.tree.delete(broker_path(BROKERS))
        bench.notify(WatchKind.CHILDREN, BROKER_IDS)
    else:
        request = ControlledShutdownRequest(broker_id=BROKERS, broker_epoch=-1)
        _start(partial(ask, bench.controller, request), tasks)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--partitions", type=int, nargs="+", metavar="N")
    parser.add_argument("--against", metavar="REV", help="also measure this revision of the repository")
    parser.add_argument("--json", action="store_true", help="one object instead of tables")
    args = parser.parse_args()
    counts, watch, speed = args.partitions or [10_000, 100_000, 200_000], Watch(), additions_s()
    found: dict[str, Any] = {
        "now": {str(count): asyncio.run(as_in_a_node(measure_turns(watch, count))) for count in counts}
    }
    if args.against:
        with worktree(args.against) as tree:
            found["before"] = measured_in(tree, __file__, "--partitions", *map(str, counts))["now"]
    if args.json:
        print(json.dumps(found))
        return
    print(
        f"Python {platform.python_version()}; ten million additions took {speed:.2f} CPU seconds; the aim is {AIM_MS} ms"
    )
    columns = ("longest", "gc", "wait", "AlterPartition", "turns", "CPU")
    print(f"{'':<40}" + "".join(f"{column:>16}" for column in columns) + "  the longest is in")
    for when, tables in found.items():
        for count, rows in tables.items():
            for row, one in rows.items():
                cells = [f"{one[name]:.0f} ms" for name in ("longest_ms", "gc_ms", "wait_ms")]
                cells += [f"{one['alter_partition_s']:.1f} s", f"{one['turns']:,}", f"{one['cpu_s']:.1f} s"]
                name = f"{when:<8}{int(count):>9,}  {row}"
                print(f"{name:<40}" + "".join(f"{cell:>16}" for cell in cells) + f"  {one['what']}")


if __name__ == "__main__":
    main()
