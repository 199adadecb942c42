"""`kcontroller up`: a cluster to play with, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import INTERRUPTED, explain
from pytest_kcontroller.cli._choices import named_path
from pytest_kcontroller.cluster.limits import LONGEST_SESSION_MS, MOST_NODES
from pytest_kcontroller.cluster.zookeeper import EMBEDDED, PLACES
from pytest_kcontroller.model.cluster import MOST_LOG_DIRS

if TYPE_CHECKING:
    from pytest_kcontroller.cli._watch import Topic

NAME = "up"
HELP = "start a cluster to play with; Ctrl-C stops it"

_TOPIC = re.compile(r"([^:]*)(?::([0-9]{1,9})(?::([0-9]{1,9}))?)?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, default=3, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument(
        "--log-dirs", type=int, default=1, metavar="N", help="log directories of each node (default: %(default)s)"
    )
    parser.add_argument(
        "--session-timeout-ms",
        type=int,
        default=3000,
        metavar="MS",
        help="ZooKeeper session time-out that the nodes ask for (default: %(default)s)",
    )
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS[:REPLICAS]]",
        help="a topic to create; both numbers are 1 if left out; may be repeated",
    )
    parser.add_argument(
        "--zookeeper",
        choices=PLACES,
        default=EMBEDDED,
        help="where ZooKeeper runs (default: %(default)s)",
    )
    parser.add_argument("--zookeeper-image", metavar="IMAGE", help="of the container (default: zookeeper:3.9)")
    parser.add_argument(
        "--keep",
        type=named_path,
        metavar="DIR",
        help="histories and logs go there and stay (default: they are removed)",
    )
    parser.add_argument("--json", action="store_true", help="a JSON object per line and event instead of text")
    explain(
        parser,
        examples=[
            "kcontroller up",
            "kcontroller up --nodes 5 --topic orders:6:3 --topic audit --session-timeout-ms 1000",
        ],
        statuses="130 after Ctrl-C or SIGTERM, 2 a bad option, 6 it did not start, or ZooKeeper ended",
    )


def run(args: argparse.Namespace) -> int:
    import asyncio

    from pytest_kcontroller.cli._json import stdout
    from pytest_kcontroller.cli._streams import leave
    from pytest_kcontroller.cli._watch import sayer, until_asked
    from pytest_kcontroller.cluster.observed import ClusterSettings
    from pytest_kcontroller.cluster.zookeeper.source import check_zookeeper, image_of
    from pytest_kcontroller.errors import StartError, UsageError

    if not 1 <= args.nodes <= MOST_NODES:
        raise UsageError(f"1 to {MOST_NODES} nodes are possible, not {args.nodes}", where="--nodes")
    if not 1 <= args.log_dirs <= MOST_LOG_DIRS:
        raise UsageError(f"1 to {MOST_LOG_DIRS} are possible, not {args.log_dirs}", where="--log-dirs")
    if not 1 <= args.session_timeout_ms <= LONGEST_SESSION_MS:
        what = f"1 to {LONGEST_SESSION_MS} ms are possible, not {args.session_timeout_ms}"
        raise UsageError(what, where="--session-timeout-ms", hint="1000, for example")
    topics = _topics(args.topic, args.nodes)
    image = image_of(args.zookeeper, args.zookeeper_image, option="--zookeeper-image")
    check_zookeeper(image)
    settings = ClusterSettings(
        nodes=args.nodes,
        log_dirs=args.log_dirs,
        session_timeout_ms=args.session_timeout_ms,
        zookeeper_image=image,
    )
    say = sayer(as_json=args.json)
    with _directory(args.keep) as directory:
        try:
            asyncio.run(until_asked(settings, directory, topics, say=say))
        except asyncio.CancelledError:
            pass
        except StartError:
            if args.keep is None:
                print("kcontroller: what was written is removed; with --keep DIR it stays", file=sys.stderr)
            raise
    left = "nothing is left" if args.keep is None else f"histories and logs are in {args.keep}"
    try:
        say(f"stopped; {left}", "stopped", kept=None if args.keep is None else str(args.keep))
    except OSError:  # who read it has left: that it was asked to stop is what the status says all the same
        leave(stdout())
    return INTERRUPTED


def _topics(given: Sequence[str], nodes: int) -> list[Topic]:
    from pytest_kcontroller.cli._watch import Topic
    from pytest_kcontroller.cluster.topics import MOST_PARTITIONS
    from pytest_kcontroller.errors import UsageError
    from pytest_kcontroller.model.topic_names import RULE, why_no_topic_name

    topics: list[Topic] = []
    for text in given:
        if (found := _TOPIC.fullmatch(text)) is None:
            raise UsageError(f"{text!r} is not NAME[:PARTITIONS[:REPLICAS]]", where="--topic", hint="orders:6:3")
        if (why := why_no_topic_name(found[1])) is not None:
            raise UsageError(why, where="--topic", hint=RULE)
        topic = Topic(found[1], int(found[2] or 1), int(found[3] or 1))
        if topic.partitions < 1 or topic.replicas < 1:
            raise UsageError(f"{text!r} has none of something", where="--topic", hint="numbers are 1 or more")
        if topic.partitions > MOST_PARTITIONS:
            what = f"{topic.partitions} partitions of {topic.name} are too many"
            raise UsageError(what, where="--topic", hint=f"1 to {MOST_PARTITIONS} are possible")
        if topic.replicas > nodes:
            what = f"{topic.replicas} replicas of {topic.name} do not fit on {nodes} nodes"
            raise UsageError(what, where="--topic", hint="start more nodes (--nodes), or ask for fewer replicas")
        if topic.name in [other.name for other in topics]:
            raise UsageError(f"two topics are called {topic.name}", where="--topic")
        topics.append(topic)
    return topics


@contextlib.contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    from pytest_kcontroller.cluster.children.directories import session_directory
    from pytest_kcontroller.errors import UsageError

    if keep is None:
        with session_directory() as directory:
            yield directory
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
        used = any(keep.iterdir())
    except OSError as refused:
        raise UsageError(f"{keep}: {refused.strerror}", where="--keep") from None
    if used:
        raise UsageError(f"{keep} is not empty", where="--keep", hint="name a new directory")
    yield keep
