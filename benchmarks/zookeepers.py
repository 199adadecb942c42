"""How long a ZooKeeper takes until a client has its session, and what that costs: ours beside what others use in tests.

    python benchmarks/zookeepers.py [--rounds 5] [--image IMAGE] [--json]

embedded: the JVM that the fixture `zookeeper` starts. kazoo: kazoo's own harness (kazoo.testing), on the same jars. Curator:
TestingServer and TestingCluster, in a JVM that runs already, as a test's does; needs Maven and a JDK. container: IMAGE,
which is there already. Each with one server and with three; each start is in a process of its own. Seconds from the call
until a session is granted, and CPU seconds of all processes that were started for it until then; medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, cast

import docker
import psutil
from kazoo.client import KazooClient

from pytest_kcontroller.cluster.java import zookeeper_classpath
from pytest_kcontroller.cluster.zookeeper.ensemble import Ensemble

HERE = Path(__file__).parent
MARK = "KC_BENCHMARK_START"
LIMIT_S = 120.0


def now_s() -> float:
    return time.perf_counter()  # noqa: TID251 - what is measured is real time


def cpu_s() -> float:
    """Of all processes that carry this start's mark: it is in their environment."""
    total = 0.0
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == os.environ[MARK]:
                times = process.cpu_times()
                total += times.user + times.system
        except psutil.Error:
            continue
    return total


async def ours(servers: int, image: str | None) -> tuple[float, float]:
    client = docker.from_env() if image else None
    before = {found.id for found in client.containers.list()} if client else set()
    with tempfile.TemporaryDirectory() as place:
        began = now_s()
        ensemble = await Ensemble.start(servers, image, Path(place, "zookeeper"), logs=Path(place))
        session(ensemble.connect_string)
        taken = now_s() - began
        used = cpu_s()
        if client:
            for found in client.containers.list():
                if found.id not in before:
                    used += cast(Any, found.stats(stream=False))["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
        await ensemble.stop()
    return taken, used


def session(connect_string: str) -> None:
    client = KazooClient(connect_string)
    client.start(LIMIT_S)
    client.stop()


def kazoo(servers: int) -> tuple[float, float]:
    os.environ |= {
        "ZOOKEEPER_CLASSPATH": zookeeper_classpath(),
        "ZOOKEEPER_VERSION": "3.9.0",
        "ZOOKEEPER_CLUSTER_SIZE": str(servers),
    }
    from kazoo.testing import KazooTestHarness  # reads them when it is imported

    harness = KazooTestHarness()
    began = now_s()
    harness.setup_zookeeper()
    taken = now_s() - began
    used = cpu_s()
    harness.teardown_zookeeper()
    return taken, used


def curator(servers: int, classes: Path) -> tuple[float, float]:
    command = ["java", "-cp", f"{classes}:{classes}/*", "Start", str(servers)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as java:
        assert java.stdin and java.stdout
        taken = float(java.stdout.readline())
        used = cpu_s()
        java.stdin.close()
    return taken, used


def build_curator(to: Path) -> None:
    shutil.copytree(HERE / "curator", to, dirs_exist_ok=True)
    copy = "mvn --batch-mode --quiet dependency:copy-dependencies -DoutputDirectory=."
    for command in (copy.split(), ["javac", "-cp", "*", "Start.java"]):
        subprocess.run(command, cwd=to, check=True)


def one(kind: str, servers: int, image: str, classes: Path) -> tuple[float, float]:
    match kind:
        case "kazoo":
            return kazoo(servers)
        case "Curator":
            return curator(servers, classes)
        case "container":
            return asyncio.run(ours(servers, image))
        case _:
            return asyncio.run(ours(servers, None))


def main() -> None:
    parser = argparse.ArgumentParser(description="how long a ZooKeeper takes until a client has its session")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--image", default="", help="of ZooKeeper; none: no containers")
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        kind, servers, classes = args.one
        print(json.dumps(one(kind, int(servers), args.image, Path(classes))))
        return
    kinds = ["embedded", "kazoo"]
    with tempfile.TemporaryDirectory() as classes:
        if shutil.which("mvn") and shutil.which("javac"):
            build_curator(Path(classes))
            kinds.append("Curator")
        if args.image:
            kinds.append("container")
        taken: dict[tuple[str, int], list[tuple[float, float]]] = {(k, n): [] for n in (1, 3) for k in kinds}
        for _ in range(args.rounds):
            for (kind, servers), found in taken.items():
                command = [sys.executable, __file__, "--image", args.image, "--one", kind, str(servers), classes]
                environment = {**os.environ, MARK: uuid.uuid4().hex}
                with tempfile.TemporaryDirectory() as place:  # kazoo's harness writes where it stands
                    ran = subprocess.run(
                        command, cwd=place, env=environment, capture_output=True, text=True, timeout=LIMIT_S
                    )
                if ran.returncode:
                    sys.exit(f"{kind}, {servers} servers:\n{ran.stderr}")
                found.append(tuple(json.loads(ran.stdout.splitlines()[-1])))
    rows = [
        {
            "kind": kind,
            "servers": servers,
            "ready_s": statistics.median(s for s, _ in found),
            "cpu_s": statistics.median(c for _, c in found),
        }
        for (kind, servers), found in taken.items()
    ]
    if args.json:
        print(json.dumps({"load": os.getloadavg()[0], "rows": rows}))
        return
    print(f"{args.rounds} rounds, load {os.getloadavg()[0]:.1f}\n\n{'':<12}{'servers':>8}{'ready s':>9}{'CPU s':>8}")
    for row in rows:
        print(f"{row['kind']:<12}{row['servers']:>8}{row['ready_s']:>9.2f}{row['cpu_s']:>8.2f}")


if __name__ == "__main__":
    main()
