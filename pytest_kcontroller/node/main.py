"""How a node is put together: one session after the other, a broker, a candidate controller, one listener.

The order at the end of a session is Kafka's (kafka.controller.KafkaController, Expire and RegisterBrokerAndReelect): the
controller processes the expiry first, only then is a new session opened, in it the broker registers (a new broker
epoch), and only then is there a new election.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_kcontroller.broker.broker import BrokerHalf
from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.broker.clients.znodes import notify
from pytest_kcontroller.broker.handlers import OLDEST
from pytest_kcontroller.broker.log_dir import LogDirFailedError, LogDirs
from pytest_kcontroller.broker.registration import prepare_cluster, register
from pytest_kcontroller.broker.shutdown import ShutdownLimits
from pytest_kcontroller.controller.controller import Controller
from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from pytest_kcontroller.model.assignment import AssignmentRequest
from pytest_kcontroller.model.cluster import Address, Broker
from pytest_kcontroller.model.history import (
    BrokerControlledShutdown,
    NodeRefusedRequest,
    NodeStarted,
    NodeStopping,
    StrategyBadAnswer,
    ZkState,
)
from pytest_kcontroller.model.kafka_config import (
    CONTROLLER_SOCKET_TIMEOUT_MS,
    REPLICA_CHECKPOINT_INTERVAL_MS,
    ZOOKEEPER_CONNECTION_TIMEOUT_MS,
)
from pytest_kcontroller.node.control import NodeReport
from pytest_kcontroller.node.requests import with_faults
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.plugin.manager import Plugins
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Listening, Runtime, Stream
from pytest_kcontroller.runtime.timeouts import Timeout, within
from pytest_kcontroller.wire.server import Service, serve
from pytest_kcontroller.zookeeper.session import (
    Exists,
    SessionEvent,
    SessionExpiredError,
    SessionState,
    StateEvent,
    ZkError,
    ZkSession,
)
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, LOG_DIR_EVENT, encode_log_dir_event

CONTROL_PLANE, CLIENT_PLANE = "control", "client"


class Node:
    """One node. `run` is its life; the rest may be called at any time of it."""

    def __init__(self, runtime: Runtime, settings: NodeSettings, plugins: Plugins) -> None:
        self._runtime, self._settings = runtime, settings
        self._links = dict(settings.links)
        self._listen_at = _address(settings.listen, "listen")
        self._advertised = None if settings.advertise is None else _address(settings.advertise, "advertise")
        self._log_dirs = LogDirs(runtime.disk, runtime.record, settings.log_dirs)
        self._broker = BrokerHalf(
            settings.node_id,
            transport=runtime.transport,
            record=runtime.record,
            address_of=lambda broker: self._link(broker, CONTROL_PLANE),
            request_timeout_us=CONTROLLER_SOCKET_TIMEOUT_MS.of(settings.config) * 1000,
            log_dirs=self._log_dirs,
        )
        self._controller = Controller(
            runtime,
            settings.node_id,
            settings.config,
            plugins.selectors_for(settings.selectors),
            plugins.selectors_for({}),
            lambda broker: self._link(broker, CONTROL_PLANE),
            plugin_limit_s=settings.plugin_limit_s,
        )
        self._tried = plugins.selectors_for(settings.selectors)
        self._clients = self._broker.clients = self._client_side(plugins)
        self._limits = ShutdownLimits.of(settings.config)
        self._stopping = self._halted = False
        self._farewell: Timeout | None = None
        """The time that is left for a controlled shutdown, while there is one."""
        self._start_limit_s = ZOOKEEPER_CONNECTION_TIMEOUT_MS.of(settings.config) / 1000
        self._session: ZkSession | None = None
        self._heard = 0
        """How many watch events have come."""
        self._ended = asyncio.Event()
        self._registered = asyncio.Event()
        self._address = self._listen_at
        self._phase = "connecting"

    def _client_side(self, plugins: Plugins) -> ClientSide:
        settings, rng, record = self._settings, self._runtime.rng, self._runtime.record
        draw = rng.stream("assignment").randrange
        limit_s = settings.plugin_limit_s
        assigner = plugins.assigner(settings.assignment, draw, limit_s=limit_s, where="setting `assignment`")

        def assign(topic: str, request: AssignmentRequest) -> Mapping[int, tuple[int, ...]]:
            assigned = assigner.assign(request)
            if assigned.bad_answer is not None:
                record(StrategyBadAnswer(plugin=assigned.by, topic=topic, why=assigned.bad_answer))
            return assigned.replicas

        return ClientSide(
            state=self._broker.state,
            config=settings.config,
            address_of=lambda broker: self._link(broker, CLIENT_PLANE),
            active=lambda: self._controller.active,
            assign=assign,
            draw=rng.stream("topic-ids").randrange,
        )

    async def live(self, pid: int, ready: Callable[[Address], None]) -> None:
        """`run`, with its beginning and its end in the history."""
        self._runtime.record(NodeStarted(node=self._settings.node_id, pid=pid))
        try:
            await self.run(ready)
        finally:
            if not self._halted:
                self._runtime.record(NodeStopping(node=self._settings.node_id, pid=pid))

    async def run(self, ready: Callable[[Address], None]) -> None:
        """Until it is cancelled: then everything ends and the session is closed. See `stop` for an orderly end.

        `ready` is called once, when the broker is registered. Raises UsageError and EnvironmentFailure at the start, and
        LogDirFailedError at any time: then the session is left alone, as by a process that is killed.
        """
        self._controller.try_out(self._tried)
        try:
            async with within(self._start_limit_s):
                store = await self._open()
        except TimeoutError:
            raise EnvironmentFailure(
                f"no ZooKeeper session within {self._start_limit_s:g} s",
                where=self._settings.zookeeper,
                hint="start ZooKeeper, or name another with the setting `zookeeper`",
            ) from None
        try:
            self._log_dirs.load()
            listening = await self._listen()
            try:
                async with Nursery() as tasks:
                    tasks.start(self._broker.run(), name="broker")
                    tasks.start(self._controller.run(), name="controller")
                    tasks.start(self._keep(), name="log dir")
                    tasks.start(self._log_dirs.until_all_failed(), name="last log dir")
                    if self._log_dirs.several:
                        tasks.start(self._log_dirs.announce(self._tell_of_failure), name="failed log dirs")
                    try:
                        await self._sessions(store, ready)
                    except asyncio.CancelledError:
                        await self._shut_down()  # all tasks of the node still run
                        raise
            finally:
                await listening.close()
        except LogDirFailedError:
            self._halted = True
            raise
        finally:
            if not self._halted:
                await self._close()

    def stop(self, life: asyncio.Task[Any], *, controlled: bool = True) -> None:
        """Ends `life`, the task that runs this node: `controlled`, the controller is asked for a controlled shutdown first.

        That takes a few seconds at most, whatever the controller does. Asked again, or if the session ends, it ends at once.
        """
        if self._stopping:
            self._limits = None
            self._end_farewell()
            return
        self._stopping = True
        if not controlled:
            self._limits = None
        life.cancel()

    async def _shut_down(self) -> None:
        limits, farewell = self._limits, within(None)
        if not self._stopping or limits is None or self._phase != "running" or self._ended.is_set():
            return
        try:
            async with farewell:
                self._farewell = farewell
                result = await self._broker.ask_for_shutdown(self._runtime.clock, limits)
        except TimeoutError:
            why = "the session ended" if self._ended.is_set() else "asked to end at once"
            self._runtime.record(BrokerControlledShutdown(done=False, tries=0, remaining=[], why=why))
        else:
            self._runtime.record(
                BrokerControlledShutdown(
                    done=result.why is None,
                    tries=result.tries,
                    remaining=list(result.remaining),
                    why=result.why,
                )
            )
        finally:
            self._farewell = None

    def _end_farewell(self) -> None:
        if self._farewell is not None:
            self._farewell.reschedule(asyncio.get_running_loop().time())

    async def _sessions(self, store: Store, ready: Callable[[Address], None] | None) -> None:
        """One session after the other."""
        previous = 0
        while True:
            try:
                self._phase = "registering"
                rng, node = self._runtime.rng, self._settings.node_id
                self._clients.cluster_id = await prepare_cluster(store, self._log_dirs.live, rng, node)
                epoch = await self._register(store, previous)
                self._clients.store = store
                self._log_dirs.remind()
                self._broker.registered(epoch)
                self._registered.set()
                self._phase = "running"
                if ready is not None:
                    ready(self._address)
                    ready = None
                await self._controller.on_new_session(store, epoch)
                await self._ended.wait()
            except SessionExpiredError:
                await self._ended.wait()
            self._phase = "expired"
            self._clients.store = None
            await self._controller.on_session_expired()
            previous = store.session.session_id
            self._phase = "connecting"
            store = await self._open()

    async def _keep(self) -> None:
        """What the broker writes down, from its first registration on."""
        await self._registered.wait()
        every_us = REPLICA_CHECKPOINT_INTERVAL_MS.of(self._settings.config) * 1000
        await self._log_dirs.keep(self._runtime.clock, every_us)

    async def _tell_of_failure(self) -> bool:
        """The controller, that a log directory has failed. False: our session has ended."""
        if (store := self._clients.store) is None:
            return False
        try:
            await notify(store, LOG_DIR_EVENT, encode_log_dir_event(self._settings.node_id))
        except SessionExpiredError:
            return False
        return True

    async def _open(self) -> Store:
        """A new session and its store. What its predecessor still says is not listened to any more."""
        self._ended = ended = asyncio.Event()

        def on_event(store: Store, event: SessionEvent) -> None:
            if isinstance(event, StateEvent):
                self._record_state(event.state, store.session)
                if event.state in (SessionState.EXPIRED, SessionState.CLOSED):
                    ended.set()
                    self._end_farewell()
            else:
                self._heard += 1
            if ended is self._ended:
                self._controller.on_zookeeper_event(event)

        store = await Store.open(self._runtime.zookeeper, on_event)
        self._session = session = store.session
        self._record_state(session.state, session)
        if session.state == SessionState.EXPIRED:
            ended.set()
        return store

    def _record_state(self, state: SessionState, session: ZkSession) -> None:
        self._runtime.record(ZkState(state=state.value, session=hex(session.session_id)))

    async def _listen(self) -> Listening:
        """Serves both halves on one address, once it is registered: what comes before was meant for a former life.

        Kafka starts to process requests then, too (kafka.server.KafkaServer.startup).
        """
        service = Service(
            handlers=with_faults({**self._broker.handlers(), **self._controller.handlers()}, self._runtime.holds),
            oldest=OLDEST,
            refused=lambda why: self._runtime.record(NodeRefusedRequest(why=why)),
        )

        async def serve_one(stream: Stream) -> None:
            await self._registered.wait()
            with contextlib.suppress(LogDirFailedError):  # until_all_failed has it too
                await serve(stream, service)

        try:
            listening = await self._runtime.transport.listen(self._listen_at, serve_one)
        except OSError as taken:
            raise EnvironmentFailure(
                f"cannot listen on {self._listen_at}: {taken.strerror or taken}",
                where="setting `listen`",
                hint="stop what listens there, or choose another port (0: any free one)",
            ) from None
        self._address = self._advertised or listening.address
        return listening

    async def _register(self, store: Store, previous: int) -> int:
        broker = Broker(id=self._settings.node_id, address=self._address, rack=self._settings.rack)
        return await register(
            store,
            store.session,
            broker,
            self._runtime.clock,
            previous_session=previous,
            wait_us=2 * store.session.timeout_ms * 1000,
        )

    async def _close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def close_session(self) -> None:
        """In the background, as a client that is stopped does; the node opens another one."""
        if self._session is not None:
            self._session.abandon()

    def report(self) -> NodeReport:
        """What the node says of itself. A session that has ended is none."""
        session = self._session
        if session is not None and session.state in (SessionState.EXPIRED, SessionState.CLOSED):
            session = None
        return NodeReport(
            node=self._settings.node_id,
            active=self._controller.active,
            epoch=self._controller.epoch,
            phase=self._controller.phase if self._phase == "running" else self._phase,
            pending=self._controller.pending,
            session=hex(session.session_id) if session is not None else "0x0",
            password=session.password.hex() if session is not None else "",
            session_state=session.state.value if session is not None else "none",
            session_timeout_ms=session.timeout_ms if session is not None else 0,
            address=str(self._address),
            broker_epoch=self._broker.state.broker_epoch,
            waiting=self._runtime.holds.waiting,
            armed=self._runtime.holds.armed,
            leads=self._broker.state.replicas.led,
            wall_ms=self._runtime.clock.wall_ms(),
        )

    async def caught_up(self) -> NodeReport:
        """Once ZooKeeper has answered in its session: the watches that had fired by now came before that, and count as
        pending, as what they put may have been handled meanwhile."""
        before, session = self._heard, self._session
        if session is not None:
            with contextlib.suppress(ZkError):
                await session.submit(Exists(CONTROLLER))
        report = self.report()
        return replace(report, pending=report.pending + self._heard - before)

    def _link(self, broker: int, plane: str) -> Address | None:
        """The proxy in front of it, or None: go straight."""
        text = self._links.get(f"{broker}/{plane}")
        return None if text is None else Address.parse(text)

    def add_link(self, broker: int, plane: str, address: Address) -> None:
        """A node that joins is reached there, from now on."""
        self._links[f"{broker}/{plane}"] = str(address)

    def metrics(self) -> dict[str, object]:
        """See Controller.metrics."""
        return self._controller.metrics()

    def jump(self, by_ms: int) -> None:
        """Its wall clock does."""
        self._runtime.clock.jump(by_ms)

    def metadata(self) -> dict[str, object]:
        """What UpdateMetadata said, for comparisons between nodes."""
        return self._broker.state.metadata.to_json()


async def main(runtime: Runtime, settings: NodeSettings, plugins: Plugins) -> None:
    """One node's life in any runtime; whoever needs more of it makes a Node."""
    await Node(runtime, settings, plugins).run(ready=lambda _: None)


def _address(text: str, key: str) -> Address:
    try:
        return Address.parse(text)
    except ValueError as bad:
        raise UsageError(str(bad), where=f"setting `{key}`") from None
