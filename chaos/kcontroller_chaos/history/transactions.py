"""ZooKeeper's transactions as events of the history: `zk.txn`, declared where ZooKeeper's log is read.

It is the one kind that no process of ours writes; its sentence knows the znodes that decide who leads.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pytest_kcontroller.model.history.event import NOWHERE, About, Focus, HistoryEvent, Rank, Writer, event, line_of
from pytest_kcontroller.model.history.fields import Session
from pytest_kcontroller.model.text import in_words, json_or_none, one_of_many
from pytest_kcontroller.zookeeper.session import BadVersionError, NodeExistsError, NoNodeError, NotEmptyError
from pytest_kcontroller.zookeeper.txn import Op, Txn
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, CONTROLLER_EPOCH, parse_state_path

ZOOKEEPER = "zookeeper"
WRITES_NAMED = 2
"""A sentence names so many operations of a multi."""
_RUNTIME_INCONSISTENCY = -2
"""In a refused multi, the operations that were not the reason."""

_ERRORS: Mapping[int, str] = {
    NoNodeError.code: "there is no such znode",
    BadVersionError.code: "the version that it checks has moved on",
    NodeExistsError.code: "the znode is there already",
    NotEmptyError.code: "the znode has children",
}

JsonOp = Mapping[str, Any]


@event
class ZkTxn(HistoryEvent):
    """A transaction of ZooKeeper's own log: the independent witness."""

    kind = "zk.txn"
    writer = Writer.ZOOKEEPER
    zxid: Annotated[int, About("the number of the transaction: what orders everything")]
    session: Session
    cxid: Annotated[int, About("the number that the client gave it; 0: ZooKeeper's own")]
    time_ms: Annotated[int, About("by the clock of ZooKeeper's host", unit="milliseconds since 1970")]
    type: Annotated[
        str, About("create, create2, set, delete, multi, create-session, close-session, error, or a number")
    ]
    error: Annotated[int | None, About("why a single request was refused: ZooKeeper's code")] = None
    ops: Annotated[list[dict[str, Any]] | None, About("its writes, see below")] = None

    def fields(self) -> dict[str, object]:
        """`error` and `ops` only where there are some."""
        found = HistoryEvent.fields(self)
        return {name: value for name, value in found.items() if value is not None or name not in ("error", "ops")}

    def weight(self) -> Rank:
        """Sessions, /controller and refused epochs first; then who leads; then other writes."""
        if self.type in ("create-session", "close-session"):
            return Rank.DECISIVE
        if self.type == "error":
            return Rank.ROUTINE
        if codes := self._codes:
            return Rank.DECISIVE if BadVersionError.code in codes else Rank.WRITE
        paths = [op["path"] for op in self.accepted]
        if CONTROLLER in paths:
            return Rank.DECISIVE
        return Rank.LEADERSHIP if any(parse_state_path(path) for path in paths) else Rank.WRITE

    def concerns(self, partition: str) -> bool:
        return any(_partition(op) == partition for op in self.accepted)

    @property
    def accepted(self) -> list[dict[str, Any]]:
        """The operations that took effect: none, if one of them was refused."""
        return [] if self._codes else [op for op in self._operations if op["type"] != "check"]

    @property
    def _codes(self) -> list[int]:
        return [op["code"] for op in self._operations if op["type"] == "error"]

    @property
    def _operations(self) -> list[dict[str, Any]]:
        """Without what a damaged line has in their place."""
        return [op for op in self.ops if isinstance(op, dict)] if isinstance(self.ops, list) else []

    def sentence(self, focus: Focus = NOWHERE) -> str:
        return f"{self._what(focus)}; zxid {_hex(self.zxid)}"

    def _what(self, focus: Focus) -> str:
        session, of_node = self.session, focus.of_node(str(self.session))
        if self.type == "create-session":
            return f"opens session {session}{of_node}"
        if self.type == "close-session":
            return f"{'closes' if self.cxid else 'gives up (expires)'} session {session}{of_node}"
        who = f"{of_node.removeprefix(' of ')} (session {session})" if of_node else f"session {session}"
        if self.type == "error":
            return f"refuses a request of {who}: {_error(self.error)}"
        if codes := self._codes:
            return f"refuses a write of {who}: {_reason(codes)}"
        asked = (focus.path, focus.partition)
        ops = sorted(self.accepted, key=lambda op: op["path"] != asked[0] and (_partition(op) or "") != asked[1])
        named = ", ".join(_words(op) for op in ops[:WRITES_NAMED]) or self.type
        more = f" and {len(ops) - WRITES_NAMED} more" if len(ops) > WRITES_NAMED else ""
        return f"accepts from {who}: {named}{more}"


def _hex(zxid: object) -> str:
    return f"{zxid:#x}" if isinstance(zxid, int) else str(zxid)


def _reason(codes: Iterable[int]) -> str:
    first = next((code for code in codes if code != _RUNTIME_INCONSISTENCY), _RUNTIME_INCONSISTENCY)
    return _error(first)


def _error(code: object) -> str:
    known = _ERRORS.get(code) if isinstance(code, int) else None  # a damaged line has anything here
    return f"{known} ({code})" if known else f"error {code}"


def _partition(op: JsonOp) -> str | None:
    tp = parse_state_path(op["path"])
    return None if tp is None else str(tp)


def _words(op: JsonOp) -> str:
    """One operation; of the values only those that decide who leads."""
    path = op["path"]
    if op["type"] == "delete":
        return f"delete {path}"
    value = json_or_none(op.get("data"))
    if path == CONTROLLER and isinstance(value, dict):
        return f"{path} = node {in_words(value.get('brokerid'))}"
    if path == CONTROLLER_EPOCH:
        return f"{path} = {in_words(op.get('data'))}"
    if parse_state_path(path) is not None and isinstance(value, dict):
        named = (("leader", "leader"), ("isr", "ISR"), ("controller_epoch", "controller epoch"))
        return f"{path}: " + ", ".join(f"{name} {one_of_many(value.get(key))}" for key, name in named)
    return f"{op['type']} {path}"


def txn_event(txn: Txn, seq: int, t_us: int) -> dict[str, Any]:
    """The line of a transaction."""
    value = ZkTxn(
        zxid=txn.zxid,
        session=hex(txn.session),
        cxid=txn.cxid,
        time_ms=txn.time_ms,
        type=txn.type,
        error=txn.error,
        ops=[_op(op) for op in txn.ops] if txn.ops and txn.error is None else None,
    )
    return line_of(value, ZOOKEEPER, seq, t_us)


def _op(op: Op) -> dict[str, Any]:
    if op.type == "error":
        return {"type": op.type, "code": op.code}
    return {"type": op.type, "path": op.path, "data": _data(op.data), "version": op.version, "ephemeral": op.ephemeral}


def _data(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
