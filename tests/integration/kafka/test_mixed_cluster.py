"""A broker of Kafka 3.9.1 among three nodes of ours: each side is the controller of the other, in turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError

from pytest_kcontroller import KafkaRelease, KafkaReleases, KCluster, ReleaseBroker
from pytest_kcontroller.cluster.timing import scaled

OURS, THEIRS = (0, 1, 2), 3
SESSION_MS = 3000
TOPICS = {"ours": {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 0, 1)}, "theirs": {0: (THEIRS,)}}
WAIT_S = 60.0


class Mixed:
    """Nodes 0 to 2 are ours, broker 3 is Kafka's."""

    def __init__(self, kcluster: KCluster, kafka: ReleaseBroker) -> None:
        self.kcluster, self.kafka, self.zk = kcluster, kafka, kcluster.zk

    # --- what there is

    def read(self, path: str) -> dict[str, Any] | None:
        """None: it is not there. In one step, as others write all the time."""
        try:
            found: dict[str, Any] = json.loads(self.zk.get(path)[0])
        except NoNodeError:
            return None
        return found

    def controller(self) -> int | None:
        found = self.read("/controller")
        return None if found is None else int(found["brokerid"])

    def live(self) -> list[int]:
        return sorted(int(name) for name in self.zk.get_children("/brokers/ids"))

    def state(self, topic: str, partition: int) -> dict[str, Any] | None:
        return self.read(f"/brokers/topics/{topic}/partitions/{partition}/state")

    def unled(self) -> list[str]:
        """Partitions that a live broker could lead and none does."""
        live, found = self.live(), list[str]()
        for topic in self.zk.get_children("/brokers/topics"):
            for number, replicas in json.loads(self.zk.get(f"/brokers/topics/{topic}")[0])["partitions"].items():
                state = self.state(topic, int(number))
                if {*replicas} & {*live} and (state is None or state["leader"] not in live):
                    found.append(f"{topic}-{number}: {state}")
        return found

    def until(self, wanted: Callable[[], bool], what: Callable[[], object]) -> None:
        """Looks again whenever ZooKeeper has had the time to answer; says what was seen last."""
        pause = self.zk.handler.event_object()
        for _ in range(int(scaled(WAIT_S) / 0.05)):
            if wanted():
                return
            pause.wait(0.05)
        pytest.fail(f"not within {WAIT_S:g} s; seen last: {what()}")

    # --- how the controllership passes

    def delete(self) -> None:
        """As soon as Kafka hears of it: a /controller that goes before it watches that again leaves it deaf
        (UNWATCHED-CONTROLLER)."""
        self.until(self.kafka_watches, lambda: self.zk.command(b"wchp"))
        self.zk.delete("/controller")

    def kafka_watches(self) -> bool:
        """Whether its session watches /controller, by ZooKeeper's word: each path, and below it who does."""
        there = self.zk.exists(f"/brokers/ids/{THEIRS}")
        _, _, below = f"\n{self.zk.command(b'wchp')}".partition("\n/controller\n")
        return there is not None and hex(there.ephemeralOwner) in below.partition("\n/")[0].split()

    def kill(self) -> None:
        """Its session ends by itself."""
        controller = self.controller()
        if controller == THEIRS:
            self.kafka.kill()
        else:
            assert controller is not None
            self.kcluster.kill(controller)
        self.until(lambda: controller not in self.live(), self.live)
        if controller == THEIRS:
            self.kafka.start()
        else:
            self.kcluster.restart(controller)

    def expire(self) -> None:
        """Naturally: ZooKeeper does not hear of it for as long as its session lasts."""
        controller = self.controller()
        if controller == THEIRS:
            self.kafka.pause()
            self.until(lambda: THEIRS not in self.live(), self.live)
            self.kafka.resume()
        else:
            assert controller is not None
            self.kcluster.expire_session(controller, "natural")
        self.until(lambda: controller in self.live(), self.live)

    def pass_to(self, theirs: bool, how: Callable[[], None]) -> None:
        """Whoever may win after that: the other side stands still for the moment that an election takes."""
        how()
        with self.standing_still(theirs=not theirs):
            while (now := self.controller()) is None or (now == THEIRS) is not theirs:
                if now is not None:
                    self.delete() if theirs else self.zk.delete(
                        "/controller"
                    )  # whoever stands still watches nothing anew
                self.until(lambda: self.controller() is not None, self.live)
        self.until(lambda: not self.unled(), self.unled)

    @contextmanager
    def standing_still(self, *, theirs: bool) -> Iterator[None]:
        if theirs:
            self.kafka.pause()
        else:
            for node in OURS:
                self.kcluster.pause(node)
        try:
            yield
        finally:
            if theirs:
                self.kafka.resume()
            else:
                for node in OURS:
                    self.kcluster.resume(node)

    def create(self, topic: str, assignment: dict[int, tuple[int, ...]]) -> None:
        """As every tool has done it, for whoever is the controller."""
        partitions = {str(number): list(replicas) for number, replicas in assignment.items()}
        self.zk.create(f"/brokers/topics/{topic}", json.dumps({"version": 1, "partitions": partitions}).encode())
        self.until(lambda: not self.unled(), self.unled)

    # --- what the others have heard

    def kafka_leads(self, topic: str, partition: int) -> None:
        """By its own word."""
        said = f"Leader {topic}-{partition} with topic id "
        self.until(lambda: said in self.kafka.log.read_text(errors="replace"), self.kafka.last_lines)

    def ours_leads(self, topic: str) -> None:
        def said() -> bool:
            return any(topic in event["topics"] for event in self.kcluster.khistory.of("broker.become-leader"))

        self.until(said, lambda: f"nobody leads {topic}")


@pytest.mark.kcontroller(session_timeout_ms=SESSION_MS, backends=["process"])
def test_the_controllership_passes_to_and_fro(kcluster: KCluster, kafka_release: KafkaReleases, tmp_path: Path) -> None:
    release = kafka_release("3.9.1")
    kafka = release.start_broker(
        kcluster,
        id=THEIRS,
        config={
            "auto.leader.rebalance.enable": False,
            "zookeeper.session.timeout.ms": SESSION_MS,
            "replica.lag.time.max.ms": 2000,
        },
    )
    mixed = Mixed(kcluster, kafka)
    for topic, assignment in TOPICS.items():
        mixed.create(topic, assignment)
    for number, how in enumerate((mixed.delete, mixed.kill, mixed.expire, mixed.delete, mixed.delete)):
        for side, theirs in (("theirs", True), ("ours", False)):
            mixed.pass_to(theirs=theirs, how=how)
            made = f"made-by-{side}-{number}"
            mixed.create(made, {0: (0, 1), 1: (THEIRS,)})
            mixed.kafka_leads(made, 1)
            mixed.ours_leads(made)
    assert kcluster.controller_epoch > 10
    its_tools_work_on_our_controller(mixed, release, tmp_path)
    its_leader_asks_our_controller(mixed)
    kafka.stop()
    assert "Controlled shutdown request returned successfully" in kafka.log.read_text()
    kcluster.wait_until_converged()
    kcluster.check()


def its_tools_work_on_our_controller(mixed: Mixed, release: KafkaRelease, tmp_path: Path) -> None:
    """Asked of Kafka's broker, which tells them who the controller is."""
    bootstrap = ("--bootstrap-server", mixed.kafka.bootstrap_server)
    said = release.tool("kafka-topics", *bootstrap, "--create", "--topic", "tooled", "--replica-assignment", "0:1")
    assert "Created topic tooled." in said
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "tooled", "partition": 0, "replicas": [1, 0]}]}))
    said = release.tool("kafka-reassign-partitions", *bootstrap, "--reassignment-json-file", str(plan), "--execute")
    assert "Successfully started partition reassignment for tooled-0" in said
    one = ("--election-type", "preferred", "--topic", "tooled", "--partition", "0")
    assert "Successfully completed leader election" in release.tool("kafka-leader-election", *bootstrap, *one)
    assert (mixed.state("tooled", 0) or {})["leader"] == 1


def its_leader_asks_our_controller(mixed: Mixed) -> None:
    """A node of ours fetches no records: Kafka's leader takes it out of the ISR, and then it is reassigned away."""
    mixed.create("half", {0: (THEIRS, 0)})
    mixed.until(lambda: (mixed.state("half", 0) or {})["isr"] == [THEIRS], lambda: mixed.state("half", 0))
    moved = {"version": 1, "partitions": [{"topic": "half", "partition": 0, "replicas": [THEIRS]}]}
    mixed.zk.create("/admin/reassign_partitions", json.dumps(moved).encode())
    mixed.until(lambda: not mixed.zk.exists("/admin/reassign_partitions"), lambda: mixed.state("half", 0))
    assert json.loads(mixed.zk.get("/brokers/topics/half")[0])["partitions"] == {"0": [THEIRS]}
