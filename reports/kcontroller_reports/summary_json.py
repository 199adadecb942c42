"""summary.json: the numbers of a report for other tools. Its shape is published in summary.schema.json."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from kcontroller_reports.block import Block
from kcontroller_reports.summary import OUTCOMES, Recovery, Run, Summary
from kcontroller_reports.tables import VERDICTS

SCHEMA_VERSION = 1


def summary_json(summary: Summary, block: Block) -> str:
    """The file. Texts stand as they were found: whoever shows them escapes them."""
    value = {
        "schema": SCHEMA_VERSION,
        "verdict": _verdict(summary),
        "runs": {
            "total": len(summary.runs),
            "known": summary.known,
            **{outcome: summary.count(outcome) for outcome in OUTCOMES},
        },
        "setups": [
            {"name": one.name, "total": len(one.runs), **{outcome: one.count(outcome) for outcome in OUTCOMES}}
            for one in summary.setups
        ],
        "remarks": list(summary.remarks),
        "failures": [
            {
                "setup": failure.setup,
                "verdict": failure.verdict,
                "cause": failure.cause,
                "runs": failure.runs,
                "known": failure.known,
                "example": {name: getattr(failure, name) for name in ("campaign", "seed", "run", "directory")},
                **{name: getattr(failure, name) for name in ("expected", "seen", "where")},
                "witness": _witness(failure.witness),
                "began_us": failure.began_us,
                "faults": list(failure.faults),
                "consequences": [asdict(one) for one in failure.consequences],
                "replay": lines.command,
            }
            for failure, lines in zip(summary.failures, block.failures, strict=True)
        ],
        "invariants": [_without(asdict(row), "never", never_exercised=row.never) for row in summary.invariants],
        "recovery": [_recovery(row) for row in summary.recovery],
        "faults": [asdict(row) for row in summary.fault_kinds],
        "results": [_run(run) for run in summary.runs],
    }
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _witness(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def _without(row: dict[str, Any], name: str, **more: Any) -> dict[str, Any]:
    return {**{key: value for key, value in row.items() if key != name}, **more}


def _recovery(row: Recovery) -> dict[str, Any]:
    """A percentile that is no time (its recovery was not seen to end) is null, as is one that needs more values: `no_value`
    says for which of the two."""
    times = {name: getattr(row, name) for name in ("p50_us", "p95_us", "p99_us", "max_us")}
    finite = {name: None if us is None or math.isinf(us) else int(us) for name, us in times.items()}
    return {
        "setup": row.setup,
        "fault": row.fault,
        "n": row.n,
        "not_ended": row.endless,
        "nothing_to_recover": row.idle,
        **finite,
        "no_value": {name: _why_null(us) for name, us in times.items() if finite[name] is None},
    }


def _why_null(us: float | None) -> str:
    return "too few values" if us is None else "no end seen"


def _run(run: Run) -> dict[str, Any]:
    names = (
        "campaign", "seed", "run", "directory", "setup", "verdict", "unfinished", "known", "reason", "commit", "mutant",
        "started", "duration_us",
    )  # fmt: skip
    return {**{name: getattr(run, name) for name in names}, "parts": run.parts}


def _verdict(summary: Summary) -> str:
    """The worst one; a run that did not finish is unknown."""
    return next(run.verdict for name in VERDICTS for run in summary.runs if run.verdict == name)
