"""Storms of faults on the links of a simulated ZooKeeper: whatever is drawn, these things hold."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimLoop
from pytest_kcontroller.sim.zookeeper.server import SimZooKeeper
from pytest_kcontroller.sim.zookeeper.session import SimConnector, SimSession
from pytest_kcontroller.zookeeper.session import (
    ConnectionLossError,
    Create,
    Created,
    GetData,
    Node,
    SessionEvent,
    SessionExpiredError,
    SessionState,
    StateEvent,
    WatchEvent,
)

SECOND = 1_000_000
CLIENTS = ("a", "b", "c")
ENDED = (SessionState.EXPIRED, SessionState.CLOSED)
LEGAL = {
    SessionState.CONNECTED: (SessionState.SUSPENDED, *ENDED),
    SessionState.SUSPENDED: (SessionState.CONNECTED, *ENDED),
    SessionState.EXPIRED: (),
    SessionState.CLOSED: (),
}


@dataclass
class Client:
    """A process whose session is renewed when it ends; every write makes a znode of its own, in order."""

    server: SimZooKeeper
    loop: SimLoop
    session: SimSession | None = None
    state: SessionState = SessionState.CONNECTED
    submitted: int = 0
    answers: list[tuple[int, str]] = field(default_factory=list)
    armed: int = 0
    fired: int = 0
    expired: list[int] = field(default_factory=list)

    async def renew(self) -> None:
        self.state = SessionState.CONNECTED
        connector = SimConnector(self.server, self.loop, timeout_ms=2000)
        self.session = await connector.open(self.hear)
        self.write()

    def hear(self, event: SessionEvent) -> None:
        if isinstance(event, WatchEvent):
            self.fired += 1
            return
        assert isinstance(event, StateEvent)
        assert event.state in LEGAL[self.state], f"{event.state} after {self.state}"
        self.state = event.state
        if event.state in ENDED:
            assert self.session is not None
            self.expired.append(self.session.session_id)
            self.session = None
            self.loop.create_task(self.renew())

    def write(self) -> None:
        if self.session is None:
            return
        number = self.submitted
        self.submitted += 1
        future = self.session.submit(Create(f"/{self.loop.name}-{number}", ephemeral=number % 3 == 0))

        def note(_: object) -> None:
            failure = future.exception()
            assert failure is None or isinstance(failure, ConnectionLossError | SessionExpiredError)
            self.answers.append((number, "done" if failure is None else type(failure).__name__))
            assert failure is not None or future.result() == Created(f"/{self.loop.name}-{number}")

        future.add_done_callback(note)

    def watch(self) -> None:
        if self.session is not None:
            self.armed += 1
            self.session.submit(GetData("/", watch=True))


def storm(seed: int) -> tuple[SimZooKeeper, list[Client]]:
    draw = NamedRng(seed).stream("storm")
    with Scheduler() as scheduler:
        server = SimZooKeeper(scheduler, NamedRng(seed))
        server.removal_delay_us = draw.choice((0, 0, SECOND))
        clients = [Client(server, scheduler.process(name)) for name in CLIENTS]
        for client in clients:
            client.loop.create_task(client.renew())
        stopped = False
        for _ in range(300):
            scheduler.run(scheduler.now_us + draw.choice((0, 50, 100, 200, 300, 1000, 50_000, 400_000)))
            client = draw.choice(clients)
            link = server.link(client.loop.name)
            match draw.randrange(14):
                case 0:
                    link.cut()
                case 1:
                    link.hold()
                case 2 | 3:
                    link.heal()
                case 4:
                    link.reset()
                case 5:
                    scheduler.pause(client.loop)
                case 6:
                    scheduler.resume(client.loop)
                case 7 if client.session is not None:
                    with suppress(KeyError):
                        server.expire(client.session.session_id)
                case 8:
                    link.delay_us = draw.choice((0, 100, 5000, 300_000))
                case 9:
                    (server.start if stopped else server.stop)()
                    stopped = not stopped
                case 10 if draw.random() < 0.3:
                    link.follow(draw.choice((0, 1000, 500_000)))
                case 11:
                    client.watch()
                case _:
                    for _ in range(draw.randint(1, 4)):
                        client.write()
        if stopped:
            server.start()
        for client in clients:
            server.link(client.loop.name).delay_us = 100
            server.link(client.loop.name).heal()
            scheduler.resume(client.loop)
        scheduler.run(scheduler.now_us + 30 * SECOND)
        for client in clients:
            assert client.session is not None
            assert client.session.state == SessionState.CONNECTED
            assert client.loop.errors == []
            answer = client.session.submit(GetData("/"))
            scheduler.run(scheduler.now_us + 2 * SECOND)
            assert isinstance(answer.result(), Node)
        assert server.loop.errors == []
        return server, clients


@pytest.mark.parametrize("seed", [*range(1, 16), 33])
def test_after_every_storm(seed: int) -> None:
    server, clients = storm(seed)
    txns = [txn for _, txn in server.txns]
    assert [txn.zxid for txn in txns] == list(range(1, len(txns) + 1))
    made: dict[str, int] = {}
    for txn in txns:
        for op in txn.ops:
            assert op.path is not None
            assert op.path not in made, "a request had its effect twice"
            made[op.path] = txn.zxid
    ended = {txn.session: txn.zxid for txn in txns if txn.type == "close-session"}
    assert all(txn.zxid < ended.get(txn.session, len(txns) + 1) for txn in txns if txn.ops), "a write after the end"
    for client in clients:
        name = client.loop.name
        assert [number for number, _ in client.answers] == list(range(client.submitted)), "each answered once, in order"
        own = [made[path] for path in (f"/{name}-{number}" for number in range(client.submitted)) if path in made]
        assert own == sorted(own), "a session's requests are done in order"
        assert all(f"/{name}-{number}" in made for number, answer in client.answers if answer == "done")
        assert client.fired <= client.armed
        assert set(client.expired) <= set(ended)
    live = set(server.sessions)
    assert {znode.owner for znode in server.tree.znodes.values() if znode.owner} <= live
    for follower in server.followers:
        assert follower.replica.tree.znodes.keys() == server.tree.znodes.keys()


def test_storms_lose_requests_before_and_after_their_effect_and_end_sessions() -> None:
    lost = {True: 0, False: 0}
    ended = 0
    for seed in range(1, 11):
        server, clients = storm(seed)
        made = {op.path for _, txn in server.txns for op in txn.ops}
        ended += sum(len(client.expired) for client in clients)
        for client in clients:
            for number, answer in client.answers:
                if answer == "ConnectionLossError":
                    lost[f"/{client.loop.name}-{number}" in made] += 1
    assert lost[True] > 10
    assert lost[False] > 10
    assert ended > 20
