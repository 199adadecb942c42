"""What the controller's own work costs: failover, a broker's failure, controlled shutdown, a new topic, changed topics.

    python benchmarks/controller.py [--partitions 10000 100000] [--against REV] [--repeat 1] [--json]

The real controller and the real store, in CPU seconds; no ZooKeeper (a session over dictionaries, whose own cost is not
counted) and no sockets. 5 brokers, replication factor 2, topics of 50 partitions. Counted is also what sending costs but for
the sockets: each request is encoded and framed for each broker, its answer (made by the benchmark, not counted) is decoded
and handled; and the history, which is written line by line to a file.

`--against REV` measures an older revision too, in a worktree that is made for it and removed, and prints both with ratios.
The garbage collector looks as often as in a node of that revision. The output ends with the machine's own speed: what ten
million additions took, before and after; where others want the core, CPU seconds are longer, and these too.

`--repeat` measures so often, both in turns, and takes the fastest of each row.

Columns: `load` reads and decodes; `replicas` and `partitions` are the state machines; `write` is Store.write_each; `build`
makes the requests, `encode` their bytes, `send` frames them; `answers` are decoded and handled; `history` makes JSON of it.
Each has what it took itself, and the total is their sum.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gc
import inspect
import json
import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_session import MemorySession, MemoryTree
from phases import OTHER, Phases, additions_s
from revisions import measured_in, worktree

from pytest_kcontroller.controller import controller as controller_module
from pytest_kcontroller.controller.controller import Controller
from pytest_kcontroller.model.cluster import Address, Assignment, Broker, LeaderAndIsr, TopicPartition, TopicState
from pytest_kcontroller.node import process as node_process
from pytest_kcontroller.runtime.holds import Holds
from pytest_kcontroller.runtime.real import Recorder
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.headers import framed_request
from pytest_kcontroller.wire.messages import (
    APIS,
    ControlledShutdownRequest,
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from pytest_kcontroller.zookeeper.session import WatchEvent, WatchKind
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import (
    BROKER_IDS,
    PERSISTENT_PATHS,
    TOPICS,
    broker_path,
    decode_state,
    encode_broker,
    encode_state,
    encode_topic,
    state_path,
    topic_path,
)

try:
    from pytest_kcontroller.plugin.manager import load_plugins
except ModuleNotFoundError:  # an older revision
    from pytest_kcontroller.plugin_manager import load_plugins

BROKERS = 5
NODE = 1
PER_TOPIC = 50
EPOCHS = 997
"""So many leader epochs there are: no two states of a topic are alike."""
CHANGED_TOPICS = 20
COLUMNS = ("load", "replicas", "partitions", "write", "build", "encode", "send", "answers", "history", OTHER)
NOT_COUNTED = ("zookeeper", "brokers")
FAILED = "controller.event-failed"
TURNS = 50
"""Of the loop, in which what an event has left behind is done: it waits for nothing but for others to have their turns."""

CONTROLLER = "pytest_kcontroller.controller"
PLACES: Mapping[str, Sequence[str]] = {
    "load": [
        f"{CONTROLLER}.failover:load",
        *(
            f"{CONTROLLER}.loading:{name}"
            for name in ("registered_brokers", "read_brokers", "topic_names", "read_topics")
        ),
        f"{CONTROLLER}.machines.states:StateZnodes.load",
        *(f"{CONTROLLER}.loading:{name}" for name in ("load_brokers", "load_topics")),
        f"{CONTROLLER}.machines:Machines._read",
    ],
    "replicas": [
        *(f"{CONTROLLER}.machines.replicas:ReplicaMachine.{name}" for name in ("start", "transition")),
        *(
            f"{CONTROLLER}.machines:Machines.{name}"
            for name in ("start_replicas", "online_replicas", "offline_replicas")
        ),
    ],
    "partitions": [
        *(f"{CONTROLLER}.machines.partitions:PartitionMachine.{name}" for name in ("start", "transition")),
        *(
            f"{CONTROLLER}.machines:Machines.{name}"
            for name in ("start_partitions", "trigger_online", "online", "offline", "create", "relieve")
        ),
    ],
    "write": ["pytest_kcontroller.zookeeper.store:Store.write_each"],
    "build": [f"{CONTROLLER}.batch:Batch.build"],
}
"""What is counted as what (see phases.Phases.wrap_all); the last of each phase are of before the controller had rooms."""


# --- what stands around the controller --------------------------------------------------------------------------------


class Clock:
    """See ports.Clock: the time stands still."""

    def now_us(self) -> int:
        return 0

    def jump(self, by_ms: int) -> None:
        """Nobody sets it."""

    def wall_ms(self) -> int:
        return 0

    async def sleep_us(self, duration_us: int) -> None:
        raise RuntimeError("the benchmark waits for nothing")


class BenchmarkRuntime:
    """See ports.Runtime, as far as a controller uses it."""

    def __init__(self, phases: Phases, history: Path) -> None:
        self.clock = Clock()
        self._recorder, self._phases = Recorder(history, "node-1", self.clock), phases
        self.holds = Holds(self.record)
        self.transport = None

    def record(self, event: Any, /, **fields: Any) -> None:
        """An event of the history; of an older revision its kind and its fields."""
        if FAILED in (event, getattr(event, "kind", None)):
            raise RuntimeError(f"the controller failed: {fields or event}")
        with self._phases.phase("history"):
            self._recorder(event, **fields)


class CountingChannels:
    """See channels.ChannelManager: everything but the socket. Answers wait until `answer_all`."""

    def __init__(self, phases: Phases, answered: Callable[[int, Any, Any], None]) -> None:
        self._phases, self._answered = phases, answered
        self._brokers: dict[int, None] = {}
        self._waiting: list[tuple[int, Any]] = []
        self.requests = self.sent_bytes = 0

    @property
    def unanswered(self) -> int:
        return len(self._waiting)

    def add(self, broker: Broker) -> None:
        self._brokers[broker.id] = None

    def move(self, broker: Broker) -> None:
        """It is not reached by its address."""

    def remove(self, broker: int) -> None:
        self._brokers.pop(broker, None)

    def close(self) -> None:
        self._brokers.clear()

    def send(self, broker: int, request: Any) -> None:
        if broker not in self._brokers:
            return
        api = APIS[request.API_KEY]
        with self._phases.phase("encode"):
            body = encode(request, api.max_version)
        with self._phases.phase("send"):
            framed = framed_request(api.key, api.max_version, 1, b"controller", body)
        self.requests += 1
        self.sent_bytes += len(framed)
        self._waiting.append((broker, request))

    def answer_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for broker, request in waiting:
            api = APIS[request.API_KEY]
            with self._phases.phase("brokers"):
                answer = _body(encode(_answer_to(request), api.max_version))
            with self._phases.phase("answers"):
                self._answered(broker, request, decode(api.response, answer, api.max_version))


def _body(encoded: bytes) -> Any:
    """As decode wants it: a memoryview at revisions whose messages are kafka-python's."""
    return memoryview(encoded) if "body" in inspect.signature(decode).parameters else encoded


def _answer_to(request: Any) -> Any:
    """Everything was done."""
    if isinstance(request, LeaderAndIsrRequest):
        topics = [
            LeaderAndIsrTopicError(
                topic_id=topic.topic_id,
                partition_errors=[
                    LeaderAndIsrPartitionError(partition_index=entry.partition_index, error_code=0)
                    for entry in topic.partition_states
                ],
            )
            for topic in request.topic_states
        ]
        return LeaderAndIsrResponse(error_code=0, topics=topics)
    if isinstance(request, StopReplicaRequest):
        errors = [
            StopReplicaPartitionError(topic_name=topic.topic_name, partition_index=entry.partition_index, error_code=0)
            for topic in request.topic_states
            for entry in topic.partition_states
        ]
        return StopReplicaResponse(error_code=0, partition_errors=errors)
    return UpdateMetadataResponse(error_code=0)


class Bench:
    """A cluster of `partitions` in a tree, and a controller that has no other neighbours."""

    def __init__(self, phases: Phases, partitions: int, history: Path) -> None:
        self.phases, self._history = phases, history
        self.tree = MemoryTree()
        self.topics = partitions // PER_TOPIC
        for path in PERSISTENT_PATHS:
            if path not in self.tree.nodes:
                self.tree.create_with_parents(path, b"")
        for broker in range(1, BROKERS + 1):
            address = Address("127.0.0.1", 9000 + broker)
            self.tree.create(broker_path(broker), encode_broker(Broker(id=broker, address=address), 0))
        for number in range(self.topics):
            self.create_topic(number, with_states=True)
        self.session = MemorySession(self.tree, self.phases)
        self.store = Store(self.session)
        self.channels: CountingChannels | None = None
        self.consumer: asyncio.Task[None] | None = None
        self.controller = self._make_controller()

    def _make_controller(self) -> Controller:
        stock = load_plugins(installed=False).selectors_for({})
        runtime: Any = BenchmarkRuntime(self.phases, self._history)
        if "channels" in inspect.signature(Controller.__init__).parameters:
            return Controller(runtime, NODE, {}, stock, stock, lambda _: None, channels=self._make_channels)
        controller_module.Channels = lambda *args, **_: self._make_channels(args[4])
        return Controller(runtime, NODE, {}, stock, stock, lambda _: None)

    def _make_channels(self, answered: Callable[[int, Any, Any], None]) -> CountingChannels:
        self.channels = CountingChannels(self.phases, answered)
        return self.channels

    # --- what others do in ZooKeeper

    def create_topic(self, number: int, *, with_states: bool = False) -> None:
        topic = _topic(number, PER_TOPIC)
        self.tree.create(topic_path(topic.name), encode_topic(topic))
        if with_states:
            for index, assignment in topic.partitions.items():
                state = LeaderAndIsr(
                    leader=assignment.replicas[0],
                    leader_epoch=(number * PER_TOPIC + index) % EPOCHS,
                    isr=assignment.replicas,
                    controller_epoch=1,
                )
                path = state_path(TopicPartition(topic.name, index))
                self.tree.create_with_parents(path, encode_state(state))

    def state(self, tp: TopicPartition) -> LeaderAndIsr | None:
        node = self.tree.nodes.get(state_path(tp))
        return None if node is None else decode_state(tp, node.data, node.stat.version)

    def notify(self, kind: WatchKind, *paths: str) -> None:
        for path in paths:
            self.controller.on_zookeeper_event(WatchEvent(kind, path))

    # --- measuring

    async def measure(self, begin: Callable[[], Any]) -> dict[str, float]:
        """What comes of `begin`, until all that was sent is answered."""
        gc.collect()
        self.session.read.clear()
        requests, sent_bytes = self._sent()
        self.phases.start()
        begin()
        await self._until_idle()
        if self.channels is not None:
            self.channels.answer_all()
            await self._until_idle()
        seconds = self.phases.stop()
        if self.consumer is not None and self.consumer.done():
            self.consumer.result()  # it has failed
        found = {column: seconds.get(column, 0.0) for column in COLUMNS}
        found["total"] = sum(found.values())
        found["requests"], found["mb"] = self._sent()[0] - requests, (self._sent()[1] - sent_bytes) / 1e6
        found["reads"] = len(self.session.read)
        return found

    async def _until_idle(self) -> None:
        """A revision that cannot say whether it is idle does all in the turns that it is given."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
        unanswered = 0 if self.channels is None else self.channels.unanswered
        while getattr(self.controller, "pending", 0) > unanswered:
            unanswered = 0 if self.channels is None else self.channels.unanswered
            await asyncio.sleep(0)

    def _sent(self) -> tuple[int, int]:
        return (0, 0) if self.channels is None else (self.channels.requests, self.channels.sent_bytes)


def _topic(number: int, partitions: int) -> TopicState:
    name = f"topic-{number:05d}"
    return TopicState(
        name=name,
        topic_id=base64.urlsafe_b64encode((number + 1).to_bytes(16, "big")).rstrip(b"=").decode(),
        partitions={index: Assignment(_replicas(number * PER_TOPIC + index)) for index in range(partitions)},
    )


def _replicas(number: int) -> tuple[int, int]:
    """Of the partition with this number in the whole cluster: leaders and followers are spread evenly."""
    leader = number % BROKERS
    follower = (leader + 1 + number // BROKERS % (BROKERS - 1)) % BROKERS
    return leader + 1, follower + 1


# --- the rows ---------------------------------------------------------------------------------------------------------


async def measure(phases: Phases, partitions: int) -> dict[str, dict[str, float]]:
    """Row -> column -> CPU seconds and counts. Two controllers are elected; a failover is the faster of theirs."""
    with tempfile.TemporaryDirectory() as directory:
        history = Path(directory) / "node-1.jsonl"
        first = await run(Bench(phases, partitions, history), _first_rows)
        second = await run(Bench(phases, partitions, history), _second_rows)
    failover = min(first["failover"], second["failover"], key=lambda row: row["total"])
    return {**first, **second, "failover": failover}


async def run(bench: Bench, rows: Callable[[Bench], Any]) -> dict[str, dict[str, float]]:
    gc.collect()
    gc.freeze()  # the tree is ZooKeeper's
    consumer = bench.consumer = asyncio.create_task(bench.controller.run())
    await asyncio.sleep(0)
    starting: list[asyncio.Task[None]] = []
    elected = bench.controller.on_new_session
    failover = await bench.measure(lambda: starting.append(asyncio.create_task(elected(bench.store, 1))))
    assert bench.controller.phase == "active"
    found = {"failover": failover, **await rows(bench)}
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)
    gc.unfreeze()
    return found


async def _first_rows(bench: Bench) -> dict[str, dict[str, float]]:
    created = bench.topics

    def create() -> None:
        bench.create_topic(created)
        bench.notify(WatchKind.CHILDREN, TOPICS)

    found = {"one topic created": await bench.measure(create)}
    assert bench.state(TopicPartition(_topic(created, 1).name, PER_TOPIC - 1)) is not None

    def change() -> None:
        paths = [topic_path(_topic(number, 1).name) for number in range(CHANGED_TOPICS)]
        for number, path in enumerate(paths):
            bench.tree.set_data(path, encode_topic(_topic(number, PER_TOPIC + 1)))
        bench.notify(WatchKind.CHANGED, *paths)

    found[f"{CHANGED_TOPICS} topics changed"] = await bench.measure(change)
    assert bench.state(TopicPartition(_topic(CHANGED_TOPICS - 1, 1).name, PER_TOPIC)) is not None

    def fail() -> None:
        bench.tree.delete(broker_path(BROKERS))
        bench.notify(WatchKind.CHILDREN, BROKER_IDS)

    found["broker failure"] = await bench.measure(fail)
    _assert_nobody_follows(bench, BROKERS)
    return found


async def _second_rows(bench: Bench) -> dict[str, dict[str, float]]:
    answers: list[asyncio.Task[Any]] = []

    def ask() -> None:
        request = ControlledShutdownRequest(broker_id=BROKERS, broker_epoch=-1)
        handler = bench.controller.handlers()[ControlledShutdownRequest.API_KEY]
        answers.append(asyncio.create_task(handler(request)))

    found = {"controlled shutdown": await bench.measure(ask)}
    assert answers[0].result().error_code == 0
    assert not answers[0].result().remaining_partitions
    _assert_nobody_follows(bench, BROKERS)
    return found


def _assert_nobody_follows(bench: Bench, broker: int) -> None:
    """All partitions of `broker` have another leader and an ISR without it."""
    for number in range(0, bench.topics, max(1, bench.topics // 20)):
        topic = _topic(number, PER_TOPIC)
        for index in topic.partitions:
            state = bench.state(TopicPartition(topic.name, index))
            assert state is not None and state.leader != broker and broker not in state.isr, (topic.name, index, state)


# --- the table --------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description="the controller's own work, without ZooKeeper and sockets")
    parser.add_argument("--partitions", type=int, nargs="+", default=[10_000, 100_000], metavar="N")
    parser.add_argument("--against", metavar="REV", help="also measure this revision of the repository")
    parser.add_argument("--repeat", type=int, default=1, metavar="TIMES", help="take the fastest of so many")
    parser.add_argument("--json", action="store_true", help="one object instead of tables")
    args = parser.parse_args()
    if hasattr(node_process, "collect_garbage"):  # as this revision's nodes have it: between events, and seldom
        gc.disable()
    gc.set_threshold(*getattr(node_process, "GARBAGE", gc.get_threshold()))
    found: dict[str, Any] = {"python": platform.python_version(), "now": {}, "before": {}}
    phases = Phases()
    phases.wrap_all(PLACES)
    additions = [additions_s()]
    for _ in range(args.repeat):
        keep_fastest(found["now"], measured(phases, args.partitions))
        additions.append(additions_s())
        if args.against:
            keep_fastest(found["before"], measured_at(args.against, args.partitions))
            additions.append(additions_s())
    found["additions_s"] = [round(one, 2) for one in additions]
    if args.json:
        print(json.dumps(found))
        return
    print(
        f"CPU seconds, Python {found['python']}; {BROKERS} brokers, replication factor 2, {PER_TOPIC} partitions a topic"
    )
    for lines in tables(found, args.against):
        print(lines)
    print(
        f"\nten million additions, before and after each turn: {', '.join(map(str, found['additions_s']))} CPU seconds"
    )


Tables = dict[str, dict[str, dict[str, float]]]
"""Number of partitions (as text, for JSON) -> row -> column -> value."""


def measured(phases: Phases, counts: Iterable[int]) -> Tables:
    return {str(count): asyncio.run(measure(phases, count)) for count in counts}


def keep_fastest(found: Tables, more: Tables) -> None:
    for count, rows in more.items():
        kept = found.setdefault(count, {})
        for name, row in rows.items():
            kept[name] = min(kept.get(name, row), row, key=lambda one: one["total"])


def measured_at(revision: str, counts: Sequence[int]) -> Tables:
    """The same of an older revision, by this script."""
    with worktree(revision) as tree:
        tables: Tables = measured_in(tree, __file__, "--partitions", *map(str, counts))["now"]
        return tables


def tables(found: Mapping[str, Any], revision: str | None) -> Iterator[str]:
    columns = (*COLUMNS, "total", "requests", "mb", "reads")
    for count, rows in found["now"].items():
        yield f"\n{int(count):,} partitions"
        yield f"{'':<28}" + "".join(f"{column:>11}" for column in columns)
        for name, row in rows.items():
            yield _line(name, row, columns)
            if revision:
                before = found["before"][count][name]
                yield _line(f"  at {revision}", before, columns)
                ratio = before["total"] / row["total"]
                yield f"  {ratio:.1f} times as fast, {before['reads']} reads became {row['reads']}"


def _line(name: str, row: Mapping[str, float], columns: Sequence[str]) -> str:
    whole = ("requests", "reads")
    return f"{name:<28}" + "".join(
        f"{row[column]:>11,.0f}" if column in whole else f"{row[column]:>11.3f}" for column in columns
    )


if __name__ == "__main__":
    main()
