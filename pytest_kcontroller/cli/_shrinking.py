"""The shrinking itself: what is left of a schedule, a run of it that is kept, and its campaign file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kcontroller_chaos import backends
from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.campaign.written import campaign_text
from kcontroller_chaos.play.hunting import Hunter
from kcontroller_chaos.play.runner import run_once
from kcontroller_chaos.play.shrinking import Shrinking, Tried, violating_seed
from pytest_kcontroller.cli._original import outcome
from pytest_kcontroller.cli._output import Document, document, of_run
from pytest_kcontroller.cli._plan import table
from pytest_kcontroller.cli._results import Planned, arguments, line_of, run_line, why
from pytest_kcontroller.cli._signals import run_until_terminated
from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from pytest_kcontroller.plugin.manager import typed
from pytest_kcontroller.runtime.real import RealClock, RunStart

if TYPE_CHECKING:
    from kcontroller_chaos.campaign.schedule import Schedule
    from kcontroller_chaos.play.runner import Options, RunResult

DONE, UNKNOWN = 0, 4
SEEDS = 20
"""So many are tried for the campaign file, whose seed moves its times; on real nodes the run's own alone."""


@dataclass(slots=True, kw_only=True)
class Shrink:
    """What is wanted, and what came of it so far."""

    run: Path
    planned: Planned
    schedule: Schedule
    options: Options
    wanted: str
    """The invariant that must be violated."""
    output: Path
    """See `reserved`."""
    plays: int
    max_runs: int
    max_seconds: float | None
    tried: list[Tried] = field(default_factory=list)
    stopped: str = ""
    left: Schedule | None = None
    """The fewest; None: the violation did not come back, or it is not known yet."""
    kept: RunResult | None = None
    """A run that violates it, of the fewest that did so far."""
    written: Path | None = None
    not_written: str = ""
    again: str = ""
    """The line that plays the file."""

    @property
    def simulated(self) -> bool:
        return backends.backend(self.options.backend).simulated


class Player:
    """Plays schedules of a campaign. Where time is simulated nothing is kept; of real nodes every run is, and `last` is the
    newest. Raises UsageError as runner.check does."""

    def __init__(self, campaign: Campaign, options: Options) -> None:
        self._campaign, self._options = campaign, options
        self._hunter = Hunter(campaign, options) if backends.backend(options.backend).simulated else None
        self.last: RunResult | None = None

    def __call__(self, seed: int, schedule: Schedule | None) -> tuple[str, Collection[str]]:
        """See shrinking.Play."""
        if self._hunter is not None:
            found = self._hunter.play(seed, schedule)
            return found.verdict, found.violated
        self.last = run_until_terminated(run_once(self._campaign, seed, self._options, schedule))
        return self.last.verdict, outcome(self.last.details or {"overall": self.last.verdict})[1:]


@contextlib.contextmanager
def reserved(plan: Shrink) -> Iterator[None]:
    """The plan's file is there, empty, from the beginning: what cannot be written is said before all is played, and no file
    of somebody else's is in its place in the end. It stays if the plan is written. Raises UsageError."""
    try:
        plan.output.open("x").close()
    except FileExistsError:
        raise UsageError("is there already", where=str(plan.output), hint="name another file with -o") from None
    except FileNotFoundError:
        hint = "make it, or name another with -o"
        raise UsageError("there is no such directory", where=str(plan.output.parent), hint=hint) from None
    except OSError as refused:
        hint = "name another file with -o"
        raise UsageError(f"cannot be written: {refused.strerror}", where=str(plan.output), hint=hint) from None
    try:
        yield
    finally:
        if plan.written is None:
            with contextlib.suppress(OSError):  # what went wrong is told already
                plan.output.unlink()


def shrink(plan: Shrink) -> int:
    """Its exit status. Raises KeyboardInterrupt on Ctrl-C and SIGTERM."""
    clock, play = RealClock(RunStart.now()), Player(plan.planned.campaign, plan.options)

    def over(runs: int) -> str:
        if runs >= plan.max_runs:
            return f"--max-runs {plan.max_runs}"
        late = plan.max_seconds is not None and clock.now_us() / 1e6 > plan.max_seconds
        return f"--max-seconds {plan.max_seconds:g}" if late else ""

    def tell(tried: Tried, runs: int) -> None:
        if tried.violated:
            plan.kept = play.last
        if tried.violated or not plan.simulated:
            where = f"  {plan.kept.path}" if tried.violated and plan.kept is not None else ""
            print(f"{_told(plan, tried)}, after {runs} runs{where}", flush=True)

    shrinking = Shrinking(
        schedule=plan.schedule, wanted=plan.wanted, play=play, plays=plan.plays, over=over, tell=tell, tried=plan.tried
    )
    print(f"{plan.planned.name}: {len(plan.schedule.actions)} faults and actions, which violate {plan.wanted}")
    try:
        if shrinking.comes_back():
            plan.left = shrinking.shrunk()
        plan.stopped = shrinking.stopped
        if plan.left is None:
            print(f"the violation did not come back in {_times(shrinking.runs)}: {_why_not_back(plan)}")
            return UNKNOWN
        if plan.stopped:
            print(f"stopped after {_times(shrinking.runs)}: fewer may do ({plan.stopped})")
        _keep(plan, plan.left)
        _write(plan, plan.left, lambda runs: over(shrinking.runs + runs))
    except KeyboardInterrupt:
        plan.stopped = "interrupted"
        raise
    return DONE


def _told(plan: Shrink, tried: Tried) -> str:
    """Where one play does not say it all: how often it was played, and how that came out."""
    some, plays = f"{tried.actions} of {len(plan.schedule.actions)}", len(tried.verdicts)
    if not tried.violated:
        return f"{some} do not, in {_times(plays)} ({', '.join(tried.verdicts)})"
    return f"{some} violate it" + (f", in play {plays} of {plan.plays}" if plan.plays > 1 else "")


def _times(runs: int) -> str:
    return "one play" if runs == 1 else f"{runs} plays"


def _why_not_back(plan: Shrink) -> str:
    if plan.stopped:
        return plan.stopped
    changed = "is the code another one, or a plugin?"
    return changed if plan.simulated else f"{changed} If it is rare, more --plays may see it"


def _keep(plan: Shrink, left: Schedule) -> None:
    """The actions, and a run of them with a directory: of real nodes it is the one that was seen to violate it."""
    print()
    print("\n".join(table(left.actions)) if left.actions else "Nothing need happen: it is violated by itself.")
    print()
    if plan.kept is None:
        plan.kept = run_until_terminated(run_once(plan.planned.campaign, plan.planned.seed, plan.options, left))
    print(line_of(plan.planned.name, plan.kept))
    for line in why(plan.kept):
        print(f"    {line}")


def _write(plan: Shrink, left: Schedule, over: Callable[[int], str]) -> None:
    """With a seed that violates it, or not at all: until that is known, nobody knows whether it violates anything. It is
    what all is for, and played once, however long that has taken; again until `over(runs)` says why not."""
    planned, output, played, stopped = plan.planned, plan.output, list[int](), ""

    def write(seed: int) -> None:
        about = f"What is left of {planned.name} by `kcontroller shrink`: it violates {plan.wanted}."
        text = campaign_text(planned.campaign, left.actions, seed, about)
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as failed:
            kept = "" if plan.kept is None else f"what is left is the run {plan.kept.path}, which replays"
            raise EnvironmentFailure(f"cannot be written: {failed.strerror}", where=str(output), hint=kept) from None

    def seeds() -> Iterator[int]:
        nonlocal stopped
        others = (seed for seed in range(1, SEEDS + 1) if seed != planned.seed and plan.simulated)
        for seed in (planned.seed, *others):
            for _ in range(plan.plays):
                if played and (stopped := over(len(played))):
                    return
                played.append(seed)
                yield seed

    try:
        write(planned.seed)
        program = planned.campaign.program
        place = "" if program is None else str(program.described["directory"])
        campaign = load_campaign(output, planned.campaign.catalogue, directory=place)
        seed = violating_seed(Player(campaign, plan.options), plan.wanted, seeds())
    except UsageError as cannot:  # what only a generator can do
        plan.not_written = f"no campaign file can say this: {cannot.what}"
    else:
        if seed is not None:
            write(seed)
            _tell_written(plan, seed)
            return
        count = len(set(played))
        tried = f"with {count} seed{'' if count == 1 else 's'}" if plan.simulated else f"in {_times(len(played))}"
        why = f"its seed moves the times, and {tried} {plan.wanted} was not violated"
        plan.not_written = f"no campaign file was written: {why}{f' ({stopped})' if stopped else ''}"
    print(plan.not_written)


def _tell_written(plan: Shrink, seed: int) -> None:
    """And how it is played: with what its run had besides the file."""
    options, of_file = plan.options, plan.planned.campaign.cluster
    plan.written = plan.output
    given = replace(
        options,
        assignment=None if options.assignment == of_file.assignment else options.assignment,
        selectors={
            reason: choice for reason, choice in options.selectors.items() if choice != of_file.selectors.get(reason)
        },
    )
    print(f"written: {plan.output}")
    tables = [choice for choice in (given.assignment, *given.selectors.values()) if isinstance(choice, Mapping)]
    if tables:  # of a run.json that somebody has edited
        print(
            f"    no option says the table of {tables[0]['name']!r} that its run had: write it into [cluster] of the file"
        )
        return
    plan.again = run_line(str(plan.output), [seed], given, backend=backends.DEFAULT)
    print(f"    to play it: {plan.again}")
    if not arguments(given, backend=options.backend):
        test = ["pytest", str(plan.output), f"--kc-backend={options.backend}"]
        print(f"    as a test: {typed(test, (), backends.backend(options.backend).chosen)}")


def document_of(plan: Shrink, status: int) -> Document:
    """What `--json` prints (docs/cli.schema.json)."""
    return document(
        "shrink",
        status,
        directory=str(plan.run),
        backend=plan.options.backend,
        invariant=plan.wanted,
        actions=len(plan.schedule.actions),
        plays=plan.plays,
        tried=[
            {"actions": one.actions, "verdicts": list(one.verdicts), "violated": one.violated} for one in plan.tried
        ],
        stopped=plan.stopped or None,
        left=None if plan.left is None else [action.entry for action in plan.left.actions],
        run=None if plan.kept is None else of_run(plan.planned, plan.kept),
        written=None if plan.written is None else str(plan.written),
        not_written=plan.not_written or None,
        again=plan.again or None,
    )
