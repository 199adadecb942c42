"""Virtual time: one event loop per simulated process, on one clock with integer microseconds.

A process can be *killed*: its loop is dropped, so nothing of it runs again, no `finally` either. (In a single shared
loop a kill would be a cancellation, and a "killed" node would close its session politely.) It can be *paused*: its
handles are held, as SIGSTOP holds a process. Everything runs in one thread, in an order that depends on nothing but
what the processes do: handles run by (due time, order of scheduling).
"""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self, TypeVar

from pytest_kcontroller.errors import KControllerError, NotOnThisBackend
from pytest_kcontroller.model.history import HistoryEvent, line_of
from pytest_kcontroller.runtime.holds import Holds
from pytest_kcontroller.runtime.nursery import settled
from pytest_kcontroller.runtime.ports import Disk, Transport
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.zookeeper.session import ZkConnector

T = TypeVar("T")

HANDLES_PER_INSTANT = 1_000_000
"""So many handles without the clock moving are a loop that spins."""

PRUNE_FROM = 256
"""So many later handles are looked through for cancelled ones; after that, twice as many as remained."""

WALL_START_MS = 1_750_000_000_000
"""What the simulated wall clock shows at the start: always the same, so that runs are alike."""

_log = logging.getLogger(__name__)


class StuckError(KControllerError):
    """Somebody waits and nothing is scheduled that could ever wake them. `waiting`: one line per task."""

    def __init__(self, what: str, now_us: int, waiting: tuple[str, ...]) -> None:
        self.now_us, self.waiting = now_us, waiting
        lines = "".join(f"\n    {line}" for line in waiting) or "\n    (nobody)"
        super().__init__(f"{what} at {now_us / 1e6:.6f} s of simulated time; who waits:{lines}")


class InterruptedRunError(KControllerError):
    """Somebody else's thread has asked for the end of this run."""


class SimHandle(asyncio.Handle):
    """asyncio's, made without asking the loop about a debug mode that it has not. There is one for each step of a run."""

    __slots__ = ()

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], loop: SimLoop, context: Context | None
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop, self._callback, self._args = loop, callback, args
        self._cancelled, self._repr, self._source_traceback = False, None, None


class SimTimer(SimHandle, asyncio.TimerHandle):
    """The same for a later time, `when` in seconds."""

    __slots__ = ()

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: SimLoop,
        context: Context | None,
    ) -> None:
        SimHandle.__init__(self, callback, args, loop, context)
        self._when, self._scheduled = when, False


class SimLoop(asyncio.AbstractEventLoop):
    """The event loop of one simulated process. Made by Scheduler.process."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.scheduler, self.name = scheduler, name
        self.alive, self.paused = True, False
        self.errors: list[dict[str, Any]] = []
        """What no code handled: contexts as of asyncio's call_exception_handler."""
        self.when_killed: list[Callable[[], None]] = []
        """Called in order at the kill: what the rest of the world does about it (connections end)."""
        self._held: list[asyncio.Handle] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._made, self._prune_at = 0, 64
        self._handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None

    def __repr__(self) -> str:
        return f"<SimLoop {self.name} {'paused' if self.paused else 'alive' if self.alive else 'dead'}>"

    # --- what asyncio asks of a loop ---

    def time(self) -> float:
        """Seconds of simulated time."""
        return self.scheduler.now_us / 1e6

    def call_soon(  # type: ignore[override]  # typeshed types the arguments with a TypeVarTuple
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = SimHandle(callback, args, self, context)
        if self.alive:
            self.scheduler._ready.append((self, handle))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        scheduler = self.scheduler
        handle = SimTimer(scheduler.now_us / 1e6 + delay, callback, args, self, context)
        scheduler.schedule(self, scheduler.now_us + round(delay * 1e6), handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = SimTimer(when, callback, args, self, context)
        self.scheduler.schedule(self, round(when * 1e6), handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> NoReturn:
        raise RuntimeError("threads have no place in simulated time")

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        self._made += 1
        task = asyncio.Task(coro, loop=self, name=name or f"{self.name}/task-{self._made}", context=context)
        self._tasks.append(task)
        if len(self._tasks) > self._prune_at:
            self._tasks = [task for task in self._tasks if not task.done()]
            self._prune_at = max(64, 2 * len(self._tasks))
        if not self.alive:
            _never_finalise(task)
        return task

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """asyncio tells loops so; a cancelled handle is skipped when its time comes."""

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        return not self.alive

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        """There is no debug mode: it measures wall time."""

    def get_task_factory(self) -> None:
        return None

    async def shutdown_asyncgens(self) -> None:
        """Nothing to do: no generator hooks are installed."""

    def set_exception_handler(
        self, handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None
    ) -> None:
        self._handler = handler

    def get_exception_handler(self) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None:
        return self._handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(context)
        _log.error("%s: %s", self.name, context.get("message"), exc_info=context.get("exception"))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.alive:
            return
        if self._handler is None:
            self.default_exception_handler(context)
        else:
            self._handler(self, context)

    # --- ours ---

    @property
    def tasks(self) -> tuple[asyncio.Task[Any], ...]:
        """Tasks that have not ended, oldest first."""
        return tuple(task for task in self._tasks if not task.done())

    def waiting(self) -> tuple[str, ...]:
        """One line per unfinished task: process, task, where it waits, and for whom if that can be told."""
        state = " (paused)" if self.paused else ""
        return tuple(f"{self.name}{state}, task {task.get_name()}: {_where(task)}{_whom(task)}" for task in self.tasks)

    def _drop(self) -> None:
        self.alive = False
        self._held.clear()
        for task in self.tasks:
            _never_finalise(task)


class Scheduler:
    """Runs the loops of all processes. `with Scheduler() as world:` ends them all at the end of the block."""

    def __init__(self) -> None:
        self.now_us = 0
        self.processes: dict[str, SimLoop] = {}
        """By name, in the order in which they were made; a process that was killed and made again is the new one."""
        self.ran = 0
        """How many handles have run: the work of a run, whatever machine it is on."""
        self._ready: deque[tuple[SimLoop, asyncio.Handle]] = deque()
        """What is due now, in order of scheduling."""
        self._later: list[tuple[int, int, SimLoop, asyncio.Handle]] = []
        """A heap by (due time, order of scheduling)."""
        self._scheduled, self._prune_at = 0, PRUNE_FROM
        self._running = self._interrupted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kills every process."""
        for loop in self.processes.values():
            loop._drop()
        self._ready.clear()
        self._later.clear()

    def process(self, name: str) -> SimLoop:
        """A new process. Raises ValueError while a living one has that name."""
        if name in self.processes and self.processes[name].alive:
            raise ValueError(f"a process called {name!r} is alive already")
        loop = self.processes[name] = SimLoop(self, name)  # type: ignore[abstract]  # sockets etc. do not exist here
        return loop

    def kill(self, loop: SimLoop) -> None:
        """Nothing of it runs again: no handle, no `finally`, no `except GeneratorExit`. Idempotent.

        The price: its unfinished coroutines and what they refer to stay in memory for as long as this Python runs, because
        freeing a suspended coroutine would run its `finally` blocks. Long series of runs use a Python process for some
        hundred runs each. (A process that kills itself is dead once the step that it is in has ended.)
        """
        if loop.alive:
            loop._drop()
            for react in loop.when_killed:
                react()

    def pause(self, loop: SimLoop) -> None:
        """Holds its handles until resume. Idempotent."""
        loop.paused = True

    def resume(self, loop: SimLoop) -> None:
        """Timers that were due meanwhile run now, in their order. Idempotent."""
        loop.paused = False
        held, loop._held = loop._held, []
        for handle in held:
            self.schedule(loop, self.now_us, handle)

    def run(self, until_us: int | None = None) -> None:
        """Runs everything that is due up to `until_us`, and the clock ends there; without it, until nothing is scheduled.

        Raises StuckError if nothing is scheduled any more while a task waits (only without `until_us`: with it, the caller
        may be the one who is waited for), and if the clock does not move on.
        """
        self._run(until_us, None)
        if until_us is not None:
            self.now_us = max(self.now_us, until_us)
        elif waiting := self.waiting():
            raise StuckError("nothing is scheduled", self.now_us, waiting)

    def run_until_complete(self, task: asyncio.Task[T]) -> T:
        """Runs until `task` has ended and returns its result or raises its failure. Raises StuckError."""
        self._run(None, task.done)
        if not task.done():
            raise StuckError(f"{task.get_name()} cannot end: nothing is scheduled", self.now_us, self.waiting())
        return task.result()

    def interrupt(self) -> None:
        """For other threads: whoever runs it ends before the next step, with InterruptedRunError; nothing is lost."""
        self._interrupted = self._running

    def waiting(self) -> tuple[str, ...]:
        """One line per unfinished task of the living processes."""
        return tuple(line for loop in self.processes.values() if loop.alive for line in loop.waiting())

    def schedule(self, loop: SimLoop, due_us: int, handle: asyncio.Handle) -> None:
        """Runs `handle` in `loop` at `due_us`. The same handle may be scheduled many times."""
        if not loop.alive:
            return
        if due_us <= self.now_us:
            self._ready.append((loop, handle))
        else:
            self._scheduled += 1
            heapq.heappush(self._later, (due_us, self._scheduled, loop, handle))
            if len(self._later) > self._prune_at:
                self._prune()

    def _prune(self) -> None:
        """Forgets what will not run: each request that is answered leaves the timer of its timeout behind."""
        self._later = [entry for entry in self._later if entry[2].alive and not entry[3]._cancelled]
        heapq.heapify(self._later)
        self._prune_at = max(PRUNE_FROM, 2 * len(self._later))

    def _run(self, until_us: int | None, enough: Callable[[], bool] | None) -> None:
        """The hot path: names of this function instead of attributes, and asyncio is told of the loop when it changes."""
        if self._running or asyncio._get_running_loop() is not None:
            raise RuntimeError("a scheduler runs outside of event loops, not inside one, and once at a time")
        ready, running, ran, ran_before = self._ready, None, 0, 0
        spinning, set_running_loop = HANDLES_PER_INSTANT, asyncio._set_running_loop
        self._running = True
        try:
            while enough is None or not enough():
                if self._interrupted:
                    raise InterruptedRunError("the run was interrupted")
                if not ready:
                    if not self._move_clock(until_us):
                        return
                    ran_before = ran
                loop, handle = ready.popleft()
                if not loop.alive or handle._cancelled:
                    continue
                if loop.paused:
                    loop._held.append(handle)
                    continue
                if loop is not running:
                    set_running_loop(loop)
                    running = loop
                ran += 1
                if ran - ran_before > spinning:
                    what = f"{spinning} steps and the clock has not moved: somebody spins"
                    raise StuckError(what, self.now_us, self.waiting())
                try:
                    handle._context.run(handle._callback, *handle._args)  # type: ignore[attr-defined]
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as failure:  # noqa: BLE001 - as asyncio's handles do
                    message = f"a step of {loop.name} failed: {handle!r}"
                    loop.call_exception_handler({"message": message, "exception": failure, "handle": handle})
        finally:
            set_running_loop(None)
            self._running = self._interrupted = False
            self.ran += ran

    def _move_clock(self, until_us: int | None) -> bool:
        """To the next instant at which something is due; all of that is ready then. False if there is none in time."""
        later = self._later
        while later and (later[0][3]._cancelled or not later[0][2].alive):
            heapq.heappop(later)
        if not later or (until_us is not None and later[0][0] > until_us):
            return False
        now_us = self.now_us = later[0][0]
        while later and later[0][0] == now_us:
            _, _, loop, handle = heapq.heappop(later)
            self._ready.append((loop, handle))
        return True


def _never_finalise(task: asyncio.Task[Any]) -> None:
    """Makes `task`, and so its suspended coroutine, immortal: also the end of the interpreter does not finalise it."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))


def _frames(task: asyncio.Task[Any]) -> list[FrameType]:
    """Of the coroutines that `task` is in, the innermost last."""
    frames: list[FrameType] = []
    step: Any = task.get_coro()
    while step is not None:
        frame = getattr(step, "cr_frame", None) or getattr(step, "gi_frame", None) or getattr(step, "ag_frame", None)
        if frame is None:
            break
        frames.append(frame)
        step = getattr(step, "cr_await", None) or getattr(step, "gi_yieldfrom", None)
    return frames


def _where(task: asyncio.Task[Any]) -> str:
    """The innermost coroutine of ours or the user's that `task` waits in: `consume (worker.py:12)`."""
    inner, own = "? ()", ""
    for frame in _frames(task):
        code = frame.f_code
        inner = f"{code.co_qualname} ({code.co_filename.rpartition('/')[2]}:{frame.f_lineno})"
        if "/asyncio/" not in code.co_filename:
            own = inner
    return inner if own in (inner, "") else f"{own} in {inner.partition(' ')[0]}"


def _whom(task: asyncio.Task[Any]) -> str:
    """`, for task other`: whom `task` awaits, gathers, or ends with its nursery; `, for server:9092`: whom it reads from.

    Who holds a lock or would set an event is not known: asyncio does not write it down.
    """
    waiter = getattr(task, "_fut_waiter", None)
    others = [waiter, *getattr(waiter, "_children", ())]
    frames = _frames(task)
    if frames and frames[-1].f_code is settled.__code__:
        others.append(frames[-1].f_locals["task"])
    whom = [f"task {other.get_name()}" for other in others if isinstance(other, asyncio.Task) and not other.done()]
    if frames and (peer := getattr(frames[-1].f_locals.get("self"), "peer", None)) is not None:
        whom.append(str(peer))
    return f", for {', '.join(whom)}" if whom else ""


# --- a runtime on it --------------------------------------------------------------------------------------------------


class SimClock:
    """See ports.Clock."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._ahead_ms = scheduler, 0

    def now_us(self) -> int:
        return self._scheduler.now_us

    def wall_ms(self) -> int:
        return WALL_START_MS + self._scheduler.now_us // 1000 + self._ahead_ms

    def jump(self, by_ms: int) -> None:
        self._ahead_ms += by_ms

    async def sleep_us(self, duration_us: int) -> None:
        await asyncio.sleep(duration_us / 1e6)


class SimRuntime:
    """See ports.Runtime. What is not given does not exist in this world, and NotOnThisBackend is raised for it."""

    def __init__(
        self,
        loop: SimLoop,
        seed: int,
        events: list[dict[str, object]],
        *,
        zookeeper: ZkConnector | None = None,
        transport: Transport | None = None,
        disk: Disk | None = None,
    ) -> None:
        """`events` is the history that all processes of a world share."""
        self.clock = SimClock(loop.scheduler)
        self.rng = NamedRng(seed).child(loop.name)
        self.holds = Holds(self.record)
        self._zookeeper, self._transport, self._disk = zookeeper, transport, disk
        self._loop, self._events, self._seq = loop, events, 0

    def record(self, event: HistoryEvent, /) -> None:
        """Not what a process does that has been killed."""
        if not self._loop.alive:
            return
        self._events.append(line_of(event, self._loop.name, self._seq, self._loop.scheduler.now_us))
        self._seq += 1

    @property
    def zookeeper(self) -> ZkConnector:
        if self._zookeeper is None:
            raise NotOnThisBackend("this simulated world has no ZooKeeper", hint="use the backend `process`")
        return self._zookeeper

    @property
    def transport(self) -> Transport:
        if self._transport is None:
            raise NotOnThisBackend("this simulated world has no network", hint="use the backend `process`")
        return self._transport

    @property
    def disk(self) -> Disk:
        if self._disk is None:
            raise NotOnThisBackend("this simulated world has no disk", hint="use the backend `process`")
        return self._disk
