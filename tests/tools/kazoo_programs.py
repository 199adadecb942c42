"""Programs in kazoo's own API, for any two of its clients: what they print is alike on every server that is right.

`calls(seed)` is a drawn series of calls, valid and not; RECIPES are kazoo's recipes with two clients. A transcript leaves
out what no two servers have in common: times, zxids, session ids and the text of exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kazoo.exceptions import ConnectionLoss, LockTimeout
from kazoo.protocol.states import EventType
from kazoo.recipe.cache import TreeCache

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.runtime.rng import NamedRng

LIMIT_S = 20
Program = Callable[[Any, Any], list[Any]]

PATHS = (
    "/a",
    "/a/b",
    "/a/b/c",
    "/d",
    "/e f",
    "/ü",
    "/a//b",
    "/a/./b",
    "/x\x01",
    "/\ue000",
    "/\uffff",
    "/a/",
    "a",
    "/",
    "",
)
VALUES = (b"", b"1", b"two", None, "text", b"x" * 5000)
VERSIONS = (-1, -1, -1, 0, 1, 7, "0")


def calls(seed: int, count: int = 60) -> Program:
    """Calls of two clients, one after the other."""

    def program(a: Any, b: Any) -> list[Any]:
        draw = NamedRng(seed).stream("calls")
        return [_call(draw, draw.choice((a, b))) for _ in range(count)]

    return program


def _call(draw: Any, zk: Any) -> Any:
    path, value, version = draw.choice(PATHS), draw.choice(VALUES), draw.choice(VERSIONS)
    yes, no = draw.random() < 0.3, draw.random() < 0.2
    makers: dict[str, Callable[[], Any]] = {
        "create": lambda: zk.create(path, value, ephemeral=no, sequence=yes, makepath=yes),
        "create with stat": lambda: zk.create(path, value, sequence=no, include_data=True),
        "get": lambda: zk.get(path),
        "set": lambda: zk.set(path, value, version=version),
        "delete": lambda: zk.delete(path, version=version, recursive=yes),
        "exists": lambda: zk.exists(path),
        "children": lambda: zk.get_children(path, include_data=yes),
        "ensure": lambda: zk.ensure_path(path),
        "sync": lambda: zk.sync(path),
        "transaction": lambda: _transaction(draw, zk),
    }
    name = draw.choice(sorted(makers))
    return name, path, _outcome(makers[name])


def _transaction(draw: Any, zk: Any) -> Any:
    whole = zk.transaction()
    for _ in range(draw.randrange(4)):
        path, value = draw.choice(PATHS[:6]), draw.choice(VALUES[:3])
        what = draw.choice(("create", "set", "delete", "check"))
        if what == "create":
            whole.create(path, value)
        elif what == "set":
            whole.set_data(path, value)
        elif what == "delete":
            whole.delete(path)
        else:
            whole.check(path, draw.choice((0, 1)))
    return whole.commit()


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return shown(call())
    except Exception as raised:  # noqa: BLE001 - what is raised is what is compared
        return type(raised).__name__


def shown(value: Any) -> Any:
    """What is alike on every server."""
    if hasattr(value, "czxid"):
        owned = bool(value.ephemeralOwner)
        return ("stat", value.version, value.cversion, value.dataLength, value.numChildren, owned)
    if isinstance(value, Exception):
        return type(value).__name__
    if isinstance(value, tuple):
        return tuple(shown(part) for part in value)
    if isinstance(value, list):
        parts = [shown(part) for part in value]
        return sorted(parts) if all(isinstance(part, str) for part in parts) else parts
    return value


class Log:
    """What threads and watches said, in order; `wait` until there are so many lines."""

    def __init__(self, zk: Any) -> None:
        self.lines: list[Any] = []
        self._event = zk.handler.event_object()

    def __call__(self, line: Any) -> None:
        self.lines.append(line)
        self._event.set()

    def wait(self, count: int) -> list[Any]:
        while len(self.lines) < count:
            assert self._event.wait(scaled(LIMIT_S)), f"only {self.lines}"
            self._event.clear()
        return self.lines


def lock(a: Any, b: Any) -> list[Any]:
    log, mine, other = Log(a), a.Lock("/lock", "a"), b.Lock("/lock", "b")
    log(mine.acquire())
    log(other.acquire(blocking=False))
    log(_outcome(lambda: other.acquire(timeout=0.3)))
    log(mine.contenders())

    def second() -> None:
        log(("b has it", other.acquire(timeout=scaled(LIMIT_S))))
        other.release()
        log("b released it")

    waiting = mine.is_acquired
    b.handler.spawn(second)
    log(waiting)
    mine.release()
    return log.wait(7)


def semaphore(a: Any, b: Any) -> list[Any]:
    first, second = a.Semaphore("/s", "a", max_leases=1), b.Semaphore("/s", "b", max_leases=1)
    log = [first.acquire(), first.lease_holders(), second.acquire(blocking=False)]
    first.release()
    return [*log, second.acquire(timeout=scaled(LIMIT_S)), second.lease_holders()]


def election(a: Any, b: Any) -> list[Any]:
    log, gate = Log(a), a.handler.event_object()
    first, second = a.Election("/e", "a"), b.Election("/e", "b")

    def lead(who: str) -> None:
        log(f"{who} leads")
        if who == "a":
            gate.wait(scaled(LIMIT_S))

    a.handler.spawn(first.run, lead, "a")
    log.wait(1)
    b.handler.spawn(second.run, lead, "b")
    log(first.contenders()[:1])
    gate.set()
    return log.wait(3)


def queues(a: Any, b: Any) -> list[Any]:
    queue, locking = a.Queue("/q"), a.LockingQueue("/lq")
    queue.put(b"late", priority=200)
    queue.put(b"soon", priority=1)
    log: list[Any] = [len(queue), queue.get(), queue.get(), queue.get()]
    locking.put(b"one")
    locking.put_all([b"two", b"three"])
    other = b.LockingQueue("/lq")
    log += [
        locking.get(scaled(LIMIT_S)),
        other.get(scaled(LIMIT_S)),
        locking.holds_lock(),
        locking.consume(),
        other.consume(),
        len(locking),
    ]
    return [*log, locking.get(scaled(LIMIT_S)), locking.release(), locking.get(scaled(LIMIT_S))]


def counter(a: Any, b: Any) -> list[Any]:
    one, two = a.Counter("/c", default=5), b.Counter("/c")
    one += 2
    two -= 1
    return [
        one.value,
        two.value,
        one.pre_value,
        one.post_value,
        _outcome(lambda: a.Counter("/f", default=0.5).__add__("x")),
    ]


def counters_at_once(a: Any, b: Any) -> list[Any]:
    """Each write of one may make the other's a retry."""
    log = Log(a)
    a.ensure_path("/c")

    def count(zk: Any) -> None:
        counter = zk.Counter("/c")
        for _ in range(5):
            counter += 1
        log("counted")

    a.handler.spawn(count, a)
    b.handler.spawn(count, b)
    return [*log.wait(2), a.Counter("/c").value]


def consumers_at_once(a: Any, b: Any) -> list[Any]:
    log, queue = Log(a), a.Queue("/q")
    for number in range(6):
        queue.put(b"%d" % number)

    def consume(zk: Any) -> None:
        mine = zk.Queue("/q")
        for _ in range(3):
            log(mine.get())

    a.handler.spawn(consume, a)
    b.handler.spawn(consume, b)
    return sorted(log.wait(6))


def made_with_stat(a: Any, b: Any) -> list[Any]:
    """What is asked for behind it is not in it."""
    asked = [
        a.create_async("/n", b"1", include_data=True),
        a.set_async("/n", b"two"),
        a.delete_async("/n"),
        a.create_async("/p/q", b"", include_data=True, makepath=True, ephemeral=True),
    ]
    return [shown(result.get(timeout=LIMIT_S)) for result in asked]


def order_of_children(a: Any, b: Any) -> list[Any]:
    """That of a hash, which is often sorted."""
    families = {
        "numbers": [f"{number}" for number in range(30)],
        "sequence": [f"n-{number:010d}" for number in range(7, 12)],
        "words": sorted(["controller", "brokers", "admin", "config", "isr_change_notification", "zookeeper", "ü"]),
        "locks": sorted(
            f"{name:032x}__lock__{number:010d}" for number, name in enumerate((5**50, 3**70, 7**40, 11**30))
        ),
    }
    for family, names in families.items():
        for name in names:
            a.create(f"/{family}/{name}", makepath=True)
    return [",".join(b.get_children(f"/{family}")) for family in families]


def too_much_at_once(a: Any, b: Any) -> list[Any]:
    """The server closes the connection, and the session goes on."""
    log, session = Log(a), a.client_id
    a.create("/n", b"1", ephemeral=True)
    a.get("/n", watch=lambda event: log(event.type))
    a.add_listener(log)
    failed = _outcome(lambda: a.set("/n", b"x" * 2_000_000))
    lines = sorted(log.wait(3))
    a.remove_listener(log)
    return [failed, lines, a.get("/n")[0], a.client_id == session]


def retries(a: Any, b: Any) -> list[Any]:
    """`retry` tries again until it has worked."""
    log: list[Any] = []

    def work() -> str:
        log.append("tried")
        if len(log) < 4:
            raise ConnectionLoss
        return "worked"

    return [a.retry(work), log]


def barrier(a: Any, b: Any) -> list[Any]:
    log, mine, other = Log(a), a.Barrier("/b"), b.Barrier("/b")
    mine.create()
    log(other.wait(0.3))
    b.handler.spawn(lambda: log(("passed", other.wait(scaled(LIMIT_S)))))
    log(mine.remove())
    return sorted(map(repr, log.wait(3)))


def double_barrier(a: Any, b: Any) -> list[Any]:
    log = Log(a)

    def take_part(zk: Any, who: str) -> None:
        both = zk.DoubleBarrier("/db", 2, who)
        both.enter()
        log("in")
        log.wait(2)  # who leaves takes away what kazoo's `enter` of the other may still have to see
        both.leave()
        log("out")

    a.handler.spawn(take_part, a, "a")
    b.handler.spawn(take_part, b, "b")
    return sorted(log.wait(4))


def party(a: Any, b: Any) -> list[Any]:
    one, two = a.Party("/p", "a"), b.Party("/p", "b")
    one.join()
    two.join()
    log: list[Any] = [sorted(one), len(two)]
    one.leave()
    shallow = b.ShallowParty("/sp", "s")
    shallow.join()
    return [*log, sorted(two), list(shallow)]


def watchers(a: Any, b: Any) -> list[Any]:
    data, children = Log(a), Log(a)
    a.DataWatch("/n", lambda value, stat: data(shown((value, stat))))
    b.create("/n", b"1")
    data.wait(2)
    a.ChildrenWatch("/n", lambda names: children(sorted(names)))
    b.create("/n/x")
    children.wait(2)
    b.set("/n", b"2")
    data.wait(3)
    b.delete("/n/x")
    children.wait(3)
    b.delete("/n")
    return [data.wait(4), children.lines]


def watcher_that_writes(a: Any, b: Any) -> list[Any]:
    log = Log(a)
    a.create("/n", b"0")

    def watch(value: Any, stat: Any) -> None:
        log(value)
        if value == b"0":
            a.set("/n", b"1")

    a.DataWatch("/n", watch)
    return log.wait(2)


def plain_watches(a: Any, b: Any) -> list[Any]:
    log = Log(a)
    a.create("/n")

    def said(name: str) -> Callable[[Any], None]:
        return lambda event: log((name, event.type, event.path))

    a.exists("/new", watch=said("exists"))
    a.get("/n", watch=said("get"))
    a.get_children("/n", watch=said("children"))
    b.create("/new")
    log.wait(1)
    b.create("/n/x")
    log.wait(2)
    b.set("/n", b"1")
    return log.wait(3)


def tree_cache(a: Any, b: Any) -> list[Any]:
    a.create("/t/one", b"1", makepath=True)
    cache, log = TreeCache(a, "/t"), Log(a)
    cache.listen(lambda event: log((event.event_type, getattr(event.event_data, "path", None))))
    cache.start()
    log.wait(3)
    b.create("/t/two", b"2")
    log.wait(4)
    b.set("/t/two", b"22")
    log.wait(5)
    b.delete("/t/two")
    log.wait(6)
    found = [cache.get_data("/t/one").data, sorted(cache.get_children("/t")), cache.get_data("/t/two")]
    cache.close()
    return [*found, sorted(map(repr, log.lines[:6]))]


def lock_of_my_own(a: Any, b: Any) -> list[Any]:
    """Held around a call, and needed by a watch."""
    log, own = Log(a), a.handler.lock_object()
    a.create("/n", b"0")

    def watch(event: Any) -> None:
        with own:
            log(event.type)

    a.get("/n", watch=watch)
    with own:
        a.set("/n", b"1")
        log("set")
    return log.wait(2)


def partitioner(a: Any, b: Any) -> list[Any]:
    one = a.SetPartitioner("/sp", {"x", "y"}, identifier="a", time_boundary=0.3)
    one.wait_for_acquire(scaled(LIMIT_S))
    log: list[Any] = [one.acquired, sorted(one)]
    one.finish()
    return log


def after_stop(a: Any, b: Any) -> list[Any]:
    log = Log(a)
    a.create("/n")
    b.get("/n", watch=lambda event: log(event.type))
    b.stop()
    a.set("/n", b"1")
    a.handler.sleep_func(0.2)
    failed = [_outcome(lambda: b.get("/n")), _outcome(lambda: b.create("/m")), b.connected, b.state]
    b.start()
    value = b.get("/n")[0]
    # What ends a watch with its session ("NONE") is queued while `stop` ends the thread that hands it out: whether it comes
    # before that, after the next start, or is lost with the queue, is kazoo's race. What happened to the znode never comes.
    changes = [line for line in log.lines if line != EventType.NONE]
    return [*failed, changes, value, b.state]


def timeouts(a: Any, b: Any) -> list[Any]:
    event, result = a.handler.event_object(), a.handler.async_result()
    held = a.Lock("/lock")
    held.acquire()
    waits = [event.wait(0.1), _outcome(lambda: result.get(timeout=0.1))]
    try:
        b.Lock("/lock").acquire(timeout=0.2)
    except LockTimeout:
        waits.append("lock timeout")
    return waits


RECIPES: tuple[Program, ...] = (
    lock, semaphore, election, queues, counter, counters_at_once, consumers_at_once, made_with_stat, order_of_children,
    too_much_at_once, retries, barrier, double_barrier, party, watchers, watcher_that_writes, plain_watches, tree_cache,
    lock_of_my_own, partitioner, after_stop, timeouts,
)  # fmt: skip
