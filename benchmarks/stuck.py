"""How long a cluster takes to recover with a leader selector that gives no answer, beside the stock selectors.

    python benchmarks/stuck.py [--rounds 5] [--session-ms 6000] [--limit 1.0] [--json]

Campaigns on real nodes and a real ZooKeeper: the broker that is the controller is killed, and the next one elects leaders of
30 partitions. `stock`: with the stock selectors. The others ask a plugin that loops for ever, sleeps in C, raises, answers
garbage; `later` loops only for the campaign's topic, not when it is tried at the start of a node. Recovery is from the
moment at which the session is gone until all have heard of their new leaders, as `kcontroller campaign run` says it; `bad`
counts runs in which ZooKeeper's log has a leader that was not in the ISR. Medians; a round is all kinds one after the
other, with one seed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = {
    "stock": "",
    "loops": "while True: pass",
    "sleeps": "time.sleep(9)",
    "later": "while partition.topic == 't': pass",
    "raises": "raise ValueError('no idea')",
    "garbage": "return b'garbage'",
}
PLUGIN = """\
import time
from pytest_kcontroller.hookspecs import hookimpl

class Mine:
    name = "mine"

    def select(self, partition, reason):
        {body}

@hookimpl
def kcontroller_leader_selectors():
    return [Mine]
"""
CAMPAIGN = """\
[campaign]
name = "{kind}"
duration_s = {duration_s}

[cluster]
nodes = 3
session_timeout_ms = {session_ms}
plugin_limit_s = {limit_s}
{selectors}

[[topics]]
name = "t"
partitions = 30
replication_factor = 3

[[faults]]
kind = "kill"
target = "controller"
at_s = 1
"""
MINE = 'selectors = { offline = "mine", preferred = "mine", controlled_shutdown = "mine" }'


def one(directory: Path, kind: str, seed: int, session_ms: int, limit_s: float) -> tuple[float, bool]:
    """Seconds until the cluster has recovered, and whether a leader outside the ISR was written."""
    body = KINDS[kind]
    plugin = f"kct_{kind}"
    (directory / f"{plugin}.py").write_text(PLUGIN.format(body=body or "pass"))
    campaign = directory / f"{kind}.toml"
    selectors = MINE if body else ""
    text = CAMPAIGN.format(
        kind=kind, duration_s=3 * session_ms / 1000, session_ms=session_ms, limit_s=limit_s, selectors=selectors
    )
    campaign.write_text(text)
    command = [Path(sys.executable).with_name("kcontroller"), "campaign", "run", campaign, "--backend", "process"]
    command += ["--seeds", str(seed), "--out", directory / "runs", *(["--plugin", plugin] if body else [])]
    ran = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(directory)}, capture_output=True, text=True, check=False
    )
    if ran.returncode not in {0, 1}:  # 1: the invariant selectors-answer is violated
        sys.exit(f"{kind}: status {ran.returncode}\n{ran.stdout}\n{ran.stderr}")
    (path,) = directory.glob(f"runs/{kind}/*/verdicts.json")
    verdicts = json.loads(path.read_text())
    shutil.rmtree(directory / "runs")
    verdict = {entry["name"]: entry["verdict"] for entry in verdicts["invariants"]}
    (recovery,) = verdicts["recovery"]
    return recovery["recovery_us"] / 1e6, verdict["leader-in-isr"] != "held"


def main() -> None:
    parser = argparse.ArgumentParser(
        description="how long a cluster takes to recover with a selector that gives no answer"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--session-ms", type=int, default=6000)
    parser.add_argument("--limit", type=float, default=1.0, help="plugin_limit_s, the time that a plugin has")
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    args = parser.parse_args()
    taken: dict[str, list[tuple[float, bool]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as place:
        for seed in range(1, args.rounds + 1):
            for kind, found in taken.items():
                found.append(one(Path(place), kind, seed, args.session_ms, args.limit))
    stock_s = statistics.median(s for s, _ in taken["stock"])
    rows = []
    for kind, found in taken.items():
        seconds = [s for s, _ in found]
        median = statistics.median(seconds)
        rows.append(
            {
                "kind": kind,
                "recovery_s": median,
                "longest_s": max(seconds),
                "of_stock": median / stock_s,
                "bad": sum(bad for _, bad in found),
            }
        )
    about = {
        "rounds": args.rounds,
        "session_ms": args.session_ms,
        "plugin_limit_s": args.limit,
        "load": os.getloadavg()[0],
    }
    if args.json:
        print(json.dumps({**about, "rows": rows}))
        return
    print(", ".join(f"{name} {value:g}" for name, value in about.items()))
    print(f"\n{'':<8}{'recovery s':>11}{'longest':>9}{'of stock':>10}{'bad':>5}")
    for row in rows:
        print(
            f"{row['kind']:<8}{row['recovery_s']:>11.2f}{row['longest_s']:>9.2f}{row['of_stock']:>10.2f}{row['bad']:>5}"
        )


if __name__ == "__main__":
    main()
