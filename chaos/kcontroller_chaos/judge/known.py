"""Known failures (`[[expected]]`): which violations of a run are known, what is wrong besides, and what did not come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcontroller_chaos.judge.outcome import worst_of

Entry = dict[str, Any]


def mark_known(value: Entry, run: Mapping[str, Any], missing: str = "") -> None:
    """Completes verdicts.json by what run.json says of known failures, as of the day of the run.

    `known` of each violated invariant: why it is known, or empty. `unexpected`: the verdict without the known violations.
    `expected`: why each violation is known, if nothing else is wrong. `lapsed`: entries that would make a violation known if
    their date had not passed. `did_not_come`: those whose faults were applied, and whose invariant was not violated.
    `missing`: why too little was exercised, or empty; violations that are all known do not hide it.
    """
    today = str(run["started"])[:10]
    listed = list(_in_runs_like_this(run, value))
    valid = [known for known in listed if today <= known["until"]]
    violated = [entry for entry in value["invariants"] if entry["verdict"] == "violated"]
    for entry in violated:
        entry["known"] = next((_said(known) for known in valid if known["invariant"] == entry["name"]), "")
    come = [entry["name"] for entry in violated]
    known = [f"{entry['name']}: {entry['known']}" for entry in violated if entry["known"]]
    if missing and violated and len(known) == len(violated):
        value["parts"]["invariants"] |= {"verdict": "unknown", "detail": missing}
    value["unexpected"] = worst_of(value, but=[entry["name"] for entry in violated if entry["known"]])
    value["expected"] = known if value["unexpected"] == "held" else []
    value["lapsed"] = [_named(one) for one in listed if one not in valid and one["invariant"] in come]
    value["did_not_come"] = [_named(one) for one in valid if one["invariant"] not in come]


def _in_runs_like_this(run: Mapping[str, Any], value: Entry) -> Iterator[Mapping[str, Any]]:
    """The entries of the file that are about this run: a fault of every kind that they name was applied."""
    applied = {fault["kind"] for fault in value["faults"] if fault["applied_us"] is not None}
    return (known for known in run.get("expected", ()) if applied.issuperset(known["faults"]))


def _said(known: Mapping[str, Any]) -> str:
    return f"{known['reason']}, until {known['until']}"


def _named(known: Mapping[str, Any]) -> str:
    return f"{known['invariant']}: {_said(known)}"
