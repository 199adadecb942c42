"""Schedules: a campaign and a seed become timed actions. Pure; each action draws from a stream of its own name, so that a
fault more does not move the others."""

from __future__ import annotations

import hashlib
import json
import random  # noqa: TID251 - the type only; streams come from the runtime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcontroller_chaos.campaign.actions import Action
from kcontroller_chaos.campaign.file import Campaign
from kcontroller_chaos.campaign.generator import generate, no_room
from kcontroller_chaos.campaign.specs import AdminSpec, FaultSpec, TopicSpec
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.text import json_or_none
from pytest_kcontroller.runtime.rng import MOST_SEED, NamedRng

INSTEAD = "restore it, or play the campaign file: kcontroller replay FILE --seed N"
JITTER_US = 200_000
"""A time in a campaign is moved by at most this much, either way."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Timed actions first, by time; then those that wait for something, in the order of the file."""

    seed: int
    actions: tuple[Action, ...]
    topics: tuple[TopicSpec, ...] = ()
    """What the cluster has before the run begins: the campaign's, not in schedule.jsonl."""
    no_room: str = ""
    """Why the generator drew no fault; empty: it did, there is none, or nobody knows any more."""

    def rng(self, action: Action) -> random.Random:
        """What the engine draws this action's target from."""
        return NamedRng(self.seed).stream(f"{action.stream}/target")

    def save(self, path: Path) -> None:
        path.write_text(self._text, encoding="utf-8")

    @property
    def _text(self) -> str:
        lines = [json.dumps({"seed": self.seed, **action.entry}, separators=(",", ":")) for action in self.actions]
        return "".join(f"{line}\n" for line in lines)

    @property
    def facts(self) -> dict[str, Any]:
        """What run.json has of it, so that a file that lost lines is told from the one that was played."""
        digest = hashlib.sha256(self._text.encode()).hexdigest()
        return {"actions": len(self.actions), "sha256": digest, "no_room": self.no_room}

    @classmethod
    def load(cls, path: Path, campaign: Campaign, seed: int = 0, no_room: str = "") -> Schedule:
        """A schedule of this campaign; `seed` is that of one without actions, `no_room` what its run has said.

        Raises UsageError naming file and line."""
        actions: list[Action] = []
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise UsageError("is no UTF-8 text", where=str(path), hint=INSTEAD) from None
        except OSError as refused:
            raise UsageError(f"cannot be read: {refused.strerror}", where=str(path), hint=INSTEAD) from None
        for number, line in enumerate(text.splitlines(), start=1):
            value = json_or_none(line)
            try:
                if not isinstance(value, dict):
                    raise UsageError("is no JSON object", hint=f"each line is an action; {INSTEAD}")
                given = value.pop("seed", None)
                if type(given) is not int or not 0 <= given <= MOST_SEED:
                    raise UsageError(f"its `seed` is {json.dumps(given)}", hint=f"0 to {MOST_SEED}")
                seed = given
                actions.append(Action.of_entry(value, campaign.catalogue))
            except UsageError as bad:
                raise UsageError(f"no action: {bad.what}", where=f"{path}:{number}", hint=bad.hint) from None
        return cls(seed, tuple(actions), campaign.topics, no_room)


def draw(campaign: Campaign, seed: int) -> Schedule:
    """The schedule of this campaign and seed."""
    rng = NamedRng(seed)
    actions = [_admin(spec, f"schedule/admin-{n}", rng, f"admin-{n}") for n, spec in enumerate(campaign.workload)]
    actions += [_fault(spec, f"schedule/fault-{n}", rng) for n, spec in enumerate(campaign.faults)]
    if campaign.generator is not None:
        actions += generate(campaign, campaign.generator, rng)
    timed = sorted((action for action in actions if action.at_us is not None), key=_time)
    untimed = (action for action in actions if action.at_us is None)
    return Schedule(seed, (*timed, *untimed), campaign.topics, no_room(campaign, actions))


def _time(action: Action) -> int:
    return action.at_us or 0


def _admin(spec: AdminSpec, stream: str, rng: NamedRng, name: str) -> Action:
    return Action(id=name, does=spec.does, stream=stream, at_us=_jittered(spec.at_s, rng.stream(stream)))


def _fault(spec: FaultSpec, stream: str, rng: NamedRng) -> Action:
    return Action(
        id=spec.id,
        does=spec.fault,
        stream=stream,
        target=spec.target,
        at_us=None if spec.at_s is None else _jittered(spec.at_s, rng.stream(stream)),
        when=spec.when,
        after_us=round(spec.after_ms * 1000),
        still_us=round(spec.still_ms * 1000),
        duration_us=None if spec.duration_s is None else round(spec.duration_s * 1_000_000),
        until=spec.until,
        if_possible=spec.if_possible,
    )


def _jittered(at_s: float, stream: random.Random) -> int:
    return max(0, round(at_s * 1_000_000) + stream.randint(-JITTER_US, JITTER_US))
