"""`kcontroller node`: one node in the foreground, for scripts and for mixing with Kafka's own brokers."""

from __future__ import annotations

import argparse
import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_kcontroller.cli import explain
from pytest_kcontroller.errors import UsageError

NAME = "node"
HELP = "run one node in the foreground"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--id", type=int, required=True, dest="node_id", help="broker id, 0 or more")
    parser.add_argument(
        "--zookeeper", required=True, metavar="HOST:PORT[/CHROOT]", help="the ensemble; several are joined by commas"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=9092, help="0 takes any free one (default: %(default)s)")
    parser.add_argument(
        "--directory",
        type=Path,
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
        statuses="0 after SIGTERM, 2 a bad option, 130 Ctrl-C",
    )


def run(args: argparse.Namespace) -> int:
    from pytest_kcontroller.node.settings import NodeSettings

    if args.node_id < 0:
        raise UsageError(f"a broker id is 0 or more, not {args.node_id}", where="--id")
    if not 0 <= args.port <= 65535:
        raise UsageError(f"a port is 0 to 65535, not {args.port}", where="--port")
    known = [field.name for field in dataclasses.fields(NodeSettings)]
    values = _settings(args.settings, known)
    values |= {"node_id": args.node_id, "zookeeper": args.zookeeper, "listen": f"{args.host}:{args.port}"}
    plugins = values.get("plugins", ())
    values["plugins"] = (plugins,) if isinstance(plugins, str) else tuple(plugins)
    settings = NodeSettings(**values)
    from pytest_kcontroller.cluster.children.processes import session_directory
    from pytest_kcontroller.node.process import run_node  # kazoo and the codec only when a node really runs

    if args.directory is not None or "directory" in values:
        return run_node(settings if args.directory is None else replace(settings, directory=str(args.directory)))
    with session_directory("kcontroller-node-") as own:
        return run_node(replace(settings, directory=str(own)))


def _settings(pairs: list[str], known: list[str]) -> dict[str, Any]:
    """A key with a dot is Kafka's, unless what is before the dot is a table of ours."""
    values: dict[str, Any] = {}
    tables: dict[str, dict[str, object]] = {"config": {}, "selectors": {}, "links": {}}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{pair!r} is not KEY=VALUE", where="--set")
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
    except ValueError:
        return text
    return value
