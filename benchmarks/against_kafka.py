"""Our controller and Apache Kafka's own, timed from outside, among stub brokers on a ZooKeeper: the same for both.

    python benchmarks/against_kafka.py [--release 3.9.1] [--topics 2000] [--partitions 50] [--replication 2] [--json]

Stub brokers register, answer each request with success, and note when it came; they decode nothing, so that what is timed is
the controller. What is timed begins with a change in ZooKeeper, or a request, and ends with the last request that the
controller sends because of it (or its answer). After that nothing comes for --quiet seconds, which do not count.

    first start         a controller finds topics of which no partition has a state yet, and makes all of them
    failover            a second one is there; the first is killed, and its /controller deleted
    controlled shutdown a stub asks to be relieved, until it is answered: 2/5 of the partitions have a replica there
    broker failure      the session of another stub ends

Kafka's brokers have the JVM's options of Kafka's own scripts and a heap of 3 GB; releases come from where the fixture
`kafka_release` has them. Each system has a ZooKeeper of its own (a JVM, in this run), one after the other. Absolute times
are this machine's, at its load; ratios of one run are what counts. The machine's speed is printed before and after each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from phases import additions_s

from pytest_kcontroller.broker.registration import register
from pytest_kcontroller.cluster.children.directories import session_directory
from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.java import find_java
from pytest_kcontroller.cluster.kafka.broker import BrokerSettings, KafkaBroker
from pytest_kcontroller.cluster.kafka.jars import KafkaPlaces, release_jars
from pytest_kcontroller.cluster.zookeeper.embedded import EmbeddedZooKeeper
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.model.cluster import Address, Assignment, Broker, TopicState
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream
from pytest_kcontroller.runtime.real import RealClock, RunStart, SocketTransport
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.codec import encode
from pytest_kcontroller.wire.frames import read_frame
from pytest_kcontroller.wire.headers import framed_response
from pytest_kcontroller.wire.messages import (
    APIS,
    ControlledShutdownRequest,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import Create, Delete, SessionEvent
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import (
    BROKER_IDS,
    CONTROLLER,
    TOPICS,
    broker_path,
    decode_broker,
    decode_controller,
    encode_topic,
    topic_path,
)

SESSION_MS = 60_000
"""Longer than a system may be busy: what is timed is no expiry."""
LIMIT_S = 600.0
FIRST_STUB = 101
ANSWERS = {4: LeaderAndIsrResponse(error_code=0), 5: StopReplicaResponse(error_code=0, partition_errors=[])}
ANSWERS |= {6: UpdateMetadataResponse(error_code=0)}
KAFKAS_JVM = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Djava.awt.headless=true")
ROWS = ("first start", "failover", "controlled shutdown", "broker failure", "failover, CPU", "memory, MB")


@dataclass
class Stub:
    """A broker that answers success; `last_s` and `requests` are of what it has received."""

    id: int
    last_s: float = 0.0
    requests: int = 0
    octets: int = 0
    store: Store | None = None
    epoch: int = 0

    async def start(self, zookeeper: str, clock: RealClock) -> None:
        listening = await SocketTransport().listen(Address("127.0.0.1", 0), self._serve)
        self.store = await open_store(zookeeper)
        await self.store.ensure_paths([BROKER_IDS])
        broker = Broker(id=self.id, address=listening.address)
        self.epoch = await register(self.store, self.store.session, broker, clock)

    async def _serve(self, stream: Stream) -> None:
        try:
            while True:
                payload = await read_frame(stream)
                self.last_s, self.requests, self.octets = now_s(), self.requests + 1, self.octets + len(payload)
                key, version = int.from_bytes(payload[:2], "big"), int.from_bytes(payload[2:4], "big")
                tagged = version >= APIS[key].flexible_from
                body = encode(ANSWERS[key], version)
                stream.write(framed_response(int.from_bytes(payload[4:8], "big"), body, tagged=tagged))
                await stream.drain()
        except ConnectionClosedError:
            return
        finally:
            stream.close()


@dataclass
class Bench:
    """One system, with its ZooKeeper and the stubs; `start` makes its broker `id` and gives the process."""

    options: argparse.Namespace
    zookeeper: EmbeddedZooKeeper
    directory: Path
    start: Callable[[Bench, int], Awaitable[Any]]
    stubs: list[Stub] = field(default_factory=list)
    store: Store | None = None

    @property
    def partitions(self) -> int:
        return int(self.options.topics * self.options.partitions)

    @property
    def admin(self) -> Store:
        assert self.store is not None
        return self.store

    async def prepare(self) -> None:
        self.store = await open_store(str(self.zookeeper.address))
        await self.admin.ensure_paths([TOPICS, BROKER_IDS])
        count, replication = self.options.stubs, self.options.replication
        ids = range(FIRST_STUB, FIRST_STUB + count)
        creates, number = [], 0
        for topic in range(self.options.topics):
            replicas = {}
            for partition in range(self.options.partitions):
                replicas[partition] = Assignment(tuple(ids[(number + step) % count] for step in range(replication)))
                number += 1
            name = f"t{topic:05d}"
            creates.append(Create(topic_path(name), encode_topic(TopicState(name=name, partitions=replicas))))
        for future in [self.admin.session.submit(create) for create in creates]:
            await future
        clock = RealClock(RunStart.now())
        self.stubs = [Stub(id_) for id_ in ids]
        for stub in self.stubs:
            await stub.start(str(self.zookeeper.address), clock)

    async def settle(self, began_s: float) -> float:
        """Seconds from `began_s` to the last request of all that came; waits until nothing has come for a while."""
        while True:
            await asyncio.sleep(0.05)
            last_s, now = max(stub.last_s for stub in self.stubs), now_s()
            if last_s > began_s and now - last_s > self.options.quiet:
                return last_s - began_s
            if now - began_s > LIMIT_S:
                raise SystemExit(f"nothing more to be timed: not done within {LIMIT_S:g} s")

    async def until(self, wanted: Callable[[], Awaitable[object]], what: str) -> None:
        began_s = now_s()
        while not await wanted():
            await asyncio.sleep(0.1)
            if now_s() - began_s > LIMIT_S:
                raise SystemExit(f"not within {LIMIT_S:g} s: {what}")

    async def znodes(self) -> int:
        lines = (await self.zookeeper.four_letter_word("mntr", 30.0)).splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("zk_znode_count")), 0)

    async def controller(self) -> int | None:
        node = await self.admin.get(CONTROLLER)
        return None if node is None else decode_controller(node.data)

    # --- what is timed

    async def first_start(self) -> tuple[float, Any]:
        before, began_s = await self.znodes(), now_s()
        first = await self.start(self, 0)
        wanted = before + 2 * self.partitions + self.options.topics  # a partition and its state, and `partitions`

        async def made() -> bool:
            return await self.znodes() >= wanted

        await self.until(made, "every partition has a state")
        return await self.settle(began_s), first

    async def failover(self, first: Any) -> tuple[float, float, Any]:
        began_s = now_s()
        second = await self.start(self, 1)
        await self.settle(began_s)
        cpu_s = cpu_of(second.pid)
        await first.kill()
        began_s = now_s()
        await self.admin.session.submit(Delete(CONTROLLER))
        took_s = await self.settle(began_s)
        assert await self.controller() == 1
        return took_s, cpu_of(second.pid) - cpu_s, second

    async def controlled_shutdown(self) -> float:
        node = await self.admin.get(broker_path(1))
        assert node is not None
        client = RequestClient(SocketTransport(), decode_broker(1, node.data, node.stat.czxid).address)
        stub, began_s = self.stubs[0], now_s()
        request = ControlledShutdownRequest(broker_id=stub.id, broker_epoch=stub.epoch)
        answer = await client.request(request, timeout_us=round(LIMIT_S * 1e6))
        took_s = now_s() - began_s
        client.close()
        if answer.error_code or answer.remaining_partitions:
            raise SystemExit(f"the controlled shutdown was answered {answer.error_code}, or partitions remained")
        await self.settle(began_s)
        return took_s

    async def broker_failure(self) -> float:
        store = self.stubs[1].store
        assert store is not None
        began_s = now_s()
        await store.session.close()
        return await self.settle(began_s)


async def start_kafka(bench: Bench, id_: int, jars: Path) -> KafkaBroker:
    settings = BrokerSettings(
        id=id_,
        version=bench.options.release,
        java=find_java(),
        classpath=f"{jars}/*",
        zookeeper=str(bench.zookeeper.address),
        directory=bench.directory / f"kafka-{id_}",
        heap="3g",
        jvm=KAFKAS_JVM,
        config={
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            "controller.socket.timeout.ms": "120000",
            "auto.leader.rebalance.enable": "false",
        },
    )
    broker = KafkaBroker(settings, bench.directory / f"kafka-{id_}.log")
    await broker.start()
    return broker


async def start_ours(bench: Bench, id_: int) -> Supervised:
    directory = bench.directory / f"node-{id_}"
    directory.mkdir()
    file = bench.directory / f"node-{id_}.json"
    NodeSettings(
        node_id=id_,
        zookeeper=str(bench.zookeeper.address),
        directory=str(directory),
        session_timeout_ms=SESSION_MS,
        config={"auto.leader.rebalance.enable": False},
    ).save(file)
    command = [sys.executable, "-m", "pytest_kcontroller.node", str(file)]
    node = await Supervised.start(f"node {id_}", command, log=bench.directory / f"node-{id_}.log", cwd=directory)

    async def registered() -> object:
        if node.returncode is not None:
            raise SystemExit((bench.directory / f"node-{id_}.log").read_text())
        return await bench.admin.exists(broker_path(id_))

    await bench.until(registered, f"node {id_} is registered")
    return node


async def measure(options: argparse.Namespace, system: str) -> dict[str, float]:
    """Seconds and MB by the names in ROWS."""
    with session_directory() as directory:
        log = directory / "zookeeper.log"
        start: Callable[[Bench, int], Awaitable[Any]] = start_ours
        if system == "Kafka":
            start = partial(start_kafka, jars=await release_jars(options.release, KafkaPlaces.of()))
        zookeeper = await EmbeddedZooKeeper.start(directory / "zookeeper", log=log, tick_ms=2000, heap="2g")
        bench, running = Bench(options, zookeeper, directory, start), list[Any]()
        try:
            await bench.prepare()
            found = dict[str, float]()
            found["first start"], first = await bench.first_start()
            running.append(first)
            found["failover"], found["failover, CPU"], second = await bench.failover(first)
            running.append(second)
            found["memory, MB"] = memory_of(second.pid)
            found["controlled shutdown"] = await bench.controlled_shutdown()
            found["broker failure"] = await bench.broker_failure()
            return found
        finally:
            for process in running:
                await process.kill()
            await zookeeper.stop()


async def open_store(zookeeper: str) -> Store:
    return await Store.open(KazooConnector(zookeeper, timeout_ms=SESSION_MS), _ignore)


def _ignore(store: Store, event: SessionEvent) -> None:
    """Nobody watches."""


def now_s() -> float:
    return asyncio.get_running_loop().time()


def cpu_of(pid: int | None) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int | None) -> float:
    """The most that it has had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def table(systems: Mapping[str, Mapping[str, float]]) -> str:
    names = [*systems, "ours / Kafka"]
    lines = ["".join([f"{'':<22}", *(f"{name:>14}" for name in names)])]
    for row in ROWS:
        values = [found[row] for found in systems.values()]
        cells = [f"{value:.0f}" if row.startswith("memory") else f"{value:.1f}" for value in values]
        cells.append(f"{systems['ours'][row] / systems['Kafka'][row]:.2f}" if len(systems) == 2 else "")
        lines.append("".join([f"{row:<22}", *(f"{cell:>14}" for cell in cells)]))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--release", default="3.9.1")
    parser.add_argument("--topics", type=int, default=2000)
    parser.add_argument("--partitions", type=int, default=50)
    parser.add_argument("--replication", type=int, default=2)
    parser.add_argument("--stubs", type=int, default=5)
    parser.add_argument("--quiet", type=float, default=4.0)
    parser.add_argument("--only", choices=("ours", "Kafka"), help="one of the two")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    systems: dict[str, dict[str, float]] = {}
    speed = [additions_s()]
    for system in ("Kafka", "ours") if options.only is None else (options.only,):
        systems[system] = asyncio.run(measure(options, system))
        speed.append(additions_s())
    if options.json:
        print(json.dumps({"release": options.release, "additions_s": speed, **systems}, indent=2))
        return
    partitions = options.topics * options.partitions
    print(
        f"Kafka {options.release} and ours, {partitions:,} partitions in {options.topics:,} topics, "
        f"replication {options.replication}, {options.stubs} stub brokers; seconds but for memory\n"
    )
    print(table(systems))
    print(
        f"\nten million additions took {', '.join(f'{each:.2f}' for each in speed)} s; "
        f"load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}"
    )


if __name__ == "__main__":
    try:
        main()
    except KControllerError as failed:
        print(failed, file=sys.stderr)
        sys.exit(failed.exit_status)
