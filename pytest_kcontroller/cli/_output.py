"""What `--json` prints of runs that were played: the documents of docs/cli.schema.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kcontroller_chaos import backends
from kcontroller_chaos.judge.outcome import counted_as
from pytest_kcontroller.cli import _results, exit_status_of
from pytest_kcontroller.cli._results import Planned, Played

if TYPE_CHECKING:
    from kcontroller_chaos.play.runner import RunResult
    from pytest_kcontroller.cli._playing import Playing

Document = dict[str, Any]

_OF_A_VIOLATION = ("name", "kind", "known", "expected", "seen", "where", "witness")


def document(command: str, status: int, **facts: Any) -> Document:
    """The head of every document."""
    return {"schema": 1, "command": command, "status": status, **facts}


def of_playing(command: str, playing: Playing, status: int, **more: Any) -> Document:
    """Of runs that were planned, and played as far as they were."""
    verdicts = Counter(counted_as(result.verdict, result.unexpected) for result in playing.results)
    return document(
        command,
        status,
        planned=len(playing.planned),
        stopped=playing.stopped or None,
        verdicts=dict(sorted(verdicts.items())),
        runs=[of_run(run, result) for run, result in playing.played],
        causes=of_causes(playing.played),
        never_exercised=_results.never_in_any(playing.results),
        **more,
    )


def of_run(run: Planned, result: RunResult) -> Document:
    """One run: its verdict, how much it had to judge, and why it did not hold."""
    details = result.details
    violated = [entry for entry in details.get("invariants", ()) if entry["verdict"] == "violated"]
    return {
        "campaign": run.campaign.name,
        "file": str(run.campaign.file),
        "seed": run.seed,
        "directory": str(result.path),
        "verdict": result.verdict,
        "unexpected": result.unexpected,
        "status": result.status,
        "seconds": round(result.seconds, 3),
        "error": result.error or None,
        "parts": details.get("parts", {}),
        "transactions": details.get("transactions"),
        "violated": [{name: entry.get(name) for name in _OF_A_VIOLATION} for entry in violated],
        "never_exercised": _results.never_exercised(details),
        "expected": list(result.expected),
        "did_not_come": list(details.get("did_not_come", ())),
        "replay": _results.replay_line(result),
    }


def of_causes(played: Sequence[Played]) -> list[Document]:
    """Equal failures together."""
    return [
        {"verdict": cause.verdict, "text": cause.text, "runs": [_named(run) for run, _ in runs]}
        for cause, runs in _results.groups(played)
    ]


def of_failing(playing: Playing) -> list[Document]:
    """Of each campaign file the seeds that did not hold, and the line that plays them again."""
    return [
        {"campaign": campaign.name, "file": file, "seeds": seeds, "again": run_line(playing, file, seeds)}
        for file, (campaign, seeds) in _results.failing(playing.played).items()
    ]


def run_line(playing: Playing, file: str, seeds: Sequence[int]) -> str:
    """As it is typed."""
    return _results.run_line(file, seeds, playing.options, backend=backends.DEFAULT)


def _named(run: Planned) -> Mapping[str, Any]:
    return {"campaign": run.campaign.name, "seed": run.seed}


@contextmanager
def documented(print_document: Callable[[int], None]) -> Iterator[None]:
    """What ends the block early ends the command: its document, with the exit status that this gives, is printed first."""
    try:
        yield
    except BrokenPipeError:
        raise
    except BaseException as failed:
        print_document(exit_status_of(failed))
        raise
