"""What is said of runs that have been played: a line each, why one did not hold, and what many of them have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcontroller_chaos import backends
from kcontroller_chaos.checking import NEVER_EXERCISED
from kcontroller_chaos.judge.outcome import counted_as
from pytest_kcontroller.model.text import in_words, printable_lines, without_numbers
from pytest_kcontroller.plugin.manager import typed

if TYPE_CHECKING:
    from kcontroller_chaos.campaign.file import Campaign
    from kcontroller_chaos.campaign.schedule import Schedule
    from kcontroller_chaos.play.runner import Options, RunResult

DRAWN = "drawn-"
"""How the ids of what a generator draws begin: of those a refusal is no news."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to come. `schedule` None: the one that campaign and seed give."""

    campaign: Campaign
    seed: int
    schedule: Schedule | None = None

    @property
    def name(self) -> str:
        return f"{self.campaign.name} seed {self.seed}"


Played = tuple[Planned, "RunResult"]


def verdict_of(result: RunResult) -> str:
    """In words; what is known is said, and what is wrong besides."""
    known = any(entry.get("known") for entry in result.details.get("invariants", ()))
    if not known or result.unexpected == "violated":
        return result.verdict
    return "violated, as expected" + (f", and {result.unexpected}" if result.unexpected != "held" else "")


def tested(result: RunResult) -> str:
    """How much came about of what was planned: `faults 3 of 4, operations 2 of 2`; empty: nobody knows."""
    parts = result.details.get("parts", {})
    named = (("faults", parts.get("injected", {})), ("operations", parts.get("operations", {})))
    return ", ".join(f"{name} {part['count']} of {part['of']}" for name, part in named if part.get("of"))


def line_of(name: str, result: RunResult, *, verdict: str | None = None) -> str:
    """One run in a line; `verdict` is how its verdict is written (in colour)."""
    facts = [f"{name}: {verdict or verdict_of(result)} in {result.seconds:.1f} s", tested(result)]
    return f"{', '.join(filter(None, facts))}  {result.path}"


def why(result: RunResult, *, verbose: bool = False, alone: bool = False) -> list[str]:
    """What a person must know of a run; `alone`: no other is told of. Texts of others in it are printable."""
    return [printable_lines(line) for line in _why(result, verbose, alone)]


def _why(result: RunResult, verbose: bool, alone: bool) -> Iterator[str]:
    if result.error:
        yield result.error
    for place in result.details.get("cut", ()):
        yield f"{place}: a killed writer left this line half; it was left out"
    yield from result.details.get("notes", ())
    if result.details:
        of_parts, of_invariants = _of_parts(result), _of_invariants(result.details["invariants"])
        yield from (*of_parts, *of_invariants) if result.unexpected == "environment" else (*of_invariants, *of_parts)
        yield from _of_operations(result, verbose)
    for reason in result.details.get("lapsed", ()):
        yield f"was known, and its date has passed: {reason}"
    if verbose:
        yield from _of_exercise(result.details)
    if verbose or alone:
        yield from (f"expected, and did not come: {text}" for text in result.details.get("did_not_come", ()))
    if result.verdict != "held" and result.details:
        yield again(result)


def again(result: RunResult) -> str:
    """The line that plays it again."""
    return f"again: {replay_line(result)}"


def replay_line(result: RunResult) -> str:
    """As it is typed."""
    return typed(["kcontroller", "replay", str(result.path)], result.plugins)


def _of_invariants(invariants: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for entry in sorted(invariants, key=_weight):
        if entry["verdict"] == "violated":
            known = f" (known: {entry['known']})" if entry.get("known") else ""
            yield f"{entry['name']}{known}: {entry['seen']} ({entry['where']}); expected {entry['expected']}"
            if entry["witness"]:
                yield f"witness: {in_words(entry['witness'])}"
        elif entry["verdict"] == "unknown":
            yield f"{entry['name']}: unknown: {entry['seen']}"


def _weight(entry: Mapping[str, Any]) -> tuple[bool, bool]:
    """What is new first; then what must never happen: what did not come about in the end is often its consequence."""
    return bool(entry.get("known")), entry["kind"] != "safety"


def _of_parts(result: RunResult) -> Iterator[str]:
    for name, part in result.details["parts"].items():
        if part["verdict"] == "environment" and not _is_the_error(part["detail"], result):
            yield f"not {name}: {part['detail']}"
        elif part["verdict"] == "unknown" and not any(
            entry["verdict"] == "unknown" for entry in result.details["invariants"] if name == "invariants"
        ):
            yield f"unknown: {part['detail']}"


def _is_the_error(detail: str, result: RunResult) -> bool:
    """Whether it has been told, with all that was known of it."""
    return bool(result.error) and detail.endswith(f": {result.error.partition(chr(10))[0]}")


def _of_operations(result: RunResult, verbose: bool) -> Iterator[str]:
    """Those of the file that did not succeed; if all are meant, those that were drawn too."""
    from kcontroller_chaos.judge.tested import not_done

    if result.details["parts"].get("operations", {}).get("verdict") == "unknown":
        return  # its detail has said it
    told = [one for one in result.details.get("operations", ()) if verbose or not one["id"].startswith(DRAWN)]
    yield from (f"operations: {text}" for text in not_done(told))


def _of_exercise(details: Mapping[str, Any]) -> Iterator[str]:
    """How much each part of the verdict had to judge."""
    if not details:
        return
    counts = [f"{name} {part['count']} of {part['of']}" for name, part in details["parts"].items()]
    yield f"judged: {', '.join(counts)}; {details['transactions']} transactions"
    skipped = Counter(fault["why"] for fault in details["faults"] if fault["status"] == "skipped")
    yield from (f"{text} ({count} times)" if count > 1 else text for text, count in skipped.most_common())
    for entry in details.get("invariants", ()):
        if entry["verdict"] == "held" and entry["seen"]:
            yield f"{entry['name']}: {entry['seen']}"
    told = [note for note in details.get("notes", ()) if note.startswith(NEVER_EXERCISED)]  # with the reasons
    if never := [name for name in never_exercised(details) if not any(name in note for note in told)]:
        yield f"{NEVER_EXERCISED}: {', '.join(never)}"


def never_exercised(details: Mapping[str, Any]) -> list[str]:
    """The invariants that found nothing to check."""
    return [entry["name"] for entry in details.get("invariants", ()) if entry["verdict"] == NEVER_EXERCISED]


# --- many runs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a run did not hold. Runs with the same `key` failed equally: only numbers of a reason differ. What is violated
    are names, with the paths of znodes in some: of those every letter counts."""

    verdict: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        return self.verdict, self.text if self.verdict == "violated" else without_numbers(self.text)

    @classmethod
    def of(cls, result: RunResult) -> Cause | None:
        """None: it held, or nothing but the expected is wrong."""
        if not result.status:
            return None
        entries = sorted(result.details.get("invariants", ()), key=_weight)
        new = [entry["name"] for entry in entries if entry["verdict"] == "violated" and not entry.get("known")]
        if result.unexpected == "violated":
            return cls("violated", ", ".join(new))
        parts = [part for part in result.details.get("parts", {}).values() if part["verdict"] == result.unexpected]
        unknown = [f"{entry['name']}: {entry['seen']}" for entry in entries if entry["verdict"] == "unknown"]
        details = [part["detail"] for part in parts] or ([] if result.unexpected == "environment" else unknown)
        return cls(result.unexpected, "; ".join(details) or result.error.partition("\n")[0] or "it did not end")


def counts(results: Sequence[RunResult]) -> str:
    """`20 runs: 17 held, 3 violated`. What is wrong besides a known violation counts, as for the status."""
    verdicts = [counted_as(r.verdict, r.unexpected) for r in results]
    listed = [f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(sorted(verdicts))]
    known = sum(1 for result in results if result.expected)
    return f"{len(results)} runs: {', '.join(listed)}{f' ({known} expected)' if known else ''}"


def in_common(played: Sequence[Played]) -> list[str]:
    """What many runs have in common: what none of them has tested, what did not come, and equal failures together."""
    results = [result for _, result in played]
    lines = []
    if never := never_in_any(results):
        lines.append(f"never exercised in any run: {', '.join(never)}")
    missed = Counter(text for result in results for text in result.details.get("did_not_come", ()))
    lines += [f"expected, and did not come in {count} of {len(results)} runs: {text}" for text, count in missed.items()]
    for cause, runs in groups(played):
        lines.append(printable_lines(f"{cause.verdict} in {len(runs)} of {len(results)} runs: {cause.text}"))
    return lines


def groups(played: Sequence[Played]) -> list[tuple[Cause, list[Played]]]:
    """Equal failures together, in the order in which they came first."""
    found: dict[tuple[str, str], tuple[Cause, list[Played]]] = {}
    for run, result in played:
        if (cause := Cause.of(result)) is not None:
            found.setdefault(cause.key, (cause, []))[1].append((run, result))
    return list(found.values())


def never_in_any(results: Sequence[RunResult]) -> list[str]:
    """The invariants that found nothing to check in any of the runs."""
    judged = [result.details for result in results if result.details.get("invariants")]
    each = [never_exercised(details) for details in judged]
    return [name for name in each[0] if all(name in names for names in each)] if each else []


def failing(played: Sequence[Played]) -> dict[str, tuple[Campaign, list[int]]]:
    """Campaign file -> its campaign and the seeds that did not hold."""
    found: dict[str, tuple[Campaign, list[int]]] = {}
    for run, result in played:
        if result.status:
            seeds = found.setdefault(str(run.campaign.file), (run.campaign, []))[1]
            seeds += [run.seed] if run.seed not in seeds else []
    return {file: (campaign, sorted(seeds)) for file, (campaign, seeds) in found.items()}


def seeds_text(seeds: Sequence[int]) -> str:
    """As `--seeds` takes them."""
    return ",".join(map(str, seeds))


def run_line(file: str, seeds: Sequence[int], options: Options, *, backend: str) -> str:
    """What plays these seeds of a campaign file, as it is typed."""
    command = ["kcontroller", "campaign", "run", file, "--seeds", seeds_text(seeds)]
    variables = backends.backend(options.backend).chosen
    return typed([*command, *arguments(options, backend=backend)], options.plugins, variables)


def arguments(options: Options, *, backend: str) -> list[str]:
    """The options as they were given; `backend` is the one that need not be."""
    given = [("backend", options.backend)] if options.backend != backend else []
    given += [("mutant", options.mutant)] if options.mutant else []
    given += [("noop-fault", options.noop_fault)] if options.noop_fault else []
    given += [("assignment", options.assignment)] if options.assignment else []
    given += [("selector", f"{reason}={name}") for reason, name in options.selectors.items()]
    given += [("plugin", module) for module in options.plugins]
    if options.zookeeper_image:
        given += [("zookeeper", "container"), ("zookeeper-image", options.zookeeper_image)]
    return [part for name, value in given for part in (f"--{name}", str(value))]
