"""A scenario for real: a ZooKeeper in a JVM, nodes in processes of their own, stub brokers on sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kcontroller_chaos.history.committed import read_all
from pytest_kcontroller.cluster.capabilities import REPORTS
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.fixtures.stub_brokers import Place
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.runtime.real import RealClock, RunStart, SocketTransport
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.stubs.broker import StubBroker
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import Exists
from pytest_kcontroller.zookeeper.txn import Txn
from pytest_kcontroller.zookeeper.znodes import CONTROLLER
from tests.fidelity.scenarios.player import Player
from tests.fidelity.scenarios.records import Entry, Record
from tests.fidelity.scenarios.scene import SESSION_MS, STUB_SESSION_MS

T = TypeVar("T")

LOOK_S = 0.02
GIVEN_UP_S = 30
LOOKS = 2
"""So often in a row nothing may have changed and nobody may have anything to do."""


class RealGround:
    """See scene.Ground."""

    def __init__(self, cluster: ProcessCluster) -> None:
        self.cluster = cluster
        self._clock = RealClock(RunStart.now())

    def stub(self, number: int) -> StubBroker:
        where = self.cluster.zookeeper.connect_string
        connector = KazooConnector(where, timeout_ms=STUB_SESSION_MS)
        return StubBroker(number, Place(where, self._clock, connector, SocketTransport()))

    def address_of(self, node: int) -> tuple[Transport, Address]:
        return self.cluster.route(str(node), str(node))

    async def settle(self, stubs: Sequence[StubBroker]) -> bool:
        """Our nodes say what they have yet to do: nothing has to be waited for in vain."""
        reports, still, before = self.cluster.capability(REPORTS), 0, None
        try:
            async with within(scaled(GIVEN_UP_S)):
                while still < LOOKS:
                    pending = [
                        status.pending for node in self.cluster.running if (status := await reports.caught_up(node))
                    ]
                    await self.cluster.admin.submit(Exists(CONTROLLER))
                    seen = (self.cluster.admin.last_zxid, [len(stub.requests) for stub in stubs])
                    still, before = (still + 1 if seen == before and not any(pending) else 0), seen
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            return False
        return True

    async def end_session(self, node: int) -> None:
        session = self.cluster.sessions(node)[-1]
        await close_session(
            self.cluster.zookeeper.addresses[0], session.session_id, session.password, timeout_s=scaled(GIVEN_UP_S)
        )

    async def txns(self) -> Sequence[Txn]:
        """ZooKeeper logs a transaction before it answers it."""
        return read_all(self.cluster.zookeeper.txn_log_directories[0])


async def run_real(
    act: Callable[[RealGround], Awaitable[T]], directory: Path, *, config: Mapping[str, Any] | None = None
) -> T:
    """What `act` gives, on nodes with this configuration."""
    settings = ClusterSettings(nodes=2, session_timeout_ms=SESSION_MS, config=config or {})
    cluster = await ProcessCluster.start(settings, directory)
    try:
        return await act(RealGround(cluster))
    finally:
        await cluster.stop()


async def play_real(record: Record, directory: Path) -> list[Entry]:
    """What ours did, as a record's log has it."""
    return await run_real(lambda ground: Player(ground, record).play(), directory)
