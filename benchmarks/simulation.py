"""How fast whole clusters run in simulated time, and where the time goes.

    python benchmarks/simulation.py [FILE] [--seeds 30] [--json]

Plays a campaign's seeds in one process on one core, judged and not kept, as `kcontroller hunt` does; CPU seconds, so that
what else the machine does matters less. Then some of them again under cProfile: the seconds that functions took
themselves, by the part of the program that they are in (a built-in function's are its caller's).
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import platform
import pstats
import time
from collections import Counter
from pathlib import Path

from kcontroller_chaos import backends
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.play.hunting import Hunter
from kcontroller_chaos.play.runner import Options
from pytest_kcontroller.cli._worker import GARBAGE

CAMPAIGNS = Path(__file__).parents[1] / "chaos" / "campaigns"
PROFILED = 5
PARTS = (
    ("codec of requests", ("/pytest_kcontroller/wire/",)),
    ("loops: scheduler, asyncio", ("/runtime/scheduler.py", "/asyncio/", "/runtime/nursery.py", "/contextvars")),
    ("network", ("/sim/network.py", "/sim/link.py")),
    ("ZooKeeper and its clients", ("/sim/zookeeper", "/pytest_kcontroller/zookeeper/")),
    ("controller", ("/pytest_kcontroller/controller/", "/kcontroller_plugins/")),
    ("broker and node", ("/pytest_kcontroller/broker/", "/pytest_kcontroller/node/")),
    ("judging", tuple(f"/kcontroller_chaos/{name}" for name in ("invariants/", "judge/", "checking"))),
    ("history", ("/kcontroller_chaos/history/", "/kcontroller_chaos/play/hunting.py", "/model/history/")),
    ("engine, faults and waits of the harness", ("/kcontroller_chaos/", "/pytest_kcontroller/cluster/", "/sim/")),
)
REST = "all else (json, sorting, enum, ...)"
Function = tuple[str, int, str]


def main() -> None:
    parser = argparse.ArgumentParser(description="virtual time of whole clusters")
    parser.add_argument("file", nargs="?", type=Path, default=CAMPAIGNS / "smoke.toml", metavar="FILE")
    parser.add_argument("--seeds", type=int, default=30, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    args = parser.parse_args()
    campaign = load_campaign(args.file)
    hunter = Hunter(campaign, Options(backend=backends.simulated().name))
    hunter.play(0)  # what is loaded and made once
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    found = {"python": platform.python_version(), "campaign": campaign.name, "nodes": campaign.cluster.nodes}
    found |= speed(hunter, args.seeds)
    found["percent"] = shares(hunter)
    if args.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        if name != "percent":
            print(f"{name:<26}{value:,.1f}" if isinstance(value, float) else f"{name:<26}{value}")
    for part, percent in found["percent"].items():
        print(f"  {part:<42}{percent:5.1f} %")


def speed(hunter: Hunter, seeds: int) -> dict[str, float]:
    began, simulated_s, callbacks = time.process_time(), 0.0, 0
    for seed in range(1, seeds + 1):
        glance = hunter.play(seed)
        simulated_s, callbacks = simulated_s + glance.end_us / 1e6, callbacks + glance.callbacks
    cpu_s = time.process_time() - began
    return {
        "schedules": seeds,
        "schedules_per_s": seeds / cpu_s,
        "virtual_s_per_s": simulated_s / cpu_s,
        "virtual_s_per_schedule": simulated_s / seeds,
        "callbacks_per_schedule": callbacks / seeds,
        "callbacks_per_virtual_s": callbacks / simulated_s,
        "us_per_callback": cpu_s / callbacks * 1e6,
    }


def shares(hunter: Hunter) -> dict[str, float]:
    profile = cProfile.Profile()
    profile.enable()
    for seed in range(1, PROFILED + 1):
        hunter.play(seed)
    profile.disable()
    seconds: Counter[str] = Counter()
    for function, (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if function[0] != "~" or not callers:
            seconds[part(function)] += own
            continue
        for caller, (_, _, own_for_caller, _) in callers.items():
            seconds[part(caller)] += own_for_caller
    whole = sum(seconds.values())
    return {name: 100 * spent / whole for name, spent in seconds.most_common()}


def part(function: Function) -> str:
    return next((name for name, places in PARTS if any(place in function[0] for place in places)), REST)


if __name__ == "__main__":
    main()
