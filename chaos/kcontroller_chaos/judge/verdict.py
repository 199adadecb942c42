"""The verdict of a run in five parts (docs/formats.md), from its directory alone: usable again, also on a killed run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.invariants import from_facts
from kcontroller_chaos.checking import LIVENESS, NEVER_EXERCISED
from kcontroller_chaos.history.read import History, read_history, zk_import
from kcontroller_chaos.history.rundir import RunDirectory, write_json
from kcontroller_chaos.history.transactions import ZOOKEEPER
from kcontroller_chaos.invariants import Invariant, check_all, for_run
from kcontroller_chaos.judge.decisive import began
from kcontroller_chaos.judge.known import mark_known
from kcontroller_chaos.judge.notes import never_exercised, notes
from kcontroller_chaos.judge.outcome import judged, worst_of
from kcontroller_chaos.judge.recovery import SKIPPED, elections, faults, recovery
from kcontroller_chaos.judge.tested import (
    OK,
    Plan,
    faults_missing,
    invariants_missing,
    operations,
    operations_missing,
)
from kcontroller_chaos.judge.timeline import timeline
from kcontroller_chaos.znode_invariants.owning import OneBeliever
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.model.history import HostOverload, RunEnded, RunFailed, RunStarted

HELD, VIOLATED, UNKNOWN, ENVIRONMENT = "held", "violated", "unknown", "environment"
APPLIED = "applied_us"
Entry = dict[str, Any]


def judge(run: Path, invariants: Sequence[Invariant] | None = None) -> Entry:
    """Imports ZooKeeper's log, checks every invariant, writes verdicts.json and timeline.json; returns the verdicts.

    `invariants` None: ours, the installed ones, those of the plugins that the run had, and of its file.

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
        offered = load_catalogue(run_json.get("plugins", ())).invariants
        invariants = (*offered, *from_facts(run_json.get("invariants", ())))
    invariants = for_run(invariants, program=bool(run_json.get("system")))
    value = verdicts(history, Plan.of(_schedule(directory.schedule), run_json), invariants, run=run_json)
    write_json(run / "verdicts.json", value)
    write_json(run / "timeline.json", timeline(history, value))
    return value


def _wrote_history(directory: RunDirectory) -> bool:
    """Whether ZooKeeper, a simulated one, has written its part of the history itself, and there is no log to be imported."""
    return (directory.history / f"{ZOOKEEPER}.jsonl").exists() and not any(directory.zookeeper.rglob("log.*"))


def _schedule(path: Path) -> list[Entry]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def verdicts(
    history: History,
    plan: Plan | None = None,
    invariants: Sequence[Invariant] | None = None,
    *,
    run: Mapping[str, Any] | None = None,
) -> Entry:
    """The content of verdicts.json.

    `plan` None: nobody knows what was to happen, so nothing of it is missed. `invariants` None: ours. `run` is run.json, for
    what is `[[expected]]`.
    """
    injected, asked = faults(history), operations(history)
    elected, failed = elections(history), [str(event["error"]) for event in history.of(RunFailed)]
    unstarted = bool(failed) and not history.of(RunStarted)
    if unstarted:  # the system did not start: what it did until then says nothing
        found = [_unjudged(entry) for entry in check_all(History(()), invariants)]
    else:
        found = [{**entry, "began_us": began(history, entry)} for entry in check_all(history, invariants)]
    ended = bool(history.of(RunEnded) or failed) or history.tree is not None
    wanted = [] if unstarted else _wanted(run or {})
    idle = never_exercised(found, {name for names in wanted for name in names})
    missing = "" if plan is None else invariants_missing(found, wanted, plan)
    of_program = bool((run or {}).get("system"))  # nobody knows when a program of others is as it was
    parts = {
        "injected": _injected(injected, plan, failed),
        "operations": _operations(asked, plan),
        "observed": _observed(injected, plan, history),
        "invariants": _invariants(found, len(history.txns), "; ".join((missing, *idle)) if missing else ""),
        "healed": _part(injected, plan, "healed_us", ("not-healed",), of=_applied(injected)),
    }
    value: Entry = {
        "schema": 1,
        "overall": UNKNOWN,
        "ended": ended,
        "parts": parts,
        "transactions": len(history.txns),
        "faults": [_fault(fault) for fault in injected],
        "operations": asked,
        "invariants": found,
        "elections": elected,
        "recovery": [] if of_program else recovery(history, injected, elected, converged=ended and _converged(found)),
        "overloaded": [str(event["session"]) for event in history.of(HostOverload)],
        "cut": list(history.cut),
        "notes": [*notes(history), *(one for one in idle if one not in parts["invariants"]["detail"])],
    }
    value["overall"] = worst_of(value)
    if run is not None:
        mark_known(value, run, missing)
    return value


def _wanted(run: Mapping[str, Any]) -> list[list[str]]:
    """The names of the invariants that each entry of its file asks for, and that may have something to check: only a program
    of others says who leads."""
    return [
        [one.name for one in from_facts([entry]) if run.get("system") or not isinstance(one, OneBeliever)]
        for entry in run.get("invariants", ())
    ]


def _unjudged(entry: Entry) -> Entry:
    return entry | {"verdict": NEVER_EXERCISED, "seen": "the system did not start", "began_us": None}


def _fault(fault: Entry) -> Entry:
    """Its entry: what failed of it is one text."""
    said = {key: value for key, value in fault.items() if key not in ("failed", "begun_us")}
    return {**said, "why": "; ".join(fault["failed"])}


def _converged(invariants: Sequence[Entry]) -> bool:
    """At the end, by all that could tell."""
    told = [entry for entry in invariants if entry["kind"] == LIVENESS and entry["verdict"] != NEVER_EXERCISED]
    return bool(told) and all(entry["verdict"] == HELD for entry in told)


# --- the parts: each says what came about (`count`) of how much there was to judge (`of`)


def _injected(injected: Sequence[Entry], plan: Plan | None, failed: Sequence[str]) -> Entry:
    known = [fault["id"] for fault in injected] if plan is None else plan.faults
    part = _part(injected, plan, APPLIED, ("asked", "not-applied"), of=len(dict.fromkeys(known)))
    if failed:
        return part | {"verdict": ENVIRONMENT, "detail": f"the cluster failed: {failed[-1].partition(chr(10))[0]}"}
    if part["verdict"] == HELD and plan is not None and (missing := faults_missing(injected, plan)):
        return part | {"verdict": UNKNOWN, "detail": missing}
    return part


def _operations(asked: Sequence[Entry], plan: Plan | None) -> Entry:
    missing = "" if plan is None else operations_missing(asked, plan)
    done = sum(1 for entry in asked if entry["status"] == OK)
    verdict = UNKNOWN if missing else HELD
    return {"verdict": verdict, "count": done, "of": len(asked if plan is None else plan.operations), "detail": missing}


def _observed(injected: Sequence[Entry], plan: Plan | None, history: History) -> Entry:
    part = _part(injected, plan, "observed_us", ("not-observed", "not-lasting"), of=_applied(injected))
    if overloaded := history.of(HostOverload):
        sessions = ", ".join(str(event["session"]) for event in overloaded)
        why = f"the host was overloaded: ZooKeeper gave up {sessions} without a fault on it"
        part |= {"verdict": ENVIRONMENT, "detail": "; ".join(filter(None, (part["detail"], why)))}
    return part


def _part(injected: Sequence[Entry], plan: Plan | None, key: str, failing: tuple[str, ...], *, of: int) -> Entry:
    """Of a fault that was not applied, only that is missed."""
    due = [fault for fault in injected if key == APPLIED or fault[APPLIED] is not None]
    missing = [fault["id"] for fault in due if fault[key] is None and fault["status"] != SKIPPED]
    if plan is not None and key == APPLIED:
        missing += [name for name in plan.faults if name not in [fault["id"] for fault in injected]]
    kinds = {fault["id"]: f"{fault['kind']}{':' + fault['mode'] if fault['mode'] else ''}" for fault in injected}
    why = [text for fault in injected for text in fault["failed"] if text.startswith(failing)]
    names = ", ".join(f"{name} ({kinds.get(name, 'never asked for')})" for name in dict.fromkeys(missing))
    detail = "; ".join(filter(None, (names, *why)))
    return {"verdict": ENVIRONMENT if detail else HELD, "count": _count(injected, key), "of": of, "detail": detail}


def _count(injected: Sequence[Entry], key: str) -> int:
    return len({fault["id"] for fault in injected if fault[key] is not None})


def _applied(injected: Sequence[Entry]) -> int:
    return _count(injected, APPLIED)


def _invariants(entries: Sequence[Entry], transactions: int, missing: str) -> Entry:
    """`count` are those that found something to check; `missing`: why that is too little."""
    verdict = judged(entries, transactions)
    if verdict == HELD and missing:
        return {"verdict": UNKNOWN, **_exercised(entries), "detail": missing}
    details = [f"{entry['name']}: {entry['seen']}" for entry in entries if entry["verdict"] == verdict != HELD]
    if not details and verdict == UNKNOWN:
        details = ["ZooKeeper's log has no transaction" if not transactions else "no invariant found anything to check"]
    return {"verdict": verdict, **_exercised(entries), "detail": "; ".join(details)}


def _exercised(entries: Sequence[Entry]) -> Entry:
    exercised = sum(1 for entry in entries if entry["verdict"] != NEVER_EXERCISED)
    return {"count": exercised, "of": len(entries)}
