"""A second reader of ZooKeeper's transaction log, independent of the product: python -m tests.tools.zklog [--fencing] RUN.

One line per transaction: zxid, session, cxid, type, operations. `--fencing`: elections, refused multis and writes by a
session that was elected with an older epoch. It imports nothing of ours on purpose; keep it so.
"""

from __future__ import annotations

import json
import re
import sys
from io import BytesIO
from pathlib import Path

OPS = {1: "create", 15: "create2", 19: "createContainer", 21: "createTTL", 2: "delete", 20: "deleteContainer"}
OPS |= {5: "setData", 13: "check", 14: "multi", -1: "error", -10: "createSession", -11: "closeSession"}


def number(stream, size):
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return int.from_bytes(data, "big", signed=True)


def string(stream):
    size = number(stream, 4)
    return b"" if size < 0 else stream.read(size)


def operation(kind, stream):
    """(name, path, data, version or code)"""
    name = OPS.get(kind, str(kind))
    if name.startswith("create") and name != "createSession":
        return name, string(stream).decode(), string(stream), 0
    if name.startswith("delete"):
        return name, string(stream).decode(), b"", None
    if name == "setData":
        return name, string(stream).decode(), string(stream), number(stream, 4)
    if name == "check":
        return name, string(stream).decode(), b"", number(stream, 4)
    if name == "error":
        return name, "", b"", number(stream, 4)
    return name, "", b"", None


def transactions(path):
    stream = BytesIO(path.read_bytes())
    assert stream.read(4) == b"ZKLG", path
    stream.read(12)
    while True:
        try:
            number(stream, 8)
            size = number(stream, 4)
        except EOFError:
            return
        body = stream.read(size)
        if size <= 0 or len(body) < size or stream.read(1) != b"B":
            return
        record = BytesIO(body)
        session, cxid, zxid, _, kind = (number(record, n) for n in (8, 4, 8, 8, 4))
        if kind == 14:
            ops = []
            for _ in range(number(record, 4)):
                part = number(record, 4)
                ops.append(operation(part, BytesIO(string(record))))
        else:
            ops = [operation(kind, record)]
        yield zxid, session, cxid, OPS.get(kind, str(kind)), ops


def described(op):
    name, path, _, value = op
    return " ".join(
        filter(None, (name, path, "" if value is None else f"{'code' if name == 'error' else 'v'}={value}"))
    )


def fencing(all_txns):
    """Says who was elected when, and what sessions of older epochs got for their multis afterwards."""
    elected, newest = {}, 0
    for zxid, session, _, kind, ops in all_txns:
        for name, path, data, _ in ops:
            if path == "/controller_epoch" and name != "check" and int(data) > 0:
                newest = int(data)
                elected[session] = newest
                print(f"{zxid:#x} {session:#x} elected epoch {newest}")
        epoch = elected.get(session, newest)
        if epoch >= newest:
            continue
        if kind == "multi" and ops[0][0] == "error" and ops[0][3] == -103:
            print(f"{zxid:#x} {session:#x} refused -103 epoch {epoch} after {newest}, {len(ops)} operations")
        for name, path, data, _ in ops:
            written = json.loads(data).get("controller_epoch") if path.endswith("/state") and data else None
            if written is not None or (re.fullmatch(r"/brokers/topics/[^/]+", path) and name != "check"):
                print(f"{zxid:#x} {session:#x} ACCEPTED epoch {epoch} after {newest}: {name} {path}")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--fencing"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    files = sorted(Path(arguments[0]).rglob("log.*"), key=lambda p: int(p.name[4:], 16))
    found = [txn for path in files for txn in transactions(path)]
    if "--fencing" in sys.argv:
        fencing(found)
        return
    for zxid, session, cxid, kind, ops in found:
        print(f"{zxid:#x} {session:#x} {cxid} {kind}: {'; '.join(map(described, ops))}")


if __name__ == "__main__":
    main()
