"""`kcontroller node`: one node in the foreground, for scripts and for mixing with Kafka's own brokers."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_kcontroller.cli import explain
from pytest_kcontroller.cli._choices import named_path
from pytest_kcontroller.errors import UsageError

NAME = "node"
HELP = "run one node in the foreground"

MOST_ID = 2**31 - 1
"""Kafka's requests have 32 bits for a broker's id."""
OPTIONS = {"node_id": "--id", "zookeeper": "--zookeeper", "listen": "--host and --port"}
"""Settings that have options of their own, which always say something."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--id", type=int, required=True, dest="node_id", help="broker id, 0 or more")
    parser.add_argument(
        "--zookeeper", required=True, metavar="HOST:PORT[/CHROOT]", help="the ensemble; several are joined by commas"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=9092, help="0 takes any free one (default: %(default)s)")
    parser.add_argument(
        "--directory",
        type=named_path,
        metavar="DIR",
        help="of this node alone, such as its meta.properties; it stays (default: one that is removed at the end)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="another setting of the node (rack, session_timeout_ms, selectors.offline, ...), or one of "
        "Kafka's (docs/kafka-settings.md); VALUE is JSON, else text; may be repeated",
    )
    explain(
        parser,
        examples=[
            "docker run --rm -d -p 127.0.0.1:2181:2181 zookeeper:3.9  # or the address that `kcontroller up` prints",
            "kcontroller node --id 0 --zookeeper 127.0.0.1:2181",
            "kcontroller node --id 1 --zookeeper 127.0.0.1:2181 --port 0 --set controlled.shutdown.max.retries=5",
            "kcontroller node --id 2 --zookeeper 127.0.0.1:2181 --port 0 --directory node-2  # it knows its cluster again",
        ],
        statuses="0 after SIGTERM, 2 a bad option, 6 ZooKeeper does not answer, or the port is taken, 130 Ctrl-C",
    )


def run(args: argparse.Namespace) -> int:
    from pytest_kcontroller.node.settings import NodeSettings

    if not 0 <= args.node_id <= MOST_ID:
        raise UsageError(f"a broker id is 0 to {MOST_ID}, not {args.node_id}", where="--id")
    if not 0 <= args.port <= 65535:
        raise UsageError(f"a port is 0 to 65535, not {args.port}", where="--port")
    known = [field.name for field in dataclasses.fields(NodeSettings)]
    values = _settings(args.settings, known)
    values |= {"node_id": args.node_id, "zookeeper": args.zookeeper, "listen": f"{args.host}:{args.port}"}
    for name in ("plugins", "kafka_compat"):
        if isinstance(named := values.get(name), str | list):
            values[name] = (named,) if isinstance(named, str) else tuple(named)
    settings = NodeSettings(**values)
    from pytest_kcontroller.cluster.children.directories import session_directory
    from pytest_kcontroller.node.process import run_node  # kazoo and the codec only when a node really runs

    _check_listens(settings.listen)
    if args.directory is not None or "directory" in values:
        if args.directory is not None:
            settings = replace(settings, directory=str(args.directory))
        _make_directory(Path(settings.directory))
        return run_node(settings)
    with session_directory() as own:
        return run_node(replace(settings, directory=str(own)))


def _check_listens(listen: str) -> None:
    """That the node will be able to, which it tries only once ZooKeeper has answered it. Raises UsageError and
    EnvironmentFailure."""
    import asyncio

    from pytest_kcontroller.errors import EnvironmentFailure
    from pytest_kcontroller.model.cluster import Address
    from pytest_kcontroller.runtime.ports import Stream
    from pytest_kcontroller.runtime.real import SocketTransport

    address = Address.parse(listen)

    async def serve(stream: Stream) -> None:
        stream.close()

    async def attempt() -> None:
        await (await SocketTransport().listen(address, serve)).close()

    try:
        asyncio.run(attempt())
    except (socket.gaierror, UnicodeError) as unknown:
        what = f"{address.host!r} is no address: {getattr(unknown, 'strerror', None) or unknown}"
        raise UsageError(what, where="--host", hint="an address of this machine, or its name: 127.0.0.1") from None
    except OSError as refused:
        what = f"cannot listen on {address}: {refused.strerror or refused}"
        hint = "an address of this machine, and a port where nobody listens (--port 0: any free one)"
        raise EnvironmentFailure(what, where="--host and --port", hint=hint) from None


def _make_directory(directory: Path) -> None:
    """Raises UsageError: the node could not write there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        why = None if os.access(directory, os.W_OK | os.X_OK) else "it cannot be written to"
    except OSError as refused:
        why = "it is no directory" if isinstance(refused, FileExistsError) else str(refused.strerror)
    except ValueError as odd:  # a NUL in its name
        why = str(odd)
    if why is not None:
        raise UsageError(f"{str(directory)!r}: {why}", where="--directory", hint="name one of this node alone")


def _settings(pairs: list[str], known: list[str]) -> dict[str, Any]:
    """A key with a dot is Kafka's, unless what is before the dot is a table of ours."""
    values: dict[str, Any] = {}
    tables: dict[str, dict[str, object]] = {"config": {}, "selectors": {}, "links": {}}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{pair!r} is not KEY=VALUE", where="--set")
        if option := OPTIONS.get(key):
            raise UsageError(f"{key!r} has an option of its own", where="--set", hint=f"use {option}")
        table, dot, rest = key.partition(".")
        if dot and table in tables:
            tables[table][rest] = _value(text)
        elif dot:
            tables["config"][key] = _value(text)
        elif key in known and key not in tables:
            values[key] = _value(text)
        else:
            raise UsageError(f"there is no setting {key!r}", where="--set", hint=f"there are: {', '.join(known)}")
    return {**values, **tables}


def _value(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
