"""What ZooKeeper's transaction log says: one value per transaction, of a real server's files or a simulated one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One write. `version` is the znode's after a set; `code` is of the type `error` only (-103: bad version)."""

    type: str
    path: str | None = None
    data: bytes | None = None
    version: int | None = None
    ephemeral: bool = False
    code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Txn:
    """One transaction. `error` is the code of a refused single request; `closed` the znodes that went with a session."""

    zxid: int
    session: int
    cxid: int
    time_ms: int
    type: str
    ops: tuple[Op, ...] = ()
    error: int | None = None
    timeout_ms: int | None = None
    closed: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        return self.error is not None or any(op.type == "error" for op in self.ops)
