"""One run: a campaign and a seed become a run directory with a verdict. Nothing of it goes on afterwards."""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from kcontroller_chaos.backends.sim import START as SIMULATION_START
from kcontroller_chaos.backends.sim import simulate, write_history
from kcontroller_chaos.campaign.file import Campaign
from kcontroller_chaos.campaign.schedule import Schedule, draw
from kcontroller_chaos.feed import Feed, LogSource, Tail
from kcontroller_chaos.history.rundir import RunDirectory
from kcontroller_chaos.judge.outcome import HELD, exit_status
from kcontroller_chaos.judge.verdict import ENVIRONMENT, judge
from kcontroller_chaos.play.engine import Engine
from pytest_kcontroller import __version__
from pytest_kcontroller.cluster.java import versions
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.zookeeper.source import check_zookeeper
from pytest_kcontroller.errors import EnvironmentError_, NotOnThisBackend, UsageError
from pytest_kcontroller.model.history import ProcessExited, RunFailed
from pytest_kcontroller.plugin.manager import Plugins, load_plugins
from pytest_kcontroller.runtime.real import RealClock, Recorder, RunStart
from pytest_kcontroller.runtime.seams import MutantDoesNotApplyError, check_applies

MUTANTS = "kcontroller_chaos.mutants"
PROCESS, SIM = "process", "sim"
BACKENDS = (PROCESS, SIM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says besides files and seeds."""

    out: Path = Path("runs")
    mutant: str | None = None
    noop_fault: str | None = None
    selectors: Mapping[str, Any] = field(default_factory=dict)
    assignment: str | None = None
    plugins: tuple[str, ...] = ()
    zookeeper_image: str | None = None
    """As in ClusterSettings."""
    backend: str = PROCESS


@dataclass(frozen=True, slots=True)
class RunResult:
    path: Path
    verdict: str
    seconds: float
    details: Mapping[str, Any]
    """verdicts.json; empty if the cluster did not start."""
    error: str = ""

    @property
    def expected(self) -> tuple[str, ...]:
        """Why each of its violations is known; empty if there is one that is not."""
        return tuple(self.details.get("expected", ()))

    @property
    def status(self) -> int:
        """As an exit status: a known failure counts as held."""
        return HELD if self.expected else exit_status(self.verdict)


def check(campaign: Campaign, options: Options) -> ClusterSettings:
    """Everything that can be wrong before something starts. Raises UsageError."""
    if options.backend == PROCESS:
        check_zookeeper(options.zookeeper_image)
    elif options.zookeeper_image is not None:
        raise NotOnThisBackend(
            "simulated time has no containers", hint="leave --zookeeper out, or use --backend process"
        )
    if options.backend != SIM and campaign.crash_points:
        raise NotOnThisBackend(
            "only simulated time has crash points (write:N, written:N, request:N, generator.crash_points)",
            where=str(campaign.file),
            hint="use --backend sim, or a copy of the file without them",
        )
    plugins = load_plugins((*options.plugins, MUTANTS))
    try:
        check_applies(plugins.mutant(options.mutant, where="--mutant"))
    except MutantDoesNotApplyError as stale:
        raise UsageError(str(stale), where="--mutant", hint="the code has moved on: mend the mutant") from None
    selectors = {**campaign.cluster.selectors, **options.selectors}
    assignment = options.assignment or campaign.cluster.assignment
    check_names(campaign, plugins, selectors, assignment)
    if options.noop_fault is not None:
        _check_noop(campaign, options.noop_fault)
    return ClusterSettings(
        nodes=campaign.cluster.nodes,
        session_timeout_ms=campaign.cluster.session_timeout_ms,
        selectors=selectors,
        assignment=assignment,
        config=campaign.cluster.config,
        plugins=options.plugins,
        mutant=options.mutant,
        zookeeper_image=options.zookeeper_image,
    )


def check_names(campaign: Campaign, plugins: Plugins, selectors: Mapping[str, Any], assignment: Any) -> None:
    """That there are selectors and a strategy of these names. Raises UsageError."""
    where = f"{campaign.file}: `cluster."
    try:
        plugins.selectors_for(selectors, where=f"{where}selectors")
        plugins.assignments.make(assignment, where=f"{where}assignment`")
    except UsageError as wrong:
        hint = f"{wrong.hint}; is a --plugin missing?" if wrong.hint else "is a --plugin missing?"
        raise UsageError(wrong.what, where=f"{wrong.where.rstrip('`')}`", hint=hint) from None


def _check_noop(campaign: Campaign, noop: str) -> None:
    names = campaign.fault_names
    if noop not in names:
        known = noop.partition(":")[0] in campaign.catalogue.kinds
        what = f"{campaign.file} has no fault {noop!r}" if known else f"there is no fault {noop!r}"
        hint = ", ".join(sorted(names))
        raise UsageError(what, where="--noop-fault", hint=f"it has: {hint}")


async def run_once(campaign: Campaign, seed: int, options: Options, schedule: Schedule | None = None) -> RunResult:
    """Plays the campaign's schedule for this seed, or the given one, and judges.

    Cancelled, it heals, stops everything and leaves a readable run with the verdict `unknown`.
    """
    settings = replace(check(campaign, options), seed=seed)
    schedule = schedule or draw(campaign, seed)
    start = RunStart.now()
    clock = RealClock(start)
    run = RunDirectory.create(
        options.out,
        {"name": campaign.name, "file": str(campaign.file), "sha256": campaign.sha256},
        seed,
        start,
        selectors=dict(settings.selectors),
        assignment=settings.assignment,
        mutant=options.mutant,
        noop_fault=options.noop_fault,
        plugins=list(options.plugins),
        zookeeper_image=options.zookeeper_image,
        backend=options.backend,
        times=SIMULATION_START if options.backend == SIM else start,
        text=campaign.text,
        schedule=schedule.facts,
        expected=[asdict(known) for known in campaign.expected],
        versions={"kcontroller": __version__, "python": platform.python_version(), **_versions(options)},
        host={"cpus": len(os.sched_getaffinity(0)), "system": f"{platform.system()} {platform.machine()}"},
        commit=_commit(),
    )
    schedule.save(run.schedule)
    noop, duration_s, invariants = options.noop_fault, campaign.duration_s, campaign.catalogue.invariants
    try:
        if options.backend == SIM:
            mutant = load_plugins((*options.plugins, MUTANTS)).mutant(options.mutant)
            keep = partial(write_history, run.history)
            played = partial(simulate, settings, run.path, schedule, keep=keep, mutant=mutant, noop=noop)
            await _apart(partial(played, duration_s=duration_s))
        else:
            await _play(settings, run, start, clock, schedule, noop, duration_s)
    except asyncio.CancelledError:
        details = judge(run.path, invariants)  # what was proven until then stands; else the verdict is unknown
        run.end(clock.wall_ms() * 1_000_000, details["overall"])
        raise
    except EnvironmentError_ as failed:
        details = judge(run.path, invariants)  # environment, unless a violation was proven before
        run.end(clock.wall_ms() * 1_000_000, details["overall"])
        shown = {} if details["overall"] == ENVIRONMENT else details
        return RunResult(run.path, details["overall"], clock.now_us() / 1e6, shown, str(failed))
    details = judge(run.path, invariants)
    run.end(clock.wall_ms() * 1_000_000, details["overall"])
    return RunResult(run.path, details["overall"], clock.now_us() / 1e6, details)


async def _play(
    settings: ClusterSettings,
    run: RunDirectory,
    start: RunStart,
    clock: RealClock,
    schedule: Schedule,
    noop: str | None,
    duration_s: float,
) -> None:
    record = Recorder(run.history / "engine.jsonl", "engine", clock)

    def exited(node: int, status: int) -> None:
        record(ProcessExited(node=node, status=status))

    try:
        cluster = await ProcessCluster.start(
            settings, run.path, run_start=start, on_exit=exited, zookeeper_log=run.zookeeper
        )
        try:
            source = LogSource(cluster.zookeeper.txn_log_directory, start)
            feed = Feed(Tail(run.history, skip=("zookeeper",)), source)
            await Engine(cluster, feed, clock, record, noop, duration_s=duration_s).play(schedule)
        finally:
            await cluster.stop(keep_log_in=run.zookeeper)
    except EnvironmentError_ as failed:
        record(RunFailed(error=str(failed)))
        raise
    finally:
        record.close()


async def _apart(work: Callable[[], object]) -> None:
    """In a thread: simulated time has loops of its own, and runs outside of every other. Cancelled, it ends its run."""
    running = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait_for(running, None)
        raise


def _versions(options: Options) -> dict[str, str]:
    return {"zookeeper": "simulated"} if options.backend == SIM else versions(options.zookeeper_image)


@cache
def _commit() -> str | None:
    """The commit of the checkout that this runs in."""
    try:
        printed = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return printed.stdout.strip() or None if printed.returncode == 0 else None
