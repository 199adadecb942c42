"""The controller in a box: a real Controller over the real Store, on a simulated ZooKeeper, with nobody else around.

    with ControllerBox(brokers=(1, 2, 3)) as box:
        box.create_topic("t", [[1, 2]])
        box.start()  # elected, failed over
        box.forget()  # what was read, written and sent so far
        box.remove_broker(1)
        assert box.state("t-0").leader == 2
        assert box.recipients("LeaderAndIsr") == {2: ["t-0"]}

There is no cluster, no broker and no socket: brokers are znodes that the box writes, and what the controller sends to them
goes through the codec and is kept. Each action ends when the controller has nothing to do any more; inside `with
box.paused():` its process stands still, so that events pile up. Partitions are called as in Kafka's logs: `t-0`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from pytest_kcontroller.controller.channels import Answered
from pytest_kcontroller.controller.controller import Controller
from pytest_kcontroller.controller.events.event import RequestEvent
from pytest_kcontroller.hookspecs import LeaderSelector
from pytest_kcontroller.model.cluster import Address, Assignment, Broker, LeaderAndIsr, TopicPartition, TopicState
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.plugin.manager import load_plugins
from pytest_kcontroller.runtime.foreign import LIMIT_S
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.sim.zookeeper.session import SimSession
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlterPartitionBrokerState,
    AlterPartitionPartition,
    AlterPartitionRequest,
    AlterPartitionTopic,
    ControlledShutdownRequest,
)
from pytest_kcontroller.wire.topic_ids import topic_uuid
from pytest_kcontroller.zookeeper.session import (
    Create,
    Delete,
    MultiRead,
    Request,
    SessionEvent,
    SessionState,
    SetData,
    StateEvent,
    WriteOp,
)
from pytest_kcontroller.zookeeper.store import CHUNK_OPS, Store
from pytest_kcontroller.zookeeper.txn import Op, Txn
from pytest_kcontroller.zookeeper.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    PERSISTENT_PATHS,
    broker_path,
    decode_state,
    decode_topic,
    delete_topic_path,
    encode_broker,
    encode_controller,
    encode_controller_epoch,
    encode_state,
    encode_topic,
    parse_state_path,
    state_parents,
    state_path,
    topic_path,
)
from tests.tools.broker_answers import answer_of
from tests.tools.recording_channels import RecordingChannels, Sent

T = TypeVar("T")
Replicas = Sequence[Sequence[int]]
"""The replicas of partition 0, 1, ..."""

NODE = 1
"""The controller's own id."""
CONTROLLER_HOST, OUTSIDE = "controller", "outside"
"""The two processes: the controller's, and that of everybody else who writes into ZooKeeper."""
SESSION_MS = 60_000
QUIET_US = 300_000
"""Nothing has run for so long: nobody has anything to do. A client looks for ZooKeeper again sooner than that."""

_STOCK = load_plugins(installed=False).selectors_for({})


def partition(name: str) -> TopicPartition:
    """`t-0` as a value."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


class ControllerBox:
    """See the module."""

    def __init__(
        self,
        *,
        brokers: Sequence[int] = (1, 2, 3),
        config: Mapping[str, Any] | None = None,
        selectors: Mapping[ElectionReason, LeaderSelector] = _STOCK,
        chunk_ops: int = CHUNK_OPS,
        plugin_limit_s: float = LIMIT_S,
    ) -> None:
        """`config` has Kafka's names; `chunk_ops` as Store's, `plugin_limit_s` as Controller's."""
        self._scheduler = Scheduler()
        self._world = World(self._scheduler, seed=1)
        self._loop = self._scheduler.process(CONTROLLER_HOST)
        self._outside = self._scheduler.process(OUTSIDE)
        self._chunk_ops = chunk_ops
        self._runtime = self._world.runtime(self._loop, CONTROLLER_HOST, session_timeout_ms=SESSION_MS)
        self.controller = Controller(
            self._runtime,
            NODE,
            config or {},
            selectors,
            _STOCK,
            lambda _: None,
            channels=self.make_channels,
            plugin_limit_s=plugin_limit_s,
        )
        self.terms: list[RecordingChannels] = []
        """The channels of each term, the newest last."""
        self.sessions: list[SimSession] = []
        """The controller's, the newest last."""
        self._sent: list[Sent] = []
        self._requests: list[Request] = []
        self._events_from = self._txns_from = 0
        self._world.zookeeper.on_request = self._note_request
        self._others = self._run_outside(self._open_outside)
        self._run_outside(lambda: self._others.ensure_paths(PERSISTENT_PATHS))
        for broker in brokers:
            self.register_broker(broker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scheduler.close()

    # --- the controller's life

    def start(self) -> None:
        """Opens its first session; it is elected unless somebody else is."""
        self._loop.create_task(self._live(), name="life")
        self.settle()

    def settle(self) -> None:
        """Until nobody has anything to do."""
        ran = -1
        while ran != self._scheduler.ran:
            ran = self._scheduler.ran
            self._scheduler.run(self._scheduler.now_us + QUIET_US)

    def pass_time(self, seconds: float) -> None:
        """And whatever becomes of it."""
        self._scheduler.run(self._scheduler.now_us + round(seconds * 1_000_000))
        self.settle()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The controller's process stands still meanwhile; what was done in the block comes all at once behind it."""
        self._scheduler.pause(self._loop)
        yield
        self._scheduler.resume(self._loop)
        self.settle()

    def hold(self, point: str) -> None:
        """The controller's next task that reaches the hold point waits there."""
        self._runtime.holds.arm(point)

    def release(self, point: str) -> None:
        self._runtime.holds.release(point)
        self.settle()

    def expire_session(self) -> None:
        """ZooKeeper ends the controller's session. It opens the next one when it has processed that."""
        self._world.zookeeper.expire(self.sessions[-1].session_id)
        self.settle()

    def end(self) -> None:
        """Its process is killed, and so its session expires."""
        self._scheduler.kill(self._loop)
        self._world.zookeeper.expire(self.sessions[-1].session_id)
        self.settle()

    def depose(self, by: int = 2) -> None:
        """Another controller is elected, as if ours had been away: /controller is `by`'s, and the epoch is one more."""
        node = self._run_outside(lambda: self._others.get(CONTROLLER_EPOCH))
        assert node is not None
        self.write(
            Delete(CONTROLLER),
            Create(CONTROLLER, encode_controller(by, 0), ephemeral=True),
            SetData(CONTROLLER_EPOCH, encode_controller_epoch(int(node.data) + 1)),
        )

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """In the controller's process, beside its consumer: for tests of what an active controller is made of."""
        return self._scheduler.run_until_complete(self._loop.create_task(work, name="test"))

    # --- what others do in ZooKeeper

    def write(self, *ops: WriteOp) -> None:
        """One transaction of somebody else's."""
        self._run_outside(lambda: self._others.write_all(ops))
        self.settle()

    def register_broker(self, broker: int, *, rack: str | None = None) -> None:
        self.write(Create(broker_path(broker), _registration(broker, rack), ephemeral=True))

    def remove_broker(self, *brokers: int) -> None:
        self.write(*[Delete(broker_path(broker)) for broker in brokers])

    def bounce_broker(self, broker: int) -> None:
        """It is gone and registered again before anybody could look."""
        self.write(
            Delete(broker_path(broker)), Create(broker_path(broker), _registration(broker, None), ephemeral=True)
        )

    def move_broker(self, broker: int, port: int, *, rack: str | None = None) -> None:
        """It listens on another port, in the same registration."""
        self.write(SetData(broker_path(broker), _registration(broker, rack, port)))

    def create_topic(
        self,
        name: str,
        replicas: Replicas,
        *,
        states: Mapping[int, LeaderAndIsr] | None = None,
        topic_id: str | None = "",
        adding: Mapping[int, Sequence[int]] | None = None,
        removing: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        """As an admin tool does, with an id of its own unless one is given (None: a tool of before Kafka 2.8).

        `states`, by partition, are what an earlier controller has left.
        """
        data = _topic_data(name, replicas, _id_of(name) if topic_id == "" else topic_id, adding, removing)
        ops: list[WriteOp] = [Create(topic_path(name), data)]
        for depth in (0, 1):
            parents = {state_parents(TopicPartition(name, number))[depth]: None for number in states or {}}
            ops += [Create(path) for path in parents]
        for number, state in (states or {}).items():
            ops.append(Create(state_path(TopicPartition(name, number)), encode_state(state)))
        self.write(*ops)

    def change_topic(
        self,
        name: str,
        replicas: Replicas,
        *,
        topic_id: str | None = "",
        adding: Mapping[int, Sequence[int]] | None = None,
        removing: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        """Other partitions, or other replicas, under the same id unless one is given (None as in create_topic)."""
        topic_id = self.topic_id(name) if topic_id == "" else topic_id
        self.write(SetData(topic_path(name), _topic_data(name, replicas, topic_id, adding, removing)))

    def set_state(self, name: str, state: LeaderAndIsr) -> None:
        """Somebody else overwrites a partition's state."""
        self.write(SetData(state_path(partition(name)), encode_state(state)))

    def act(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` in the controller's process, as one of its events would, and gives its result."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """As `act`, of something that may stand at a hold point when this returns."""
        task = self._loop.create_task(work, name="act")
        self.settle()
        return task

    # --- requests to the controller

    def ask(self, request: Any) -> asyncio.Task[Any]:
        """Its answer may still be awaited when this returns."""
        handler = self.controller.handlers()[request.API_KEY]
        return self._await_answer(handler(request), type(request).__name__)

    def put(self, kind: Callable[[Any, asyncio.Future[Any]], RequestEvent], request: Any) -> asyncio.Task[Any]:
        """The same for an event, whatever its request looks like on the wire."""
        return self._await_answer(self.controller.ask(kind, request), kind.__name__)

    def _await_answer(self, answer: Any, name: str) -> asyncio.Task[Any]:
        task = self._loop.create_task(_await(answer), name=name)
        self.settle()
        return task

    def alter_partition(
        self,
        name: str,
        isr: Sequence[int],
        *,
        leader: int | None = None,
        leader_epoch: int | None = None,
        partition_epoch: int | None = None,
        broker_epoch: int | None = None,
        topic_id: str | None = None,
        recovering: bool = False,
    ) -> asyncio.Task[Any]:
        """A leader asks for another ISR; what is not given is what ZooKeeper has."""
        tp = partition(name)
        state = self.find_state(name) or LeaderAndIsr(leader=NODE, leader_epoch=0, isr=(), controller_epoch=1)
        leader = state.leader if leader is None else leader
        entry = AlterPartitionPartition(
            partition_index=tp.partition,
            leader_epoch=state.leader_epoch if leader_epoch is None else leader_epoch,
            new_isr_with_epochs=[AlterPartitionBrokerState(broker_id=member, broker_epoch=-1) for member in isr],
            leader_recovery_state=int(recovering),
            partition_epoch=state.partition_epoch if partition_epoch is None else partition_epoch,
        )
        topic = AlterPartitionTopic(topic_id=topic_uuid(topic_id or self.topic_id(tp.topic)), partitions=[entry])
        epoch = self.broker_epoch(leader) if broker_epoch is None else broker_epoch
        return self.ask(AlterPartitionRequest(broker_id=leader, broker_epoch=epoch, topics=[topic]))

    def shut_down(self, broker: int, *, broker_epoch: int | None = None) -> asyncio.Task[Any]:
        """`broker` asks for a controlled shutdown."""
        epoch = self.broker_epoch(broker) if broker_epoch is None else broker_epoch
        return self.ask(ControlledShutdownRequest(broker_id=broker, broker_epoch=epoch))

    def answer(
        self,
        *sent: Sent,
        failed: Mapping[str, ErrorCode] | None = None,
        error: ErrorCode = ErrorCode.NONE,
        unnamed: Sequence[str] = (),
    ) -> None:
        """The broker has done what a LeaderAndIsr or a StopReplica asked, but for the partitions that failed; with `error`
        it has refused the request. A StopReplica's answer does not name those that are `unnamed`."""
        for one in sent:
            response = answer_of(one.request, failed or {}, error, unnamed)
            self._loop.call_soon(self.terms[-1].answered, one.broker, one.request, response)
        self.settle()

    def delete_topic(self, *names: str) -> None:
        """Somebody wants them to be deleted."""
        self.write(*[Create(delete_topic_path(name)) for name in names])

    # --- what ZooKeeper has

    def data(self, path: str) -> bytes | None:
        znode = self._world.zookeeper.tree.znodes.get(path)
        return None if znode is None else znode.data

    def version(self, path: str) -> int:
        """Of a znode; -1: there is none."""
        znode = self._world.zookeeper.tree.znodes.get(path)
        return -1 if znode is None else znode.version

    def children(self, path: str) -> list[str]:
        """Their names, sorted."""
        above = f"{path}/"
        names = (znode.removeprefix(above) for znode in self._world.zookeeper.tree.znodes if znode.startswith(above))
        return sorted(name for name in names if "/" not in name)

    def find_state(self, name: str) -> LeaderAndIsr | None:
        znode = self._world.zookeeper.tree.znodes.get(state_path(partition(name)))
        return None if znode is None else decode_state(partition(name), znode.data, znode.version)

    def state(self, name: str) -> LeaderAndIsr:
        """Of a partition; it must be there."""
        state = self.find_state(name)
        assert state is not None, f"{name} has no state znode"
        return state

    def broker_epoch(self, broker: int) -> int:
        """-1: it is not registered."""
        znode = self._world.zookeeper.tree.znodes.get(broker_path(broker))
        return -1 if znode is None else znode.czxid

    def topic_id(self, name: str) -> str | None:
        znode = self._world.zookeeper.tree.znodes.get(topic_path(name))
        return None if znode is None else decode_topic(name, znode.data).topic_id

    # --- what the controller has done since the last `forget`

    def forget(self) -> None:
        self._sent.clear()
        self._requests.clear()
        self._events_from, self._txns_from = len(self._world.events), len(self._world.zookeeper.txns)

    def sent(self, kind: str | None = None, *, to: int | None = None) -> list[Sent]:
        """In order; of a kind (`LeaderAndIsr`), to a broker."""
        return [
            sent for sent in self._sent if (kind is None or sent.kind == kind) and (to is None or sent.broker == to)
        ]

    def recipients(self, kind: str) -> dict[int, list[str]]:
        """Broker -> the partitions of all its requests of `kind`, in order."""
        partitions: dict[int, list[str]] = {}
        for sent in self.sent(kind):
            partitions.setdefault(sent.broker, []).extend(sent.entries)
        return dict(sorted(partitions.items()))

    def entry(self, kind: str, name: str, *, to: int) -> Any:
        """The last one that `broker` was sent of a partition."""
        return next(sent.entries[name] for sent in reversed(self.sent(kind, to=to)) if name in sent.entries)

    def requests(self, kind: type[T]) -> list[T]:
        """To ZooKeeper, of a kind (`Multi`, `GetData`, ...)."""
        return [request for request in self._requests if isinstance(request, kind)]

    def reads(self) -> list[str]:
        """The path of each znode that was read, in order, also inside MultiReads; GetChildren and Exists too."""
        paths: list[str] = []
        for request in self._requests:
            if isinstance(request, MultiRead):
                paths += [read.path for read in request.reads]
            elif not isinstance(request, Create | SetData | Delete) and hasattr(request, "path"):
                paths.append(request.path)
        return paths

    def txns(self) -> list[Txn]:
        """The transactions of the controller's sessions, as ZooKeeper's log has them."""
        ours = [session.session_id for session in self.sessions]
        return [txn for _, txn in self._world.zookeeper.txns[self._txns_from :] if txn.session in ours and txn.ops]

    def written(self) -> list[Op]:
        """Creates, sets and deletes that were done, in order."""
        return [op for txn in self.txns() if not txn.refused for op in txn.ops if op.type != "check"]

    def states_written(self) -> list[tuple[str, LeaderAndIsr]]:
        """(partition, state), in order."""
        states = []
        for op in self.written():
            if (tp := parse_state_path(op.path or "")) is not None and op.data is not None and op.version is not None:
                states.append((str(tp), decode_state(tp, op.data, op.version)))
        return states

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Of the controller's history: the fields of each event of `kind`."""
        own = ("writer", "seq", "t_us", "kind")
        return [
            {name: value for name, value in event.items() if name not in own}
            for event in self._world.events[self._events_from :]
            if event["kind"] == kind
        ]

    # --- inside

    def make_channels(self, answered: Answered) -> RecordingChannels:
        """Of a new term."""
        self.terms.append(RecordingChannels(answered, self._sent))
        return self.terms[-1]

    def _note_request(self, link: str, request: Request, done: bool) -> None:
        if link == CONTROLLER_HOST and not done:
            self._requests.append(request)

    async def _live(self) -> None:
        """One session after the other, in the order that node/main.py keeps."""
        async with Nursery() as tasks:
            tasks.start(self.controller.run(), name="controller")
            while True:
                store, ended = await self._open_session()
                await self.controller.on_new_session(store, -1)
                await ended.wait()
                await self.controller.on_session_expired()

    async def _open_session(self) -> tuple[Store, asyncio.Event]:
        ended = asyncio.Event()
        stores: list[Store] = []

        def on_event(event: SessionEvent) -> None:
            if isinstance(event, StateEvent) and event.state in (SessionState.EXPIRED, SessionState.CLOSED):
                ended.set()
            self.controller.on_zookeeper_event(event)

        session = await self._runtime.zookeeper.open(lambda event: stores[0].handle(event))
        assert isinstance(session, SimSession)
        self.sessions.append(session)
        stores.append(Store(session, on_event=on_event, chunk_ops=self._chunk_ops))
        return stores[0], ended

    async def _open_outside(self) -> Store:
        runtime = self._world.runtime(self._outside, OUTSIDE, session_timeout_ms=SESSION_MS)
        stores: list[Store] = []
        session = await runtime.zookeeper.open(lambda event: stores[0].handle(event))
        stores.append(Store(session))
        return stores[0]

    def _run_outside(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return self._scheduler.run_until_complete(self._outside.create_task(work(), name="outside"))


async def _await(answer: Any) -> Any:
    return await answer


def _registration(broker: int, rack: str | None, port: int | None = None) -> bytes:
    address = Address("127.0.0.1", 9000 + broker if port is None else port)
    return encode_broker(Broker(id=broker, address=address, rack=rack), 0)


def _id_of(topic: str) -> str:
    """The same for the same name, another one for every other name."""
    return base64.urlsafe_b64encode(hashlib.sha256(topic.encode()).digest()[:16]).rstrip(b"=").decode()


def _topic_data(
    name: str,
    replicas: Replicas,
    topic_id: str | None,
    adding: Mapping[int, Sequence[int]] | None,
    removing: Mapping[int, Sequence[int]] | None,
) -> bytes:
    partitions = {
        number: Assignment(
            tuple(brokers), tuple((adding or {}).get(number, ())), tuple((removing or {}).get(number, ()))
        )
        for number, brokers in enumerate(replicas)
    }
    return encode_topic(TopicState(name=name, topic_id=topic_id, partitions=partitions))
