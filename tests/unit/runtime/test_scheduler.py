"""Two small `async def main(runtime)` on the one-loop-per-process scheduler, and on the real runtime's clock."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from pytest_kcontroller.model.history import HistoryEvent, Record, TestAction
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE, Holds
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Clock, Rng
from pytest_kcontroller.runtime.real import RealClock, RunStart
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimLoop, SimRuntime, StuckError
from pytest_kcontroller.runtime.timeouts import within

SECOND = 1_000_000


class Small(Protocol):
    """The part of ports.Runtime that these mains touch."""

    @property
    def clock(self) -> Clock: ...
    @property
    def rng(self) -> Rng: ...
    @property
    def holds(self) -> Holds: ...

    @property
    def record(self) -> Record: ...


def did(action: str, *arguments: object) -> HistoryEvent:
    return TestAction(action=action, arguments=", ".join(map(str, arguments)))


async def worker(runtime: Small, jobs: asyncio.Queue[int], number: int) -> None:
    wait = runtime.rng.stream(f"worker-{number}")
    while True:
        job = await jobs.get()
        await runtime.clock.sleep_us(wait.randrange(100, 2000))
        runtime.record(did("job.done", job, number))
        jobs.task_done()


async def busy_main(runtime: Small, rounds: int = 5, workers: int = 3) -> None:
    """A clock, a queue, a nursery, and a `finally` that tells."""
    jobs: asyncio.Queue[int] = asyncio.Queue()
    try:
        async with Nursery() as tasks:
            for number in range(workers):
                tasks.start(worker(runtime, jobs, number), name=f"worker-{number}")
            for job in range(rounds):
                jobs.put_nowait(job)
                await runtime.clock.sleep_us(10_000)
            await jobs.join()  # on a busy machine the last one takes longer
    finally:
        runtime.record(did("finally"))


async def ticking_main(runtime: Small, ticks: int = 5, every_us: int = 10_000) -> None:
    for tick in range(ticks):
        await runtime.clock.sleep_us(every_us)
        runtime.record(did("tick", tick))


def started(world: Scheduler, name: str, main: Callable[[Small], Any], events: list[dict[str, object]]) -> SimLoop:
    loop = world.process(name)
    loop.create_task(main(SimRuntime(loop, 7, events)), name="main")
    return loop


def kinds(events: list[dict[str, object]], writer: str) -> list[object]:
    return [event.get("action", event["kind"]) for event in events if event["writer"] == writer]


def test_a_run_ends_by_itself_with_its_finally() -> None:
    events: list[dict[str, object]] = []
    with Scheduler() as world:
        started(world, "busy", busy_main, events)
        started(world, "ticking", ticking_main, events)
        world.run()
        assert world.now_us == 50_000
    assert kinds(events, "busy") == ["job.done"] * 5 + ["finally"]
    assert [event["t_us"] for event in events if event["action"] == "tick"] == [10_000, 20_000, 30_000, 40_000, 50_000]


def test_kill_runs_no_finally_and_the_other_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    events: list[dict[str, object]] = []
    said: list[str] = []

    async def stubborn(runtime: Small) -> None:
        try:
            await busy_main(runtime, rounds=100)
        except BaseException as ended:
            said.append(repr(ended))
            raise
        finally:
            said.append("finally")

    with Scheduler() as world:
        victim = started(world, "busy", stubborn, events)
        started(world, "ticking", ticking_main, events)
        world.run(until_us=25_000)
        before = kinds(events, "busy")
        world.kill(victim)
        world.run()
        assert victim.is_closed()
    del world, victim
    gc.collect()
    assert said == []
    assert kinds(events, "busy") == before
    assert len(before) == 3
    assert kinds(events, "ticking") == ["tick"] * 5
    assert capfd.readouterr() == ("", "")


def test_kill_stays_silent_until_the_end_of_the_interpreter() -> None:
    """Also the end of Python finalises nothing: no `finally`, no 'Task was destroyed', no 'never awaited'."""
    program = """
import asyncio
from pytest_kcontroller.runtime.scheduler import Scheduler

async def main():
    try:
        await asyncio.sleep(10)
    finally:
        print("finally", flush=True)

world = Scheduler()
loop = world.process("a")
task = loop.create_task(main())
world.run(until_us=5)
later = loop.create_task(main())
world.kill(loop)
dead = loop.create_task(main())
loop.create_future().set_exception(ValueError("nobody asks"))
del world, loop, task, later, dead
"""
    ran = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_a_killed_name_can_be_started_again() -> None:
    events: list[dict[str, object]] = []
    with Scheduler() as world:
        first = started(world, "node", ticking_main, events)
        with pytest.raises(ValueError, match="alive"):
            world.process("node")
        world.run(until_us=15_000)
        world.kill(first)
        started(world, "node", ticking_main, events)
        world.run()
        assert world.now_us == 65_000
    assert len(kinds(events, "node")) == 6


def test_pause_holds_what_is_due_and_resume_runs_it_in_order() -> None:
    events: list[dict[str, object]] = []
    with Scheduler() as world:
        busy = started(world, "busy", busy_main, events)
        ticking = started(world, "ticking", ticking_main, events)
        world.run(until_us=5_000)
        order: list[int] = []
        for due in (3, 1, 2):
            busy.call_later(due / 1000, order.append, due)
        busy.call_later(0.9, order.append, 900)
        world.pause(busy)
        paused_at = len(kinds(events, "busy"))
        world.run(until_us=500_000)
        assert len(kinds(events, "busy")) == paused_at
        assert len(kinds(events, "ticking")) == 5, "the other process was not paused"
        assert order == []
        world.resume(busy)
        world.run(until_us=500_000)
        assert order == [1, 2, 3]
        world.run()
        assert order == [1, 2, 3, 900]
        assert ticking.tasks == ()
    assert kinds(events, "busy")[-1] == "finally"


def test_stuck_names_who_waits_for_what() -> None:
    async def waits_for_nobody(queue: asyncio.Queue[int]) -> None:
        await queue.get()

    async def main() -> None:
        await waits_for_nobody(asyncio.Queue())

    with Scheduler() as world:
        task = world.process("node-1").create_task(main(), name="main")
        with pytest.raises(StuckError) as stuck:
            world.run()
        (line,) = stuck.value.waiting
        assert "node-1, task main" in line
        assert "waits_for_nobody (test_scheduler.py:" in line
        assert "Queue.get" in line
        with pytest.raises(StuckError, match="main cannot end"):
            world.run_until_complete(task)


def test_stuck_names_whom_a_task_waits_for() -> None:
    async def main() -> None:
        await asyncio.gather(awaits(), leaves(), asyncio.Event().wait())

    async def awaits() -> None:
        await asyncio.get_running_loop().create_task(asyncio.Event().wait(), name="never")

    async def leaves() -> None:
        async with Nursery() as tasks:
            tasks.start(stubborn(), name="stubborn")
            await asyncio.sleep(0.001)

    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    with Scheduler() as world:
        world.process("node-1").create_task(main(), name="main")
        with pytest.raises(StuckError) as stuck:
            world.run()
    whom = [line.partition(", task ")[2].partition(":")[0] + line.rpartition("),")[2] for line in stuck.value.waiting]
    assert whom[:3] == [
        "main for task node-1/task-2, task node-1/task-3, task node-1/task-4",
        "node-1/task-2 for task never",
        "node-1/task-3 for task stubborn",
    ]
    assert len(whom) == 6
    assert all(" for " not in line for line in whom[3:])


def test_a_paused_process_is_named_so_when_all_are_stuck() -> None:
    with Scheduler() as world:
        loop = world.process("node-1")
        loop.create_task(asyncio.sleep(1), name="nap")
        world.pause(loop)
        with pytest.raises(StuckError, match=r"node-1 \(paused\), task nap"):
            world.run()


def test_a_spinning_process_is_stuck_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_kcontroller.runtime.scheduler.HANDLES_PER_INSTANT", 1000)

    async def spin() -> None:
        while True:  # noqa: ASYNC110  # spinning is the point
            await asyncio.sleep(0)

    with Scheduler() as world:
        world.process("a").create_task(spin(), name="spin")
        with pytest.raises(StuckError, match="somebody spins"):
            world.run()


def test_asyncio_itself_works_on_it() -> None:
    async def main() -> list[object]:
        seen: list[object] = []
        loop = asyncio.get_running_loop()
        try:
            async with within(0.5):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append(("timeout", loop.time()))
        lock, event = asyncio.Lock(), asyncio.Event()
        async with lock:
            loop.call_later(1, event.set)
            await event.wait()
        seen.append(await asyncio.wait_for(asyncio.sleep(1, "slept"), 2))  # noqa: TID251 - others use it
        seen.append(await asyncio.gather(asyncio.sleep(2, 2), asyncio.sleep(1, 1)))
        seen.append(loop.time())
        return seen

    with Scheduler() as world:
        assert world.run_until_complete(world.process("a").create_task(main())) == [
            ("timeout", 0.5),
            "slept",
            [2, 1],
            4.5,
        ]


def test_a_callback_that_fails_is_kept_with_its_process() -> None:
    with Scheduler() as world:
        loop = world.process("a")
        contexts: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: contexts.append(context))
        loop.call_soon(lambda: 1 // 0)
        world.run()
        assert isinstance(contexts[0]["exception"], ZeroDivisionError)
        loop.set_exception_handler(None)
        loop.call_soon(lambda: 1 // 0)
        world.run()
        assert len(loop.errors) == 1


def test_a_timer_that_nobody_waits_for_any_more_moves_no_clock_and_is_forgotten() -> None:
    async def main() -> None:
        for _ in range(5000):
            async with within(3600):
                await asyncio.sleep(0.001)

    with Scheduler() as world:
        world.process("a").create_task(main())
        world.run(until_us=4 * SECOND)
        assert len(world._later) < 1000
        world.run()
        assert world.now_us == 5 * SECOND
        assert world.ran > 10_000


def test_a_timer_of_a_killed_process_moves_no_clock() -> None:
    with Scheduler() as world:
        loop = world.process("a")
        loop.call_later(7200, print)
        world.kill(loop)
        world.run()
        assert world.now_us == 0


def test_a_process_that_is_busy_for_long_does_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_kcontroller.runtime.scheduler.HANDLES_PER_INSTANT", 1000)
    events: list[dict[str, object]] = []
    with Scheduler() as world:
        started(world, "a", lambda runtime: ticking_main(runtime, ticks=5000), events)
        world.run()
    assert len(events) == 5000


def test_the_same_instant_keeps_the_order_of_scheduling() -> None:
    """Also between timers that were set long before and what is called soon at that instant."""
    order: list[str] = []
    with Scheduler() as world:
        first, second = world.process("first"), world.process("second")

        def at(loop: SimLoop, name: str) -> None:
            order.append(name)
            if len(name) < 3:
                loop.call_soon(at, loop, name + "s")
                loop.call_at(world.now_us / 1e6, at, loop, name + "t")

        second.call_at(0.5, at, second, "a")
        first.call_at(0.25, first.call_at, 0.5, at, first, "c")
        first.call_at(0.5, at, first, "b")
        world.run()
    assert order == [
        "a",
        "b",
        "c",
        *(f"{x}{y}" for x in "abc" for y in "st"),
        *(f"{x}{y}{z}" for x in "abc" for y in "st" for z in "st"),
    ]


def test_it_does_not_run_inside_a_loop() -> None:
    async def inside() -> None:
        Scheduler().run()

    with Scheduler() as world:
        world.process("a").call_soon(lambda: None)
        with pytest.raises(RuntimeError, match="not inside one"):
            asyncio.run(inside())


def test_a_held_task_waits_while_the_rest_goes_on() -> None:
    async def main(runtime: Small) -> None:
        async with Nursery() as tasks:
            tasks.start(ticking_main(runtime), name="ticking")
            await runtime.holds.reach(BEFORE_STATE_WRITE)
            runtime.record(did("wrote"))

    events: list[dict[str, object]] = []
    with Scheduler() as world:
        loop = world.process("node")
        runtime = SimRuntime(loop, 1, events)
        runtime.holds.arm(BEFORE_STATE_WRITE)
        loop.create_task(main(runtime))
        world.run(until_us=25_000)
        assert kinds(events, "node") == ["hold.reached", "tick", "tick"]
        loop.call_soon(runtime.holds.release, BEFORE_STATE_WRITE)
        world.run()
        assert kinds(events, "node")[-2:] == ["hold.released", "wrote"]


# --- determinism ------------------------------------------------------------------------------------------------------


def crowded_history() -> str:
    """Two processes with 60 tasks each that mostly wake at the same instants; one is killed, the other paused."""
    events: list[dict[str, object]] = []

    async def crowd(runtime: Small) -> None:
        await busy_main(runtime, rounds=300, workers=60)

    with Scheduler() as world:
        first, second = started(world, "first", crowd, events), started(world, "second", crowd, events)
        world.run(until_us=1 * SECOND)
        world.kill(first)
        world.pause(second)
        world.run(until_us=2 * SECOND)
        world.resume(second)
        world.run()
    return json.dumps(events)


def test_the_same_run_twice_is_the_same_history() -> None:
    first = crowded_history()
    assert len(json.loads(first)) > 350
    assert crowded_history() == first


@pytest.mark.parametrize("seed,malloc", [("0", "default"), ("1", "default"), ("0", "malloc"), ("1", "malloc")])
def test_the_history_is_the_same_in_other_processes(seed: str, malloc: str) -> None:
    program = f"import runpy; print(runpy.run_path({str(Path(__file__))!r})['crowded_history']())"
    surroundings = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONMALLOC": malloc}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=surroundings)
    assert ran.stdout.strip() == crowded_history()


# --- the same mains for real ------------------------------------------------------------------------------------------


class RealSmall:
    def __init__(self) -> None:
        self.clock = RealClock(RunStart.now())
        self.rng = NamedRng(7)
        self.events: list[str] = []
        self.holds = Holds(self.record)

    def record(self, event: HistoryEvent, /) -> None:
        assert isinstance(event, TestAction)
        self.events.append(event.action)


def test_the_same_mains_run_on_the_real_clock() -> None:
    async def both() -> tuple[list[str], list[str]]:
        busy, ticking = RealSmall(), RealSmall()
        await asyncio.gather(busy_main(busy), ticking_main(ticking))
        return busy.events, ticking.events

    busy, ticking = asyncio.run(both())
    assert busy == ["job.done"] * 5 + ["finally"]
    assert ticking == ["tick"] * 5
