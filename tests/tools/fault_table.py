"""Plays every fault of the catalogue on a backend, one after the other on one cluster, and keeps what was seen of each.

    python -m tests.tools.fault_table [sim process ...] [--write]

With `--write` the times go to tests/data/faults_seen.json, of which `make generated` makes the table in docs/faults.md. What
a backend cannot do is known beforehand, by what the fault says that it needs; nothing else may be missing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kcontroller_chaos import backends
from kcontroller_chaos.backends import Backend
from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.play.runner import Options, RunResult, run_once
from pytest_kcontroller.cluster.capabilities import ZOOKEEPERS

SEEN = Path(__file__).parents[1] / "data" / "faults_seen.json"
FAULTS = {
    one.kind if one.mode is None else f"{one.kind}:{one.mode}": one
    for kind in load_catalogue(installed=False).kinds.values()
    for one in kind.classes
}
"""KIND or KIND:MODE -> its class, of all."""
GIVEN: Mapping[str, str] = {
    "bounce": "",
    "drop_reply": 'request = "UpdateMetadata"',  # which every broker gets
    "hold_request": 'request = "UpdateMetadata"\nduration_s = 1',
}
"""KIND[:MODE] -> lines of its table, instead of `duration_s = 1`."""
SESSION_MS = {"sim": 1000, "process": 6000, "docker": 6000, "kafka": 15000}
"""How long a session lives: longer where a node takes long to start."""
SLOT_S = 4
"""So long for each that lies in wait: a topic is made for it meanwhile."""

HEAD = """\
[campaign]
name = "every-fault"
duration_s = 900
overtime_s = 300

[cluster]
nodes = 5
session_timeout_ms = {session_timeout_ms}
zookeeper = {zookeepers}

[[topics]]
name = "orders"
partitions = 3
replication_factor = 3
"""
TOPIC = """
[[workload]]
kind = "admin"
action = "create_topic"
topic = "late-{number}"
at_s = {at_s}
"""
FAULT = """
[[faults]]
id = "{id}"
kind = "{kind}"
{lines}
"""


def possible(backend: Backend) -> list[str]:
    return [name for name, fault in FAULTS.items() if not set(fault.needs) & set(backend.lacks)]


def holes(backend: Backend) -> dict[str, str]:
    """KIND[:MODE] -> what it needs and the backend has not."""
    lacks = {name: [need.name for need in fault.needs if need in backend.lacks] for name, fault in FAULTS.items()}
    return {name: ", ".join(needs) for name, needs in lacks.items() if needs}


def groups(backend: Backend) -> list[list[str]]:
    """What is played on one cluster each: those on ZooKeeper's own servers need several of these."""
    found: dict[bool, list[str]] = {}
    for name in possible(backend):
        found.setdefault(ZOOKEEPERS in FAULTS[name].needs, []).append(name)
    return list(found.values())


def campaign(directory: Path, backend: Backend, names: Sequence[str], *, at_once: bool = False) -> Campaign:
    """Those that lie in wait first, each in its slot; then one after the other. `at_once`: all at the same time."""
    zookeepers = 3 if any(ZOOKEEPERS in FAULTS[name].needs for name in names) else 1
    session_timeout_ms = SESSION_MS[backend.name]
    text, before, number = HEAD.format(session_timeout_ms=session_timeout_ms, zookeepers=zookeepers), "", 0
    for name in sorted(names, key=lambda name: not FAULTS[name].may_miss):
        fault = FAULTS[name]
        lines = [] if ZOOKEEPERS in fault.needs else ['target = "controller"']
        lines += [] if fault.mode is None else [f'mode = "{fault.mode}"']
        lines.append(GIVEN.get(name, GIVEN.get(fault.kind, "duration_s = 1")))
        if at_once:
            lines.append("at_s = 1")
        elif fault.may_miss:
            begin_s, number = 1 + SLOT_S * number, number + 1
            lines.append(f"at_s = {begin_s}")
            text += TOPIC.format(number=number, at_s=begin_s + 0.7)
        else:
            lines.append(f'when = "healed:{before}"\nafter_ms = 200' if before else "at_s = 1")
        text += FAULT.format(id=id_of(fault), kind=fault.kind, lines="\n".join(lines))
        before = id_of(fault)
    file = directory / f"every-fault-{backend.name}.toml"
    file.write_text(text, encoding="utf-8")
    return load_campaign(file)


def id_of(fault: type[Fault]) -> str:
    return f"{fault.kind}-{fault.mode or 'it'}".replace("_", "-")


def play(directory: Path, backend: Backend, *, noop: bool = False, image: str | None = None) -> list[RunResult]:
    """`noop`: each without its injection; `image`: ZooKeeper's, where it is in a container."""
    results = []
    for names in groups(backend):
        made = campaign(directory, backend, names, at_once=noop)
        options = Options(out=directory / "runs", backend=backend.name, noop_fault=",".join(names) if noop else None)
        options = replace(options, zookeeper_image=image)
        results.append(asyncio.run(run_once(made, 1, options)))
    return results


def seen(results: Sequence[RunResult]) -> dict[str, float]:
    """KIND[:MODE] -> seconds from when it was asked for until it was observed, of those that were healed then."""
    found: dict[str, float] = {}
    for entry in (entry for result in results for entry in result.details.get("faults", ())):
        if entry["status"] == "healed" and entry["observed_us"] is not None:
            name = entry["kind"] if entry["mode"] is None else f"{entry['kind']}:{entry['mode']}"
            found[name] = round((entry["observed_us"] - entry["asked_us"]) / 1e6, 3)
    return found


def table() -> str:
    """Of the newest run of each backend, in Markdown."""
    times: dict[str, dict[str, float]] = json.loads(SEEN.read_text(encoding="utf-8"))
    names = [backend for backend in backends.BACKENDS if backend.name in times]
    lines = ["| fault | " + " | ".join(f"`{backend.name}`" for backend in names) + " |", "|---|" + "---|" * len(names)]
    for name in FAULTS:
        cells = [_cell(times[backend.name].get(name), holes(backend).get(name)) for backend in names]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(seconds: float | None, hole: str | None) -> str:
    if seconds is not None:
        return f"{seconds:.2f} s"
    return f"no {hole}" if hole is not None else "**not seen**"


def main() -> int:
    parser = argparse.ArgumentParser(description="every fault on one cluster, and how soon it was observed")
    parser.add_argument("backends", nargs="*", default=["sim", "process"], metavar="BACKEND")
    parser.add_argument("--zookeeper-image", help="of the containers that ZooKeeper runs in")
    parser.add_argument("--write", action="store_true", help=f"keep the times in {SEEN.name}")
    args = parser.parse_args()
    status, times = 0, json.loads(SEEN.read_text(encoding="utf-8")) if SEEN.exists() else {}
    for backend in map(backends.backend, args.backends):
        with tempfile.TemporaryDirectory() as directory:
            results = play(Path(directory), backend, image=args.zookeeper_image)
        times[backend.name] = found = seen(results)
        print(f"{backend.name}: {len(found)} of {len(possible(backend))} faults seen and healed")
        for result in results:
            parts = result.details.get("parts", {}).values()
            print(
                "\n  ".join(
                    [f"  {result.verdict} {result.error}", *(part["detail"] for part in parts if part["detail"])]
                )
            )
        held = all(result.verdict == "held" for result in results)
        status = status or (0 if held and len(found) == len(possible(backend)) else 1)
    if args.write:
        SEEN.write_text(json.dumps(times, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
