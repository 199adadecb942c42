"""One run: a campaign and a seed become a run directory with a verdict. Nothing of it goes on afterwards."""

from __future__ import annotations

import asyncio
import importlib
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from kcontroller_chaos import backends
from kcontroller_chaos.backends.run import Run
from kcontroller_chaos.campaign.file import Campaign
from kcontroller_chaos.campaign.schedule import Schedule, draw
from kcontroller_chaos.catalogue.invariants import facts_of
from kcontroller_chaos.catalogue.loading import MUTANTS
from kcontroller_chaos.history.rundir import RunDirectory
from kcontroller_chaos.judge.outcome import exit_status
from kcontroller_chaos.judge.verdict import ENVIRONMENT, judge
from kcontroller_chaos.play.engine import Engine
from kcontroller_chaos.znode_invariants import ZnodeInvariant
from pytest_kcontroller import __version__
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.timing import stretched
from pytest_kcontroller.errors import EnvironmentFailure, NotOnThisBackend, UsageError
from pytest_kcontroller.plugin.manager import Plugins, load_plugins, versions
from pytest_kcontroller.runtime.foreign import done_apart
from pytest_kcontroller.runtime.real import RealClock, RunStart
from pytest_kcontroller.seams import MutantDoesNotApplyError, check_applies

NODE = "pytest_kcontroller.node.main"
"""Imports all that mutants replace."""
JUDGE_S = 5.0
"""Who has been interrupted waits so long for the verdict, which a plugin's invariant may keep waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says besides files and seeds."""

    out: Path = Path("runs")
    mutant: str | None = None
    noop_fault: str | None = None
    """KIND or KIND:MODE, or several of them with commas between."""
    selectors: Mapping[str, Any] = field(default_factory=dict)
    assignment: str | None = None
    plugins: tuple[str, ...] = ()
    zookeeper_image: str | None = None
    """As in ClusterSettings."""
    backend: str = backends.DEFAULT
    """A name of the registry (kcontroller_chaos.backends)."""


@dataclass(frozen=True, slots=True)
class RunResult:
    path: Path
    verdict: str
    seconds: float
    details: Mapping[str, Any]
    """verdicts.json; empty if the cluster did not start."""
    error: str = ""
    plugins: tuple[str, ...] = ()
    """The modules that a replay must find."""

    @property
    def expected(self) -> tuple[str, ...]:
        """Why each of its violations is known; empty if anything else is wrong."""
        return tuple(self.details.get("expected", ()))

    @property
    def unexpected(self) -> str:
        """The verdict without the violations that are known."""
        return str(self.details.get("unexpected", self.verdict))

    @property
    def status(self) -> int:
        """As an exit status: a known failure counts as held."""
        return exit_status(self.unexpected)


def check(campaign: Campaign, options: Options, place: str = "") -> ClusterSettings:
    """Everything that can be wrong before something starts. `place`: the file that says the options; empty: they are typed.
    Raises UsageError."""
    backend = backends.backend(options.backend)
    try:
        backend.load().check(options.zookeeper_image)
    except NotOnThisBackend as wrong:
        if not place:
            raise
        raise NotOnThisBackend(wrong.what, where=f"{place}: `zookeeper_image`") from None
    backend.check_has(campaign.needs, where=str(campaign.file))
    if campaign.program is not None:
        backend.check_runs_programs(in_image=bool(campaign.program.image), where=f"{campaign.file}: `system`")
        _check_none_of_ours(options, place)
    plugins = load_plugins((*options.plugins, MUTANTS))
    _check_mutant(plugins, options.mutant, f"{place}: `mutant`" if place else "--mutant")
    plugins.selectors_for(options.selectors, where=f"{place}: selectors" if place else "--selector")
    if options.assignment is not None:
        plugins.assignments.make(options.assignment, where=f"{place}: `assignment`" if place else "--assignment")
    if options.noop_fault is not None:
        _check_noop(campaign, options.noop_fault, f"{place}: `noop_fault`" if place else "--noop-fault")
    return ClusterSettings(
        nodes=campaign.cluster.nodes,
        log_dirs=campaign.cluster.log_dirs,
        session_timeout_ms=campaign.cluster.session_timeout_ms,
        selectors={**campaign.cluster.selectors, **options.selectors},
        assignment=options.assignment or campaign.cluster.assignment,
        config=campaign.cluster.config,
        plugins=options.plugins,
        plugin_limit_s=campaign.cluster.plugin_limit_s,
        mutant=options.mutant,
        kafka_compat=tuple(campaign.cluster.kafka_compat),
        program=campaign.program,
        zookeeper=campaign.cluster.zookeeper,
        zookeeper_image=options.zookeeper_image,
    )


def _check_none_of_ours(options: Options, place: str) -> None:
    """What programs cannot be told. Raises UsageError; a run has the assignment and the selectors that are the defaults."""
    typed = {} if place else {"assignment": options.assignment, "selector": options.selectors}
    for name, value in {"mutant": options.mutant, **typed}.items():
        if value:
            where = f"{place}: `{name}`" if place else f"--{name}"
            raise UsageError(
                "is for nodes of ours, and [system] has programs of yours", where=where, hint="leave it out"
            )


def _check_mutant(plugins: Plugins, name: str | None, where: str) -> None:
    """That it replaces what there is in a node, which need not be one of this process. Raises UsageError."""
    mutant = plugins.mutant(name, where=where)
    if mutant is None:
        return
    importlib.import_module(NODE)
    try:
        check_applies(mutant)
    except MutantDoesNotApplyError as stale:
        raise UsageError(str(stale), where=where, hint="the code has moved on: mend the mutant") from None


def _check_noop(campaign: Campaign, noops: str, where: str) -> None:
    names = campaign.fault_names
    for noop in noops.split(","):
        if noop in names:
            continue
        known = noop.partition(":")[0] in campaign.catalogue.kinds
        what = f"{campaign.file} has no fault {noop!r}" if known else f"there is no fault {noop!r}"
        hint = ", ".join(sorted(names))
        raise UsageError(what, where=where, hint=f"it has: {hint}")


async def run_once(campaign: Campaign, seed: int, options: Options, schedule: Schedule | None = None) -> RunResult:
    """Plays the campaign's schedule for this seed, or the given one, and judges.

    Cancelled, it heals, stops everything and leaves a readable run with the verdict `unknown`.
    """
    settings = replace(check(campaign, options), seed=seed)
    schedule = schedule or draw(campaign, seed)
    backend, start = backends.backend(options.backend).load(), RunStart.now()
    clock = RealClock(start)
    directory = _new_directory(campaign, schedule, settings, options, start)
    invariants = campaign.invariants

    async def work(run: Run) -> None:
        await play_schedule(run, schedule, options.noop_fault, campaign.duration_s, campaign.awaited)

    def judged() -> dict[str, Any]:
        """What was proven stands, however the run ended."""
        details = judge(directory.path, invariants)
        directory.end(start.wall_ns + clock.now_us() * 1000, details["overall"])
        return details

    patience_s = stretched(JUDGE_S)
    try:
        await backend.play(settings, directory, work, stretched(campaign.duration_s + campaign.overtime_s))
    except asyncio.CancelledError:
        await done_apart(judged, patience_s=patience_s)  # unknown, unless a violation was proven before
        raise
    except EnvironmentFailure as failed:
        details = await done_apart(judged, patience_s=patience_s)  # environment, unless a violation was proven before
        shown = {} if details["overall"] == ENVIRONMENT else details
        return RunResult(directory.path, details["overall"], clock.now_us() / 1e6, shown, str(failed), options.plugins)
    details = await done_apart(judged, patience_s=patience_s)
    return RunResult(directory.path, details["overall"], clock.now_us() / 1e6, details, plugins=options.plugins)


def _new_directory(
    campaign: Campaign, schedule: Schedule, settings: ClusterSettings, options: Options, start: RunStart
) -> RunDirectory:
    """With all that is known before the run begins."""
    backend = backends.backend(options.backend).load()
    directory = RunDirectory.create(
        options.out,
        {"name": campaign.name, "file": str(campaign.file), "sha256": campaign.sha256},
        settings.seed,
        start,
        selectors=dict(settings.selectors),
        assignment=settings.assignment,
        kafka_compat=list(settings.kafka_compat),
        system=None if settings.program is None else settings.program.described,
        mutant=options.mutant,
        noop_fault=options.noop_fault,
        plugins=list(options.plugins),
        plugin_versions=versions(options.plugins),
        zookeeper_image=options.zookeeper_image,
        backend=options.backend,
        times=backend.start_of(start),
        text=campaign.text,
        schedule=schedule.facts,
        thresholds=asdict(campaign.thresholds),
        invariants=facts_of(campaign.own_invariants),
        expected=[asdict(known) for known in campaign.expected],
        versions={"kcontroller": __version__, "python": platform.python_version()}
        | backend.versions(options.zookeeper_image),
        host={"cpus": len(os.sched_getaffinity(0)), "system": f"{platform.system()} {platform.machine()}"},
        commit=_commit(),
    )
    schedule.save(directory.schedule)
    return directory


async def play_schedule(
    run: Run, schedule: Schedule, noop: str | None, duration_s: float, awaited: tuple[ZnodeInvariant, ...] = ()
) -> None:
    """On a run that is open; `noop`, `duration_s` and `awaited` as in Engine."""
    engine = Engine(run.cluster, run.feed(), run.clock, run.record, noop, duration_s=duration_s, awaited=awaited)
    await engine.play(schedule)


@cache
def _commit() -> str | None:
    """The commit of the checkout that this runs in."""
    try:
        printed = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return printed.stdout.strip() or None if printed.returncode == 0 else None
