"""kazoo's own client on a simulated session: its methods and recipes, its exceptions, its rules for arguments.

Only what is below them is another: requests go to the simulated server, and whoever waits moves the world instead.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.handlers.utils import AsyncResult
from kazoo.protocol import serialization as jute
from kazoo.protocol.states import Callback, EventType, KeeperState, WatchedEvent, ZnodeStat
from kazoo.retry import KazooRetry

from pytest_kcontroller.errors import NotOnThisBackend
from pytest_kcontroller.sim.zookeeper_session import SimConnector
from pytest_kcontroller.sim_driver import WAY_OUT, SimDriver
from pytest_kcontroller.zookeeper import session as port
from pytest_kcontroller.zookeeper.session import SessionState, StateEvent, WatchEvent, WatchKind, ZkSession

__tracebackhide__ = True  # pytest: a failing call is shown where the test makes it

LIMIT_S = 60.0
"""Whoever waits without a limit does so for this simulated time: the world has no end of its own."""

_EVENTS = {
    WatchKind.CREATED: EventType.CREATED,
    WatchKind.DELETED: EventType.DELETED,
    WatchKind.CHANGED: EventType.CHANGED,
    WatchKind.CHILDREN: EventType.CHILD,
}
_STATES = {
    SessionState.CONNECTED: KeeperState.CONNECTED,
    SessionState.SUSPENDED: KeeperState.CONNECTING,
    SessionState.EXPIRED: KeeperState.EXPIRED_SESSION,
    SessionState.CLOSED: KeeperState.CLOSED,
}
_EPHEMERAL, _SEQUENCE = 1, 2
_ROLLED_BACK, _NOT_TRIED = 0, -2
"""What ZooKeeper answers for the operations before and after the one that failed."""


class SimEvent:
    """threading.Event, and also a Condition as kazoo's results need it: waiting moves the world."""

    def __init__(self, driver: SimDriver) -> None:
        self._driver, self._set = driver, False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        self._driver.stir()

    notify_all = set

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        return self._driver.wait(self.is_set, LIMIT_S if timeout is None else timeout)

    def __enter__(self) -> SimEvent:
        return self

    def __exit__(self, *raised: object) -> None:
        """There is one thread: nothing was locked."""


class SimHandler:
    """kazoo.interfaces.IHandler: what kazoo waits and calls back with."""

    name = "simulated"
    timeout_exception = KazooTimeoutError
    running = True

    def __init__(self, driver: SimDriver) -> None:
        self._driver = driver
        self.completion_queue, self.callback_queue = driver.queue(), driver.queue()

    def start(self) -> None:
        """There is no thread to start."""

    def stop(self) -> None:
        """There is no thread to stop."""

    def sleep_func(self, seconds: float) -> None:
        self._driver.wait(lambda: False, seconds)

    def event_object(self) -> SimEvent:
        return SimEvent(self._driver)

    def lock_object(self) -> Any:
        return threading.Lock()

    def rlock_object(self) -> Any:
        return threading.RLock()

    def async_result(self) -> AsyncResult:
        return AsyncResult(self, self.event_object, KazooTimeoutError)

    def spawn(self, work: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        self.callback_queue.put(lambda: work(*args, **kwargs))

    def dispatch_callback(self, callback: Callback) -> None:
        self.callback_queue.put(lambda: callback.func(*callback.args))


class SimKazooClient(KazooClient):
    """A started client. `chroot` must be there."""

    def __init__(self, driver: SimDriver, connector: SimConnector, chroot: str = "") -> None:
        self._driver, self._connector, self._callbacks = driver, connector, SimHandler(driver)
        handler: Any = self._callbacks
        super().__init__(
            f"zookeeper:2181{chroot}",
            handler=handler,
            connection_retry=KazooRetry(max_jitter=0.0, sleep_func=handler.sleep_func),
            command_retry=KazooRetry(max_jitter=0.0, sleep_func=handler.sleep_func),
        )
        self._session: ZkSession | None = None
        self._watchers: dict[tuple[str, bool], dict[Callable[[WatchedEvent], object], None]] = {}
        """By path, and whether for its children."""
        self.start()

    # --- its life

    def start(self, timeout: float = LIMIT_S) -> None:
        if self._session is None:
            self._stopped.clear()
            self._session = session = self._driver.call(self._connector.open(self._on_event))
            self._session_id, self._session_passwd = session.session_id, session.password
            self._session_timeout = session.timeout_ms
            self._session_callback(KeeperState.CONNECTED)

    def start_async(self) -> Any:
        self.start()
        return self._live

    def stop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._stopped.set()
            self._driver.call(session.close())
            self._ended(KeeperState.CLOSED)

    def close(self) -> None:
        self.stop()

    def command(self, cmd: bytes = b"ruok") -> str:
        raise NotOnThisBackend("a simulated ZooKeeper has no port for four letter words", hint=WAY_OUT)

    def _on_event(self, event: port.SessionEvent) -> None:
        """In the world: the test hears of it when the world stands still."""
        if isinstance(event, StateEvent):
            self._callbacks.callback_queue.put(lambda: self._on_state(event.state))
        else:
            self._on_watch(event)

    def _on_state(self, state: SessionState) -> None:
        if state == SessionState.EXPIRED:
            self._session = None
            self._ended(KeeperState.EXPIRED_SESSION)
            self.start()  # as kazoo does: a new session by itself
        elif self._session is not None:
            if state == SessionState.SUSPENDED:
                self._forget_watches(KeeperState.CONNECTING)
            self._session_callback(_STATES[state])

    def _ended(self, state: str) -> None:
        self._forget_watches(state)
        self._session_callback(state)

    # --- watches

    def _watch(self, path: str, children: bool, watcher: Callable[[WatchedEvent], object]) -> None:
        self._watchers.setdefault((path, children), {})[watcher] = None

    def _on_watch(self, event: WatchEvent) -> None:
        both = event.kind == WatchKind.DELETED
        for children in (False, True) if both else (event.kind == WatchKind.CHILDREN,):
            self._tell(self._watchers.pop((event.path, children), {}), _EVENTS[event.kind], event.path)

    def _forget_watches(self, state: str) -> None:
        for watchers in self._watchers.values():
            self._tell(watchers, EventType.NONE, None, state)
        self._watchers.clear()

    def _tell(
        self,
        watchers: dict[Callable[[WatchedEvent], object], None],
        kind: str,
        path: Any,
        state: str = KeeperState.CONNECTED,
    ) -> None:
        event = WatchedEvent(kind, state, self.unchroot(path) if path else path)
        for watcher in watchers:
            self._callbacks.dispatch_callback(Callback("watch", watcher, (event,)))

    # --- requests

    def _call(self, request: Any, async_object: Any) -> None:
        """kazoo's one way out: every method ends here."""
        if self._session is None:
            async_object.set_exception(jute.EXCEPTIONS[port.SessionExpiredError.code]())
            return
        if isinstance(request, jute.Sync):  # one server: it never lags
            async_object.set(request.path)
            return
        asked = _asked(request)

        def answered(future: asyncio.Future[object]) -> None:
            if (failed := future.exception()) is not None:
                async_object.set_exception(_refused(failed))
                return
            if (watcher := getattr(request, "watcher", None)) is not None:
                self._watch(request.path, isinstance(asked, port.GetChildren), watcher)
            async_object.set(_answer(request, future.result(), _length(request, data), self))

        data: asyncio.Future[object] | None = None
        if isinstance(request, jute.Exists | jute.GetChildren2):
            # the port's stat has no length: it is read together with it, and answered before it
            data = self._session.submit(port.GetData(request.path))
        self._session.submit(asked).add_done_callback(answered)


def _length(request: Any, data: asyncio.Future[object] | None) -> int:
    if data is None:
        return len(getattr(request, "data", None) or b"")
    read = data.result() if data.exception() is None else None
    return len(read.data) if isinstance(read, port.Node) else 0


def _asked(request: Any) -> port.Request:
    """The request in the terms of the port. Raises NotOnThisBackend."""
    match request:
        case jute.Exists():
            return port.Exists(request.path, request.watcher is not None)
        case jute.GetData():
            return port.GetData(request.path, request.watcher is not None)
        case jute.GetChildren() | jute.GetChildren2():
            return port.GetChildren(request.path, request.watcher is not None)
        case jute.Transaction():
            return port.Multi(tuple(_written(operation) for operation in request.operations))
    written = _written(request)
    assert not isinstance(written, port.Check), "kazoo has it in transactions only"
    return written


def _written(request: Any) -> port.Create | port.SetData | port.Delete | port.Check:
    match request:
        case jute.Create() if not request.flags & ~(_EPHEMERAL | _SEQUENCE):
            ephemeral, sequence = bool(request.flags & _EPHEMERAL), bool(request.flags & _SEQUENCE)
            return port.Create(request.path, request.data or b"", ephemeral, sequence)
        case jute.SetData():
            return port.SetData(request.path, request.data or b"", request.version)
        case jute.Delete():
            return port.Delete(request.path, request.version)
        case jute.CheckVersion():
            return port.Check(request.path, request.version)
    what = type(request).__name__
    raise NotOnThisBackend(f"the simulated ZooKeeper does not know kazoo's request {what}", hint=WAY_OUT)


def _answer(request: Any, answer: Any, length: int, client: KazooClient) -> Any:
    """As kazoo would have read it. `length`: of the data that the stat speaks of."""
    match answer:
        case port.Created(path):
            return path
        case port.Stat():
            return _stat(answer, length)
        case port.Node(data, stat):
            return data, _stat(stat, len(data))
        case port.Children(names, stat):
            return (list(names), _stat(stat, length)) if isinstance(request, jute.GetChildren2) else list(names)
        case tuple():
            return _answers(request, answer, client)
    return None if isinstance(request, jute.Exists) else True


def _answers(request: Any, answers: tuple[Any, ...], client: KazooClient) -> list[Any]:
    results: list[Any] = []
    failed = False
    for operation, answer in zip(request.operations, answers, strict=True):
        if isinstance(answer, port.RolledBackError):
            results.append(jute.EXCEPTIONS[_NOT_TRIED if failed else _ROLLED_BACK]())
        elif isinstance(answer, port.ZkError):
            failed = True
            results.append(_refused(answer))
        else:
            result = _answer(operation, answer, _length(operation, None), client)
            results.append(client.unchroot(result) if isinstance(result, str) else result)
    return results


def _refused(failed: BaseException) -> BaseException:
    if isinstance(failed, port.RequestTooBigError):
        return ConnectionLoss()  # what a server does of which too much is asked
    if isinstance(failed, port.UnexpectedZkError):
        return jute.EXCEPTIONS[failed.zk_code]()
    return jute.EXCEPTIONS[failed.code]() if isinstance(failed, port.ZkError) else failed


def _stat(stat: port.Stat | None, length: int) -> ZnodeStat:
    assert stat is not None
    return ZnodeStat(
        czxid=stat.czxid,
        mzxid=stat.mzxid,
        ctime=stat.ctime_ms,
        mtime=stat.mtime_ms,
        version=stat.version,
        cversion=stat.cversion,
        aversion=0,
        ephemeralOwner=stat.ephemeral_owner,
        dataLength=length,
        numChildren=stat.children,
        pzxid=stat.pzxid,
    )
