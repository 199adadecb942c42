"""How much a run had to show for its verdict: what of its plan came about. A run that tested nothing does not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcontroller_chaos.checking import NEVER_EXERCISED
from kcontroller_chaos.history.read import History
from kcontroller_chaos.judge.recovery import SKIPPED
from pytest_kcontroller.model.history import AdminFail, AdminInfo, AdminInvoke, AdminOk

OK, FAIL, INFO, INVOKE = "ok", "fail", "info", "invoke"
"""How an operation ended, in Jepsen's words: done; refused, and nothing has happened; nobody knows; not yet."""
_ENDS = {AdminInvoke.kind: INVOKE, AdminOk.kind: OK, AdminFail.kind: FAIL, AdminInfo.kind: INFO}
_SAID = {FAIL: "refused", INFO: "without an answer", INVOKE: "never ended"}
MOST_REASONS = 5

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run was to do: the ids of its schedule, why its generator drew no fault, and `[thresholds]`."""

    faults: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    no_room: str = ""
    faults_applied: int = 1
    operations_ok: int = 1
    invariants_exercised: int = 1

    @classmethod
    def of(cls, actions: Iterable[Mapping[str, Any]], run: Mapping[str, Any]) -> Plan:
        """`actions` are the lines of schedule.jsonl; `run` is run.json, which may be an older one's."""
        listed = list(actions)
        thresholds = run.get("thresholds") or {}
        return cls(
            faults=tuple(action["id"] for action in listed if action["what"] == "fault"),
            operations=tuple(action["id"] for action in listed if action["what"] == "admin"),
            no_room=(run.get("schedule") or {}).get("no_room") or "",
            faults_applied=int(thresholds.get("faults_applied", 1)),
            operations_ok=int(thresholds.get("operations_ok", 1)),
            invariants_exercised=int(thresholds.get("invariants_exercised", 1)),
        )

    @property
    def nothing(self) -> bool:
        """Neither faults nor operations, and nobody said that this is meant."""
        planned = self.faults or self.operations or self.no_room
        return not planned and (self.faults_applied > 0 or self.operations_ok > 0)


def operations(history: History) -> list[Entry]:
    """One entry per admin action of the schedule, in the order in which they began."""
    found: dict[str, Entry] = {}
    for event in history.of(AdminInvoke, AdminOk, AdminFail, AdminInfo):
        entry = found.setdefault(event["op"], {"id": event["op"], "action": event["action"]})
        why = str(event.get("error", "")).partition("\n")[0]
        entry |= {"status": _ENDS[event["kind"]], "why": why}
    return list(found.values())


def faults_missing(injected: Sequence[Entry], plan: Plan) -> str:
    """Why too few faults were applied; empty: there were enough."""
    if plan.nothing:
        return "the file plans neither faults nor operations: nothing was tested"
    if not plan.faults:
        return plan.no_room if plan.no_room and plan.faults_applied > 0 else ""
    applied = len({fault["id"] for fault in injected if fault["applied_us"] is not None})
    if applied >= plan.faults_applied:
        return ""
    skipped = [_why(fault) for fault in injected if fault["status"] == SKIPPED]
    count = f"{applied} of {len(plan.faults)} faults were applied{_needed(applied, plan.faults_applied)}"
    return f"{count}: {_reasons('skipped', skipped)}" if skipped else count


def operations_missing(found: Sequence[Entry], plan: Plan) -> str:
    """Why too few operations succeeded; empty: there were enough."""
    done = sum(1 for entry in found if entry["status"] == OK)
    if not plan.operations or done >= plan.operations_ok:
        return ""
    count = f"{done} of {len(plan.operations)} operations succeeded{_needed(done, plan.operations_ok)}"
    return "; ".join((count, *not_done(found)))


def invariants_missing(entries: Sequence[Entry], asked: Sequence[Collection[str]], plan: Plan) -> str:
    """Why too few of what the file asks for was exercised; empty: enough was. `asked`: the names of each of its entries."""
    exercised = {entry["name"] for entry in entries if entry["verdict"] != NEVER_EXERCISED}
    count = sum(1 for names in asked if not exercised.isdisjoint(names))
    if not asked or count >= plan.invariants_exercised:
        return ""
    needed = _needed(count, plan.invariants_exercised)
    return f"{count} of {len(asked)} `[[invariants]]` of the file found anything to check{needed}"


def untested(value: Mapping[str, Any]) -> str:
    """Why a verdicts.json is unknown besides what is known, if that is only because too little came about; else empty."""
    unjudged = any(entry["verdict"] == "unknown" for entry in value["invariants"]) or not value["ended"]
    if value["unexpected"] != "unknown" or unjudged:
        return ""
    return "; ".join(part["detail"] for part in value["parts"].values() if part["verdict"] == "unknown")


def not_done(found: Sequence[Entry]) -> list[str]:
    """What became of the operations that did not succeed: `2 refused: 2 x there are too few brokers`."""
    return [
        _reasons(said, [entry["why"] or "no reason was given" for entry in ended])
        for status, said in _SAID.items()
        if (ended := [entry for entry in found if entry["status"] == status])
    ]


def skipped(injected: Sequence[Entry]) -> str:
    """How many faults were skipped, and why; empty: none."""
    why = [_why(fault) for fault in injected if fault["status"] == SKIPPED]
    return _reasons("skipped", why) if why else ""


def _why(fault: Entry) -> str:
    """The reason alone: an entry says the step before it."""
    return next((text.removeprefix(f"{SKIPPED}: ") for text in fault["failed"] if text.startswith(SKIPPED)), SKIPPED)


def _needed(came: int, least: int) -> str:
    return "" if least <= 1 or came >= least else f" (`[thresholds]` asks for {least})"


def _reasons(said: str, why: Sequence[str]) -> str:
    """Each reason with its count, the most frequent first."""
    counted = Counter(why).most_common()
    shown = [f"{count} x {text}" if len(why) > 1 else text for text, count in counted[:MOST_REASONS]]
    more = [f"and {len(counted) - MOST_REASONS} more reasons"] if len(counted) > MOST_REASONS else []
    return f"{len(why)} {said}: {'; '.join((*shown, *more))}"
