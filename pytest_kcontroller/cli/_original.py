"""A run that is there: all that it was played with, and what came of it, so that it can be played again."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import Schedule
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.history.rundir import SCHEMA, RunDirectory, read_json
from kcontroller_chaos.judge.outcome import counted_as
from kcontroller_chaos.play.runner import Options
from pytest_kcontroller.cli._results import Planned
from pytest_kcontroller.errors import UsageError

Original = tuple[tuple[str, ...], list[str]]
"""What a replay is compared with: the outcome, and the decisions by time."""

_NEEDED: dict[str, tuple[type, ...]] = {
    "schema": (int,),
    "campaign": (dict,),
    "seed": (int,),
    "backend": (str,),
    "mutant": (str, type(None)),
    "noop_fault": (str, type(None)),
    "selectors": (dict,),
    "assignment": (str, dict),
    "plugins": (list,),
    "zookeeper_image": (str, type(None)),
}


def original_run(path: Path, out: Path) -> tuple[Planned, Options, Original]:
    """The run's own campaign file, schedule and options. Raises UsageError if it lacks them."""
    directory = RunDirectory.open(path)
    facts = directory.read_run()
    if not directory.campaign.exists():
        hint = "play its campaign file: kcontroller replay FILE --seed N"
        raise UsageError("this run has no campaign.toml", where=str(path), hint=hint)
    for name, kind in _NEEDED.items():
        if not isinstance(facts.get(name), kind) or (name == "seed" and isinstance(facts["seed"], bool)):
            raise UsageError(f"`{name}` is {facts.get(name)!r}, which no run writes", where=str(path / "run.json"))
    if facts["schema"] != SCHEMA:
        raise UsageError(f"schema {facts['schema']} is not known here", where=str(path / "run.json"))
    campaign = load_campaign(directory.campaign, load_catalogue(facts["plugins"]))
    schedule = Schedule.load(directory.schedule, campaign, facts["seed"])
    _tell_changed(directory.schedule, facts.get("schedule"))
    try:
        campaign = replace(campaign, file=str(facts["campaign"]["file"]))
        planned = Planned(campaign, facts["seed"], schedule)
        options = Options(
            out=out,
            mutant=facts["mutant"],
            noop_fault=facts["noop_fault"],
            selectors=facts["selectors"],
            assignment=facts["assignment"],
            plugins=tuple(facts["plugins"]),
            zookeeper_image=facts["zookeeper_image"],
            backend=facts["backend"],
        )
    except (KeyError, TypeError, ValueError) as missing:
        raise UsageError(f"it lacks what a replay needs: {missing!r}", where=str(path / "run.json")) from None
    verdicts = read_json(path / "verdicts.json") if (path / "verdicts.json").exists() else {}
    original = {"overall": facts.get("verdict", "unknown"), **verdicts}
    try:
        return planned, options, (outcome(original), decisions(original))
    except (KeyError, TypeError, AttributeError):
        raise UsageError("is not what a judged run has", where=str(path / "verdicts.json")) from None


def _tell_changed(file: Path, played: object) -> None:
    """A schedule may be edited on purpose, to try another one; one that lost lines must not pass for the run's own.

    Compared is the file as it is: an older version's actions lack the keys that are new."""
    text = file.read_bytes()
    if not isinstance(played, dict) or played.get("sha256") == hashlib.sha256(text).hexdigest():
        return
    now, then = len(text.splitlines()), played.get("actions")
    count = f"it has {now} actions, the run had {then}" if now != then else "its actions are others"
    print(f"{file}: is not the schedule that was played: {count}", file=sys.stderr)
    print("  -> what is replayed is this file; the verdict need not come back", file=sys.stderr)


def outcome(verdicts: Mapping[str, Any]) -> tuple[str, ...]:
    """The verdict (outcome.counted_as), and the invariants that are violated."""
    violated = [entry["name"] for entry in verdicts.get("invariants", ()) if entry["verdict"] == "violated"]
    overall = str(verdicts["overall"])
    return (counted_as(overall, str(verdicts.get("unexpected", overall))), *violated)


def decisions(verdicts: Mapping[str, Any]) -> list[str]:
    """Who was elected controller, and which node each fault was on, by time."""
    found = [
        (entry["elected_us"], f"node {entry['node']} is controller {n}")
        for n, entry in enumerate(verdicts.get("elections", ()), start=1)
    ]
    found += [
        (fault["asked_us"], f"{fault['id']} is on node {fault['node']}")
        for fault in verdicts.get("faults", ())
        if fault["asked_us"] is not None
    ]
    return [text for _, text in sorted(found)]
