"""The verdict of a run in four parts (docs/formats.md), from its directory alone: usable again, also on a killed run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.checking import LIVENESS, SAFETY
from kcontroller_chaos.history.read import History, read_history, zk_import
from kcontroller_chaos.history.rundir import RunDirectory, write_json
from kcontroller_chaos.history.transactions import ZOOKEEPER
from kcontroller_chaos.invariants import Invariant, check_all
from kcontroller_chaos.judge.decisive import began
from kcontroller_chaos.judge.notes import notes
from kcontroller_chaos.judge.recovery import SKIPPED, elections, faults, recovery
from kcontroller_chaos.judge.timeline import timeline
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.model.history import HostOverload, RunEnded, RunFailed

HELD, VIOLATED, UNKNOWN, ENVIRONMENT = "held", "violated", "unknown", "environment"
Entry = dict[str, Any]


def judge(run: Path, invariants: Sequence[Invariant] | None = None) -> Entry:
    """Imports ZooKeeper's log, checks every invariant, writes verdicts.json and timeline.json; returns the verdicts.

    `invariants` None: ours, the installed ones, and those of the plugins that the run had.

    Raises UsageError: no run directory, or a broken line in its history.
    """
    directory = RunDirectory.open(run)
    log_error = None
    try:
        if not _wrote_history(directory):
            zk_import(run, directory.start)
    except (KControllerError, OSError, KeyError, ValueError) as unreadable:
        log_error = str(unreadable)
    history = read_history(directory.history, log_error=log_error)
    run_json = directory.read_run()
    if invariants is None:
        invariants = load_catalogue(run_json.get("plugins", ())).invariants
    value = verdicts(history, _planned(directory.schedule), invariants)
    value["expected"] = known_reasons(value, run_json)
    value["lapsed"] = lapsed_reasons(value, run_json)
    write_json(run / "verdicts.json", value)
    write_json(run / "timeline.json", timeline(history, value))
    return value


def _wrote_history(directory: RunDirectory) -> bool:
    """Whether ZooKeeper, a simulated one, has written its part of the history itself, and there is no log to be imported."""
    return (directory.history / f"{ZOOKEEPER}.jsonl").exists() and not any(directory.zookeeper.glob("log.*"))


def known_reasons(value: Entry, run: Entry) -> list[str]:
    """Why each violated invariant is a known failure (`[[expected]]`) on the day of the run; empty if one is not."""
    today = str(run["started"])[:10]
    found = [_named_in(run, value, name, lambda until: today <= until) for name in _violated(value)]
    return [text for texts in found for text in texts[:1]] if all(found) else []


def lapsed_reasons(value: Entry, run: Entry) -> list[str]:
    """The entries that would make a violation a known failure if their date had not passed."""
    today = str(run["started"])[:10]
    found = (_named_in(run, value, name, lambda until: today > until) for name in _violated(value))
    return [text for texts in found for text in texts]


def _violated(value: Entry) -> list[str]:
    if value["overall"] != VIOLATED:
        return []
    return [entry["name"] for entry in value["invariants"] if entry["verdict"] == VIOLATED]


def _named_in(run: Entry, value: Entry, invariant: str, in_time: Callable[[str], bool]) -> list[str]:
    """The entries for this invariant; a fault of every kind that an entry names must have been applied."""
    applied = {fault["kind"] for fault in value["faults"] if fault["applied_us"] is not None}
    return [
        f"{invariant}: {known['reason']}, until {known['until']}"
        for known in run.get("expected", ())
        if known["invariant"] == invariant and in_time(known["until"]) and applied.issuperset(known["faults"])
    ]


def _planned(path: Path) -> list[str]:
    if not path.exists():
        return []
    actions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [action["id"] for action in actions if action["what"] == "fault"]


def verdicts(history: History, planned: Sequence[str] = (), invariants: Sequence[Invariant] | None = None) -> Entry:
    """The content of verdicts.json; `planned` are the faults' ids by the schedule; `invariants` None: ours."""
    injected, elected = faults(history), elections(history)
    found = [{**entry, "began_us": began(history, entry)} for entry in check_all(history, invariants)]
    parts = {
        "injected": _part(injected, planned, "applied_us", ("asked", "not-applied")),
        "observed": _part(injected, planned, "observed_us", ("not-observed",)),
        "invariants": _invariants(found),
        "healed": _part(injected, planned, "healed_us", ("not-healed",)),
    }
    if overloaded := history.of(HostOverload):
        sessions = ", ".join(str(event["session"]) for event in overloaded)
        why = f"the host was overloaded: ZooKeeper gave up {sessions} without a fault on it"
        parts["observed"] = {
            "verdict": ENVIRONMENT,
            "detail": "; ".join(filter(None, (parts["observed"]["detail"], why))),
        }
    failed = [str(event["error"]) for event in history.of(RunFailed)]
    if failed:
        parts["injected"] = {"verdict": ENVIRONMENT, "detail": f"the cluster failed: {failed[-1]}"}
    ended = bool(history.of(RunEnded) or failed) or history.tree is not None
    return {
        "schema": 1,
        "overall": overall(parts, found, ended=ended),
        "parts": parts,
        "faults": [_fault(fault) for fault in injected],
        "invariants": found,
        "elections": elected,
        "recovery": recovery(history, injected, elected, converged=ended and _converged(found)),
        "overloaded": [str(event["session"]) for event in overloaded],
        "cut": list(history.cut),
        "notes": notes(history),
    }


def _fault(fault: Entry) -> Entry:
    """Its entry: what failed of it is one text."""
    return {**{key: value for key, value in fault.items() if key != "failed"}, "why": "; ".join(fault["failed"])}


def _converged(invariants: Sequence[Entry]) -> bool:
    return all(entry["verdict"] == HELD for entry in invariants if entry["kind"] == LIVENESS)


def overall(parts: dict[str, Entry], invariants: Sequence[Entry], *, ended: bool) -> str:
    """A safety violation stands whatever else failed; a run that did not end is unknown otherwise."""
    violated = [entry for entry in invariants if entry["verdict"] == VIOLATED]
    if any(entry["kind"] == SAFETY and entry["witness"] for entry in violated):
        return VIOLATED
    if not ended:
        return UNKNOWN
    if any(parts[name]["verdict"] != HELD for name in ("injected", "observed", "healed")):
        return ENVIRONMENT
    return str(parts["invariants"]["verdict"])


def _part(injected: Sequence[Entry], planned: Sequence[str], key: str, failing: tuple[str, ...]) -> Entry:
    missing = [fault["id"] for fault in injected if fault[key] is None and fault["status"] != SKIPPED]
    missing += [name for name in planned if name not in [fault["id"] for fault in injected]]
    kinds = {fault["id"]: f"{fault['kind']}{':' + fault['mode'] if fault['mode'] else ''}" for fault in injected}
    why = [text for fault in injected for text in fault["failed"] if text.startswith(failing)]
    if not missing and not why:
        return {"verdict": HELD, "detail": ""}
    names = ", ".join(f"{name} ({kinds.get(name, 'never asked for')})" for name in dict.fromkeys(missing))
    return {"verdict": ENVIRONMENT, "detail": "; ".join(filter(None, (names, *why)))}


def _invariants(entries: Sequence[Entry]) -> Entry:
    for verdict in (VIOLATED, UNKNOWN):
        named = [f"{entry['name']}: {entry['seen']}" for entry in entries if entry["verdict"] == verdict]
        if named:
            return {"verdict": verdict, "detail": "; ".join(named)}
    return {"verdict": HELD, "detail": ""}
