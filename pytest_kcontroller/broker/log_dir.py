"""The directory in which a broker keeps what it hosts. It is the only one that it has, so the broker does not outlive it.

Sources: kafka.server.ReplicaManager (checkpointHighWatermarks), OffsetCheckpointFile, and kafka.log.LogManager
(handleLogDirFailure: a broker whose log directories have all failed halts, before it could announce it), all 3.9.
"""

from __future__ import annotations

import errno
from typing import NoReturn

from pytest_kcontroller.broker.replicas import Replicas
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import BrokerLogDirFailed, Record
from pytest_kcontroller.runtime.ports import Clock, Disk

CHECKPOINT = "replication-offset-checkpoint"
VERSION = 0


class LogDirFailedError(EnvironmentFailure):
    """The broker halts: it hands nothing over, and leaves the end of its session to ZooKeeper (Kafka: Exit.halt(1))."""

    exit_status = 1


class LogDir:
    """See ports.Disk; the first failure, of whichever read or write, is the end. Raises LogDirFailedError."""

    def __init__(self, disk: Disk, record: Record) -> None:
        self._disk, self._record = disk, record

    def read(self, name: str) -> bytes | None:
        try:
            return self._disk.read(name)
        except OSError as failed:
            self._fail(name, failed)

    def write(self, name: str, data: bytes) -> None:
        try:
            self._disk.write(name, data)
        except OSError as failed:
            self._fail(name, failed)

    def _fail(self, name: str, failed: OSError) -> NoReturn:
        why = failed.strerror or str(failed)
        code = errno.errorcode.get(failed.errno or 0, "")
        self._record(BrokerLogDirFailed(file=name, code=code, why=why))
        raise LogDirFailedError(
            f"the log directory has failed, and there is no other one: {why}",
            where=str(failed.filename or name),
            hint="see to the disk, or to the room on it, then start the node again",
        ) from None

    async def keep(self, replicas: Replicas, clock: Clock, every_us: int) -> NoReturn:
        """Writes down which partitions are hosted, again and again, until it cannot or is cancelled. Kafka begins with the
        first LeaderAndIsr; there are no records yet, so all that is known of a log is its beginning."""
        while True:
            await clock.sleep_us(every_us)
            lines = [f"{tp.topic} {tp.partition} 0\n" for tp in replicas.partitions]
            self.write(CHECKPOINT, f"{VERSION}\n{len(lines)}\n{''.join(lines)}".encode())
