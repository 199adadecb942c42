"""One schedule after the other in simulated time, judged in memory: nothing is written, only what was found is told.

A run that must be looked at is played again with a run directory (runner.run_once): the same seed is the same history.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kcontroller_chaos.backends.run import Run
from kcontroller_chaos.backends.sim import Simulation, Work, kafkas_of, mutant_of, simulate_within
from kcontroller_chaos.campaign.file import Campaign
from kcontroller_chaos.campaign.schedule import Schedule, draw
from kcontroller_chaos.catalogue.invariants import facts_of
from kcontroller_chaos.history.read import in_order
from kcontroller_chaos.history.rundir import utc
from kcontroller_chaos.judge.tested import Plan, untested
from kcontroller_chaos.judge.verdict import VIOLATED, verdicts
from kcontroller_chaos.play.runner import Options, check, play_schedule
from pytest_kcontroller.cluster.timing import stretched
from pytest_kcontroller.model.history import MutantCounts
from pytest_kcontroller.plugin.manager import load_plugins
from pytest_kcontroller.runtime.foreign import NO_ANSWER
from pytest_kcontroller.runtime.real import RunStart

NOWHERE = Path("(a run of a hunt is not kept)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What is told of a run that was not kept. `counts`: seam -> how often the mutant's replacement ran."""

    seed: int
    verdict: str
    unexpected: str
    """The verdict without the violations that are `[[expected]]`."""
    untested: str
    """Why it is unknown, if that is only because too little came about; else empty."""
    violated: tuple[str, ...]
    """The invariants that are."""
    end_us: int
    callbacks: int
    counts: Mapping[str, int]
    fingerprint: str


class Hunter:
    """Plays seeds of one campaign. Raises UsageError as runner.check does."""

    def __init__(self, campaign: Campaign, options: Options) -> None:
        self._campaign, self._options = campaign, options
        self._settings = check(campaign, options)
        self._plugins = load_plugins(options.plugins)
        self._mutant, self._kafkas = mutant_of(self._settings), kafkas_of(self._settings)
        self._facts = {
            "thresholds": asdict(campaign.thresholds),
            "expected": [asdict(one) for one in campaign.expected],
            "invariants": facts_of(campaign.own_invariants),
        }

    def play(self, seed: int, schedule: Schedule | None = None) -> Glance:
        """`schedule` None: what the campaign draws. Raises what is a bug of ours: a run that is stuck, a broken mutant."""
        schedule = schedule or draw(self._campaign, seed)

        async def played(run: Run) -> None:
            noop, awaited = self._options.noop_fault, self._campaign.awaited
            await play_schedule(run, schedule, noop, self._campaign.duration_s, awaited)

        settings = replace(self._settings, seed=seed)
        simulation = Simulation(
            settings, NOWHERE, played, mutant=self._mutant, kafkas=self._kafkas, plugins=self._plugins
        )
        limit_s = stretched(self._campaign.duration_s + self._campaign.overtime_s)
        work, events = simulate_within(limit_s, simulation)
        if work is None:  # its run.failed is judged
            work = Work(end_us=max((event["t_us"] for event in events), default=0), callbacks=0)
        # Checkers read lines: what a line makes of a value (a tuple is a list, a key is text) must be so here too.
        read = json.loads(json.dumps(events))
        run = self._facts | {"started": utc(RunStart.now().wall_ns), "schedule": schedule.facts}
        plan = Plan.of([action.entry for action in schedule.actions], run)
        found = verdicts(in_order(read), plan, self._campaign.invariants, run=run)
        counted: dict[str, int] = next(
            (event["counts"] for event in reversed(read) if event["kind"] == MutantCounts.kind), {}
        )
        return Glance(
            seed=seed,
            verdict=found["overall"],
            unexpected=found["unexpected"],
            untested=untested(found),
            violated=tuple(entry["name"] for entry in found["invariants"] if entry["verdict"] == VIOLATED),
            end_us=work.end_us,
            callbacks=work.callbacks,
            counts=counted,
            fingerprint=fingerprint(found),
        )


def fingerprint(found: Mapping[str, Any]) -> str:
    """Of what a run's verdicts say, whether it was kept or not: the same run has the same. Where a plugin was too late
    only the verdict as a whole is: what it was late for depends on the machine."""
    late = any(NO_ANSWER in str(entry["seen"]) for entry in found["invariants"])
    facts = {name: found[name] for name in ("overall", *(() if late else ("invariants", "elections", "recovery")))}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
