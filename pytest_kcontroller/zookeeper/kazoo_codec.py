"""The requests and answers of session.py in kazoo's terms, with the chroot put on and taken off; and MultiRead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol import serialization as jute
from kazoo.protocol.states import ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from pytest_kcontroller.zookeeper import session as port
from pytest_kcontroller.zookeeper.session import ZkError

_ERRORS: dict[int, type[ZkError]] = {
    kind.code: kind
    for kind in (
        port.RolledBackError,
        port.ConnectionLossError,
        port.NoNodeError,
        port.BadVersionError,
        port.NoChildrenForEphemeralsError,
        port.NodeExistsError,
        port.NotEmptyError,
        port.SessionExpiredError,
    )
}
# What kazoo says when *we* have closed the client, and the code of an operation before the failed one of a multi.
_ERRORS |= {-116: port.SessionExpiredError, 0: port.RolledBackError}


class _MultiRead:
    """Opcode 22 (ZooKeeper 3.6+), which kazoo lacks. Paths are complete: kazoo adds the chroot for its own requests only."""

    type = 22

    def __init__(self, reads: tuple[Any, ...]) -> None:
        self._reads = reads

    def serialize(self) -> bytes:
        out = bytearray()
        for read in self._reads:
            out += jute.MultiHeader(read.type, False, -1).serialize() + read.serialize()
        return bytes(out + jute.multiheader_struct.pack(-1, True, -1))

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[object]:
        results: list[object] = []
        while True:
            header, offset = jute.MultiHeader.deserialize(data, offset)
            if header.done:
                return results
            if header.type == jute.GetData.type:
                value, offset = jute.read_buffer(data, offset)
                stat = ZnodeStat._make(jute.stat_struct.unpack_from(data, offset))
                offset += jute.stat_struct.size
                results.append((value, stat))
            elif header.type == jute.GetChildren.type:
                count = jute.int_struct.unpack_from(data, offset)[0]
                offset += jute.int_struct.size
                names = []
                for _ in range(count):
                    name, offset = jute.read_string(data, offset)
                    names.append(name)
                results.append(names)
            else:
                results.append(jute.EXCEPTIONS[jute.int_struct.unpack_from(data, offset)[0]]())
                offset += jute.int_struct.size


def encode_request(request: port.Request, chroot: str, on_watch: Callable[..., None]) -> Any:
    """kazoo's request. Its field `watcher` is both the flag on the wire and what is called."""
    match request:
        case port.Exists(path, watch):
            return jute.Exists(_full(chroot, path), on_watch if watch else None)
        case port.GetData(path, watch):
            return jute.GetData(_full(chroot, path), on_watch if watch else None)
        case port.GetChildren(path, watch):
            return jute.GetChildren2(_full(chroot, path), on_watch if watch else None)
        case port.Multi(ops):
            return jute.Transaction([_encode_op(op, chroot) for op in ops])
        case port.MultiRead(reads):
            return _MultiRead(tuple(_encode_read(read, chroot) for read in reads))
        case _:
            return _encode_op(request, chroot)


def _encode_op(op: port.WriteOp, chroot: str) -> Any:
    match op:
        case port.Create(path, data, ephemeral, sequence):
            return jute.Create(_full(chroot, path), data, OPEN_ACL_UNSAFE, int(ephemeral) | (2 * int(sequence)))
        case port.SetData(path, data, version):
            return jute.SetData(_full(chroot, path), data, version)
        case port.Delete(path, version):
            return jute.Delete(_full(chroot, path), version)
        case port.Check(path, version):
            return jute.CheckVersion(_full(chroot, path), version)


def _encode_read(read: port.ReadOp, chroot: str) -> Any:
    kind = jute.GetData if isinstance(read, port.GetData) else jute.GetChildren
    return kind(_full(chroot, read.path), None)


def decode_answer(request: port.Request, value: Any, client: KazooClient) -> object:
    match request:
        case port.Create():
            return port.Created(client.unchroot(value))
        case port.SetData():
            return _stat(value)
        case port.Delete():
            return None
        case port.Exists():
            return None if value is None else _stat(value)
        case port.GetData():
            return _read(value)
        case port.GetChildren():
            names, stat = value
            return port.Children(tuple(sorted(names)), _stat(stat))
        case port.Multi(ops):
            return tuple(_decode_op(op, result) for op, result in zip(ops, value, strict=True))
        case port.MultiRead(reads):
            return tuple(_decode_read(read, result) for read, result in zip(reads, value, strict=True))


def _decode_op(op: port.WriteOp, result: Any) -> object:
    """kazoo has taken the chroot out of created paths."""
    if isinstance(result, BaseException):
        return translate_error(result, op.path)
    if isinstance(op, port.Create):
        return port.Created(result)
    return _stat(result) if isinstance(op, port.SetData) else None


def _decode_read(read: port.ReadOp, result: Any) -> object:
    if isinstance(result, BaseException):
        return translate_error(result, read.path)
    return _read(result) if isinstance(read, port.GetData) else port.Children(tuple(sorted(result)))


def _read(value: Any) -> port.Node:
    data, stat = value
    return port.Node(bytes(data or b""), _stat(stat))


def _stat(stat: ZnodeStat) -> port.Stat:
    return port.Stat(
        czxid=stat.czxid,
        mzxid=stat.mzxid,
        pzxid=stat.pzxid,
        ctime_ms=stat.ctime,
        mtime_ms=stat.mtime,
        version=stat.version,
        cversion=stat.cversion,
        ephemeral_owner=stat.ephemeralOwner,
        children=stat.numChildren,
    )


def translate_error(raised: BaseException, path: str) -> BaseException:
    if not isinstance(raised, KazooException):
        return raised
    code = getattr(raised, "code", 0)
    if (kind := _ERRORS.get(code)) is not None:
        return kind(path)
    return port.UnexpectedZkError(code, path)


def _full(chroot: str, path: str) -> str:
    return chroot if chroot and path == "/" else chroot + path
