"""What an ensemble has decided, from the transaction logs of all its servers.

A server writes into its log what its leader proposes, before it is decided; it is when a majority has it. So one server's
log alone is no witness: it may have what was never decided, since the leader ended before it had told anybody (such a
server cuts that off when it comes back), and it may lack what was decided while it was away. Decided is

- what a majority of the logs has, and
- within one leader's epoch (the upper half of a zxid) all before that: a leader decides in the order of its proposals.

Source: the protocol ZAB as of ZooKeeper's internals page; org.apache.zookeeper.server.quorum.Leader, Learner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kcontroller_chaos.history.txnlog import CorruptLogError, TxnLogReader, log_files
from pytest_kcontroller.cluster.zookeeper.server import LogPlace
from pytest_kcontroller.zookeeper.txn import Txn

SERVERS = "server-*"
"""Below a run's `zookeeper`, a directory each; without them it is one server's."""


class LogReader(Protocol):
    """See TxnLogReader."""

    def poll(self) -> tuple[Txn, ...]: ...


@dataclass(slots=True)
class _Proposed:
    txn: Txn
    logs: set[int] = field(default_factory=set)
    """Which have it."""


class CommittedReader:
    """Reads the logs of an ensemble's servers, also while they are written, killed and started again."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self._readers = [TxnLogReader(directory) for directory in directories]
        self._majority = len(directories) // 2 + 1
        self._proposed: dict[int, _Proposed] = {}
        """By zxid, what is not decided yet, or never will be."""
        self._upto = 0
        """The newest that was given."""

    def poll(self) -> tuple[Txn, ...]:
        """What has been decided since the last poll, in zxid order, each once. Raises CorruptLogError."""
        for log, reader in enumerate(self._readers):
            for txn in reader.poll():
                if txn.zxid > self._upto:
                    self._proposed.setdefault(txn.zxid, _Proposed(txn)).logs.add(log)
        newest: dict[int, int] = {}  # epoch -> the newest of it that a majority has
        for zxid in sorted(self._proposed):
            if len(self._proposed[zxid].logs) >= self._majority:
                newest[zxid >> 32] = zxid
        decided = [zxid for zxid in sorted(self._proposed) if zxid <= newest.get(zxid >> 32, 0)]
        found = tuple(self._proposed[zxid].txn for zxid in decided)
        if decided:
            self._upto = decided[-1]
            self._proposed = {zxid: one for zxid, one in self._proposed.items() if zxid > self._upto}
        return found


def reader_of(directories: Sequence[Path], since: LogPlace | None = None) -> LogReader:
    """Of one server's log, from `since` on, or of an ensemble's."""
    return TxnLogReader(directories[0], since) if len(directories) == 1 else CommittedReader(directories)


def read_all(directory: Path) -> tuple[Txn, ...]:
    """Every transaction of a run's `zookeeper`. Raises CorruptLogError, also if there is no log file."""
    if not log_files(directory):
        raise CorruptLogError(directory, 0, "there is no log file")
    return reader_of(sorted(directory.glob(SERVERS)) or [directory]).poll()
