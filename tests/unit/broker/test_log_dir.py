"""What a broker keeps, in Kafka's format, and what becomes of it when a directory cannot be read or written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.broker.handlers import leader_and_isr, stop_replica
from pytest_kcontroller.broker.log_dir import CHECKPOINT, LogDirFailedError, LogDirs, checkpointed
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import BrokerLogDirFailed, BrokerLogDirOffline, HistoryEvent
from pytest_kcontroller.runtime.real import DirectoryDisk
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimRuntime
from pytest_kcontroller.sim.disk import SimDisk
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)

SECOND_US = 1_000_000
FIRST, SECOND, THIRD = "log-dir-0", "log-dir-1", "log-dir-2"


def of_t(*partitions: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in partitions]


def new(*partitions: int, is_new: bool = True) -> dict[TopicPartition, bool]:
    return dict.fromkeys(of_t(*partitions), is_new)


class Several:
    """A broker with that many directories, that hosts what is in `hosted`; a restart keeps the disk."""

    def __init__(self, count: int) -> None:
        self.disk, self._count = SimDisk(NamedRng(1), "node-1"), count
        self.said: list[HistoryEvent] = []
        self.start()

    def start(self) -> LogDirs:
        self.hosted: list[TopicPartition] = []
        self.dirs = LogDirs(self.disk, self.said.append, self._count)
        self.dirs.gone_offline = lambda tps: [tp for tp in tps if tp in self.hosted]
        self.dirs.load()
        return self.dirs

    @property
    def offline(self) -> list[list[str]]:
        """What each directory that has failed took with it."""
        return [event.partitions for event in self.said if isinstance(event, BrokerLogDirOffline)]

    @property
    def where(self) -> dict[str, list[int]]:
        """Directory -> numbers of the partitions that its checkpoint names."""
        kept = {each.name: self.disk.kept(f"{each.name}/{CHECKPOINT}") for each in self.dirs.live}
        return {name: [tp.partition for tp in checkpointed(data or b"")] for name, data in kept.items()}


def test_what_is_hosted_is_written_down_until_the_directory_is_gone(tmp_path: Path) -> None:
    directory, said = tmp_path / "data", list[HistoryEvent]()
    log_dirs = LogDirs(DirectoryDisk(directory), said.append)
    seen: list[str] = []

    async def keep(runtime: SimRuntime) -> None:
        assert log_dirs.create(new(2, 0)) == []
        with pytest.raises(LogDirFailedError, match="Not a directory") as failed:
            await log_dirs.keep(runtime.clock, SECOND_US)
        assert failed.value.exit_status == 1
        assert str(directory) in failed.value.where
        seen.append(f"gone {runtime.clock.now_us()}")

    async def look(runtime: SimRuntime) -> None:
        await runtime.clock.sleep_us(SECOND_US // 2)
        assert not directory.exists()
        await runtime.clock.sleep_us(SECOND_US)
        seen.append((directory / CHECKPOINT).read_text())
        directory.rename(tmp_path / "aside")
        directory.touch()

    with Scheduler() as world:
        loop = world.process("node-1")
        runtime = SimRuntime(loop, 1, [])
        tasks = [loop.create_task(work(runtime)) for work in (keep, look)]
        world.run()
        for task in tasks:
            task.result()
    assert seen == ["0\n2\nt 2 0\nt 0 0\n", f"gone {2 * SECOND_US}"]
    (event,) = said
    assert isinstance(event, BrokerLogDirFailed)
    assert (event.file, event.code) == (CHECKPOINT, "ENOTDIR")


def test_the_only_directory_is_never_read_and_what_is_asked_for_is_made_in_it() -> None:
    one = Several(1)
    one.disk.write(CHECKPOINT, b"0\n1\nt 5 0\n")
    assert one.start().create(new(0, is_new=False)) == []
    assert one.disk.kept(CHECKPOINT) == b"0\n1\nt 5 0\n"  # until the next checkpoint


def test_a_new_replica_goes_where_the_fewest_are_and_is_written_down_at_once() -> None:
    several = Several(3)
    several.dirs.create(new(0, 1, 2, 3))
    assert several.where == {FIRST: [0, 3], SECOND: [1], THIRD: [2]}
    several.dirs.delete(of_t(1, 2, 7))
    several.dirs.create(new(4))
    assert several.where == {FIRST: [0, 3], SECOND: [4], THIRD: []}


def test_what_was_in_a_failed_directory_is_offline_and_only_what_is_new_is_made_elsewhere() -> None:
    several = Several(2)
    several.dirs.create(new(0, 1, 2))
    several.hosted = of_t(0, 1)
    several.disk.fail_directory(FIRST)
    assert several.dirs.live[0].read("meta.properties") is None
    (event,) = several.said
    assert isinstance(event, BrokerLogDirOffline)
    assert (event.directory, event.partitions) == (FIRST, ["t-0"])
    assert (event.file, event.code) == (f"{FIRST}/meta.properties", "EIO")
    assert several.dirs.create({**new(0, is_new=False), **new(1, is_new=False), **new(3)}) == of_t(0)
    assert several.where == {SECOND: [1, 3]}


def test_a_directory_that_fails_when_a_replica_is_made_is_not_used_for_it() -> None:
    several = Several(2)
    several.dirs.create(new(5))
    several.hosted = of_t(5)
    several.disk.fail_directory(FIRST)
    assert several.dirs.create({**new(0, 2), **new(1, is_new=False)}) == []  # all were well when it was asked
    assert several.where == {SECOND: [0, 1, 2]}
    assert several.offline == [["t-5"]]


def test_who_is_started_with_a_failed_directory_has_what_is_in_the_others() -> None:
    several = Several(2)
    several.dirs.create(new(0, 1))
    several.disk.fail_directory(SECOND)
    assert several.start().create(new(0, 1, is_new=False)) == of_t(1)
    assert several.offline == [[]]  # nobody had asked for it in this life
    several.disk.mend()
    assert several.start().create(new(0, 1, is_new=False)) == []
    assert several.where == {FIRST: [0], SECOND: [1]}


def in_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with Scheduler() as world:
        task = world.process("node-1").create_task(main())
        world.run()
        task.result()


async def some_turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_what_cannot_be_told_waits_for_the_next_session() -> None:
    several, told = Several(2), list[str]()
    several.dirs.create(new(0, 1))

    async def tell() -> bool:
        told.append(f"told of {len(several.said)}")
        return len(told) > 1

    async def main() -> None:
        announcing = asyncio.ensure_future(several.dirs.announce(tell))
        several.disk.fail_directory(FIRST)
        several.dirs.delete(of_t(0))
        await some_turns()
        assert told == ["told of 1"]
        for _ in range(2):
            several.dirs.remind()
            await some_turns()
            assert told == ["told of 1"] * 2
        announcing.cancel()

    in_loop(main)


@pytest.mark.parametrize("count", [1, 2])
def test_with_the_last_directory_the_broker_halts_whoever_is_out_of_reach(count: int) -> None:
    several = Several(count)
    several.dirs.create(new(0, 1))

    async def tell() -> bool:
        await asyncio.get_running_loop().create_future()
        return True

    async def main() -> None:
        announcing = asyncio.ensure_future(several.dirs.announce(tell))
        halting = asyncio.ensure_future(several.dirs.until_all_failed())
        several.disk.fail_directory("")
        for each in several.dirs.live[:-1]:
            each.save()
        await some_turns()
        assert not halting.done()
        with pytest.raises(LogDirFailedError):
            several.dirs.live[0].save()
        with pytest.raises(LogDirFailedError, match="there is no other one: Input/output error"):
            await halting
        for asked in (new(0), new(1, is_new=False), new(2), {}):
            with pytest.raises(LogDirFailedError):
                several.dirs.create(asked)
        with pytest.raises(LogDirFailedError):
            several.dirs.delete(of_t(0))
        announcing.cancel()

    in_loop(main)
    assert [type(event) for event in several.said] == [BrokerLogDirOffline] * (count - 1) + [BrokerLogDirFailed]


@pytest.mark.parametrize(
    ("data", "numbers"),
    [
        (b"", []),
        (b"0\n2", []),
        (b"0\n2\nt 0 0\nt 1", [0]),
        (b"0\n2\nt 0 0\nt 1 0\n", [0, 1]),
        (b"0\n1\nt x 0\nt \xc2\xb2 0\n", []),
    ],
)
def test_of_a_torn_checkpoint_what_is_whole_is_there(data: bytes, numbers: list[int]) -> None:
    assert checkpointed(data) == of_t(*numbers)


HEAD: dict[str, Any] = {"controller_id": 0, "controller_epoch": 1, "broker_epoch": -1}


async def ask_to_lead(state: BrokerState, wanted: dict[TopicPartition, bool]) -> list[int]:
    """The answers to a LeaderAndIsr; `wanted` says of which replicas that they are new."""
    entry = partial(LeaderAndIsrPartitionState, leader=1, isr=(1,), partition_epoch=0, replicas=(1,), leader_epoch=0)
    entries = [entry(partition_index=tp.partition, controller_epoch=1, is_new=is_new) for tp, is_new in wanted.items()]
    topic = LeaderAndIsrTopicState(topic_name="t", topic_id=bytes(16), partition_states=entries)
    response = await leader_and_isr.handle(state, LeaderAndIsrRequest(**HEAD, topic_states=[topic], live_leaders=[]))
    return [each.error_code for topic in response.topics for each in topic.partition_errors]


def test_a_replica_that_is_offline_is_not_made_anew_and_one_that_is_deleted_has_no_log() -> None:
    several = Several(2)
    state = BrokerState(1, several.said.append, lambda _: None, several.dirs)

    async def main() -> None:
        assert await ask_to_lead(state, new(0, 1)) == [0, 0]
        several.disk.fail_directory(FIRST)
        several.dirs.live[0].save()
        assert await ask_to_lead(state, new(0, 2)) == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
        stopped = StopReplicaPartitionState(partition_index=2, leader_epoch=0, delete_partition=True)
        topics = [StopReplicaTopicState(topic_name="t", partition_states=[stopped])]
        await stop_replica.handle(state, StopReplicaRequest(**HEAD, topic_states=topics))

    in_loop(main)
    assert several.offline == [["t-0"]]
    assert several.where == {SECOND: [1]}
    assert [replica.tp for replica in state.replicas.hosted] == of_t(1)


def test_of_what_only_the_checkpoint_names_nothing_is_offline_until_somebody_asks_for_it() -> None:
    several = Several(2)
    several.dirs.create(new(0, 1, 2, 3, 4))
    state = BrokerState(1, several.said.append, lambda _: None, several.start())

    async def main() -> None:
        assert await ask_to_lead(state, new(4, is_new=False)) == [0]
        several.disk.fail_directory(FIRST)
        several.dirs.live[0].save()
        assert await ask_to_lead(state, {**new(0), **new(2, is_new=False)}) == [0, ErrorCode.KAFKA_STORAGE_ERROR]

    in_loop(main)
    assert several.offline == [["t-4"]]
    assert several.where == {SECOND: [1, 3, 0]}
    assert [replica.tp for replica in state.replicas.hosted] == of_t(0)
