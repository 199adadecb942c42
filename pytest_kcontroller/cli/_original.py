"""A run that is there: all that it was played with, and what came of it, so that it can be played again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kcontroller_chaos import backends
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import INSTEAD, Schedule
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.history.rundir import SCHEMA, RunDirectory, looked, read_json
from kcontroller_chaos.judge.outcome import counted_as
from kcontroller_chaos.judge.verdict import ENVIRONMENT, HELD, UNKNOWN, VIOLATED
from kcontroller_chaos.play.runner import Options
from pytest_kcontroller.cli._results import Planned
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.rng import MOST_SEED

Original = tuple[tuple[str, ...], list[str]]
"""What a replay is compared with: the outcome, and the decisions by time."""

WITHOUT = "replay the run without this file: nothing is compared then"

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


def original_run(path: Path, out: Path) -> tuple[Planned, Options, Original | None]:
    """The run's own campaign file, schedule and options, and what came of it: None, if it has no verdicts.json. Raises
    UsageError if it lacks anything else."""
    directory = RunDirectory.open(path)
    facts = directory.read_run()
    if not looked(directory.campaign):
        hint = "play its campaign file: kcontroller replay FILE --seed N"
        raise UsageError("this run has no campaign.toml", where=str(path), hint=hint)
    for name, kind in _NEEDED.items():
        if not isinstance(facts.get(name), kind) or not _may_be(name, facts[name]):
            what = f"is {json.dumps(facts[name])}, which no run writes" if name in facts else "is missing"
            raise UsageError(f"`{name}` {what}", where=str(path / "run.json"))
    _check_schema(facts["schema"], path / "run.json")
    if facts["backend"] not in backends.NAMES:
        hint = f"one of {', '.join(backends.NAMES)}"
        raise UsageError(
            f"there is no backend {facts['backend']!r}", where=f"{path / 'run.json'}: `backend`", hint=hint
        )
    _choose_as_then(backends.backend(facts["backend"]), facts.get("versions"), path / "run.json")
    catalogue = load_catalogue(facts["plugins"])
    campaign = load_campaign(directory.campaign, catalogue, directory=_place_of_program(facts, path / "run.json"))
    played = facts["schedule"] if isinstance(facts.get("schedule"), dict) else {}
    schedule = Schedule.load(directory.schedule, campaign, facts["seed"], str(played.get("no_room") or ""))
    _tell_changed(directory.schedule, played)
    try:
        campaign = replace(campaign, file=str(facts["campaign"]["file"]))
        planned = Planned(campaign, facts["seed"], schedule)
        options = Options(
            out=out,
            mutant=facts["mutant"],
            noop_fault=facts["noop_fault"],
            selectors=facts["selectors"],
            assignment=facts["assignment"] if campaign.program is None else None,
            plugins=tuple(facts["plugins"]),
            zookeeper_image=facts["zookeeper_image"],
            backend=facts["backend"],
        )
    except (KeyError, TypeError, ValueError) as missing:
        raise UsageError(f"it lacks what a replay needs: {missing!r}", where=str(path / "run.json")) from None
    return planned, options, _judged(path / "verdicts.json")


def _choose_as_then(backend: backends.Backend, versions: Any, file: Path) -> None:
    """What the environment chooses is what it chose for the run, from now on. Raises UsageError: it says otherwise."""
    for name, variable in backend.chosen_by.items():
        where = f"{file}: `versions.{name}`"
        then = versions.get(name) if isinstance(versions, dict) else None
        if not isinstance(then, str):
            raise UsageError("is missing", where=where)
        if name in backend.unchosen and re.fullmatch(backend.unchosen[name], then):
            continue
        if (now := os.environ.get(variable) or then) != then:
            hint = f"unset {variable}, or play the campaign file with it: kcontroller campaign run FILE"
            raise UsageError(f"the run had {then}, and ${variable} is {now}", where=where, hint=hint)
        os.environ[variable] = then


def _place_of_program(facts: Mapping[str, Any], file: Path) -> str:
    """Where it was started: files of the same names may be where we are now. Empty: as the campaign file says, also of a
    run from another machine, of which that is told."""
    system = facts.get("system")
    there = system.get("directory") if isinstance(system, Mapping) and not system.get("image") else None
    if not isinstance(there, str) or Path(there).is_dir():
        return there if isinstance(there, str) else ""
    print(f"{file}: the program was started in {there}, which is not here", file=sys.stderr)
    print("  -> it is started where the campaign file says, from the current directory on", file=sys.stderr)
    return ""


def _may_be(name: str, value: Any) -> bool:
    if name == "seed":
        return type(value) is int and 0 <= value <= MOST_SEED
    return name != "plugins" or all(isinstance(module, str) for module in value)


def _judged(file: Path) -> Original | None:
    if not looked(file):
        return None
    try:
        verdicts = read_json(file)
        _check_schema(verdicts.get("schema"), file)
        overall, came, decided = verdicts["overall"], outcome(verdicts), decisions(verdicts)
        if overall not in (HELD, VIOLATED, UNKNOWN, ENVIRONMENT) or (overall == VIOLATED and len(came) == 1):
            raise TypeError  # no verdict, or a violation of nothing
    except UsageError as damaged:
        raise UsageError(damaged.what, where=damaged.where, hint=WITHOUT) from None
    except (KeyError, TypeError, AttributeError):
        raise UsageError("is not what a judged run has", where=str(file), hint=WITHOUT) from None
    return came, decided


def _check_schema(schema: object, file: Path) -> None:
    if schema != SCHEMA:
        raise UsageError(f"schema {json.dumps(schema)} is not known here", where=str(file))


def _tell_changed(file: Path, played: Mapping[str, Any]) -> None:
    """A schedule may be edited on purpose, to try another one; one that lost lines must not pass for the run's own. Raises
    UsageError: it lost all of them.

    Compared is the file as it is: an older version's actions lack the keys that are new."""
    text = file.read_bytes()
    if not played or played.get("sha256") == hashlib.sha256(text).hexdigest():
        return
    now, then = len(text.splitlines()), played.get("actions")
    if not now and then:
        raise UsageError(f"is empty, and the run had {then} actions", where=str(file), hint=INSTEAD)
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
