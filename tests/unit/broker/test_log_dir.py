"""What a broker keeps, in Kafka's format, and its end when it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kcontroller.broker.log_dir import CHECKPOINT, LogDir, LogDirFailedError
from pytest_kcontroller.broker.replicas import Replicas
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import BrokerLogDirFailed, HistoryEvent
from pytest_kcontroller.runtime.real import DirectoryDisk
from pytest_kcontroller.runtime.scheduler import Scheduler, SimRuntime
from pytest_kcontroller.wire.messages import LeaderAndIsrPartitionState

SECOND_US = 1_000_000


def hosting(*partitions: int) -> Replicas:
    """Broker 1, which leads these of `t`."""
    replicas = Replicas(1)
    for partition in partitions:
        entry = LeaderAndIsrPartitionState(
            partition_index=partition,
            controller_epoch=1,
            leader=1,
            leader_epoch=0,
            isr=(1,),
            partition_epoch=0,
            replicas=(1,),
            adding_replicas=(),
            removing_replicas=(),
            is_new=True,
            leader_recovery_state=0,
        )
        replicas.lead_or_follow(TopicPartition("t", partition), None, entry, lambda _: True)
    return replicas


def test_what_is_hosted_is_written_down_until_the_directory_is_gone(tmp_path: Path) -> None:
    directory, said = tmp_path / "data", list[HistoryEvent]()
    log_dir = LogDir(DirectoryDisk(directory), said.append)
    seen: list[str] = []

    async def keep(runtime: SimRuntime) -> None:
        with pytest.raises(LogDirFailedError, match="Not a directory") as failed:
            await log_dir.keep(hosting(2, 0), runtime.clock, SECOND_US)
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
