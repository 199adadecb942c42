"""How long a real cluster takes to be ready, and what that costs.

    python benchmarks/start.py [--nodes 3] [--rounds 5] [--json]

Cold: the first cluster of a process, which starts a fork server, a JVM, proxies and nodes. Alone: the same, but each
program starts by itself (KCONTROLLER_FORKS=0). Next: another cluster of that process that takes nothing over. Warm: one that
takes over ZooKeeper and proxies from the one before. Each until all nodes are registered and the cluster has converged; CPU
seconds are those of this process and of all that it has started until then. Medians; each round is a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from kcontroller_chaos.backends.process import new_run
from pytest_kcontroller.cluster.children.processes import leftovers, session_id
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.ground import Grounds

KINDS = ("alone", "cold", "next", "warm")
LIMIT_S = 60.0


def cpu_s() -> float:
    """Of this process, and of those that run now and are ours."""
    total = sum(os.times()[:4])
    for process in (psutil.Process(left.pid) for left in leftovers() if left.session == session_id()):
        times = process.cpu_times()
        total += times.user + times.system
    return total


async def one(directory: Path, nodes: int, grounds: Grounds | None) -> tuple[float, float]:
    run = new_run(ClusterSettings(nodes=nodes), directory, grounds)
    loop = asyncio.get_running_loop()
    began_s, began_cpu_s = loop.time(), cpu_s()
    await run.open()
    await run.cluster.wait_until_converged(timeout_s=LIMIT_S)
    taken = loop.time() - began_s, cpu_s() - began_cpu_s
    await run.stop()
    run.close()
    return taken


async def rounds(nodes: int) -> dict[str, tuple[float, float]]:
    """Of a process that has done nothing yet."""
    with tempfile.TemporaryDirectory() as place:
        if os.environ.get("KCONTROLLER_FORKS") == "0":
            return {"alone": await one(Path(place, "alone"), nodes, None)}
        grounds = Grounds()
        found = {"cold": await one(Path(place, "cold"), nodes, None)}
        found["next"] = await one(Path(place, "next"), nodes, grounds)
        found["warm"] = await one(Path(place, "warm"), nodes, grounds)
        await grounds.close()
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description="how long a real cluster takes to be ready")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(asyncio.run(rounds(args.nodes))))
        return
    taken: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(args.rounds):
        for forks in ("0", "1"):
            command = [sys.executable, __file__, "--one", "--nodes", str(args.nodes)]
            environment = {**os.environ, "KCONTROLLER_FORKS": forks}
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            for kind, found in json.loads(ran.stdout).items():
                taken[kind].append(found)
    rows = [
        {
            "kind": kind,
            "ready_s": statistics.median(s for s, _ in found),
            "cpu_s": statistics.median(c for _, c in found),
        }
        for kind, found in taken.items()
    ]
    if args.json:
        print(json.dumps({"nodes": args.nodes, "load": os.getloadavg()[0], "rows": rows}))
        return
    print(
        f"{args.nodes} nodes, {args.rounds} rounds, load {os.getloadavg()[0]:.1f}\n\n{'':<8}{'ready s':>8}{'CPU s':>8}"
    )
    for row in rows:
        print(f"{row['kind']:<8}{row['ready_s']:>8.2f}{row['cpu_s']:>8.2f}")


if __name__ == "__main__":
    main()
