"""How large a request is, and which path its failure names: the same for every adapter of the port."""

from __future__ import annotations

from pytest_kcontroller.zookeeper import session as port

MAX_REQUEST_BYTES = 1_048_575
"""ZooKeeper's own limit, with headers (jute.maxbuffer); it closes the connection over a larger request."""

_HEADERS_BYTES = 100
"""More than what an operation takes besides its path and data."""


def path_of(request: port.Request) -> str:
    match request:
        case port.Multi(ops):
            return ops[-1].path if ops else ""
        case port.MultiRead(reads):
            return reads[0].path if reads else ""
        case _:
            return request.path


def size_of(request: port.Request, chroot: str) -> int:
    """An upper bound of its bytes on the wire."""
    match request:
        case port.Multi(ops):
            return sum(op_size(op) + len(chroot) for op in ops)
        case port.MultiRead(reads):
            return sum(len(read.path.encode()) + len(chroot) + _HEADERS_BYTES for read in reads)
        case port.Create() | port.SetData():
            return op_size(request) + len(chroot)
        case _:
            return len(request.path.encode()) + len(chroot) + _HEADERS_BYTES


def op_size(op: port.WriteOp) -> int:
    """An upper bound of an operation's bytes inside a multi, without a chroot."""
    data = len(op.data) if isinstance(op, port.Create | port.SetData) else 0
    return len(op.path.encode()) + data + _HEADERS_BYTES
