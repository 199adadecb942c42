"""Run directories: readable whenever the process that writes one is killed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.real import RunStart

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class RunDirectory:
    path: Path

    @classmethod
    def create(
        cls,
        out: Path,
        campaign: Mapping[str, Any],
        seed: int,
        start: RunStart,
        *,
        backend: str,
        text: str = "",
        times: RunStart | None = None,
        **facts: Any,
    ) -> RunDirectory:
        """Makes `out/<campaign>/<run-id>/` with the campaign file, whose content is `text`, and a run.json whose
        verdict is `unknown`. `times` is what the times of its history count from (default: `start`). `facts` as in
        docs/formats.md."""
        began = utc(start.wall_ns)
        stem = f"{began[:19].replace('-', '').replace(':', '')}-seed-{seed}"
        base = out / campaign["name"]
        try:
            base.mkdir(parents=True, exist_ok=True)
            run = cls(_unused(base, stem))
            for part in ("history", "logs", "zookeeper"):
                (run.path / part).mkdir()
        except OSError as bad:
            raise UsageError(f"no run directory can be made: {bad.strerror}", where=str(base)) from None
        run.campaign.write_text(text, encoding="utf-8")
        run.write_run(
            {
                "schema": SCHEMA,
                "run": run.path.name,
                "campaign": dict(campaign),
                "seed": seed,
                "backend": backend,
                "selectors": {},
                "assignment": "striped",
                "mutant": None,
                "noop_fault": None,
                "plugins": [],
                "plugin_versions": {},
                "zookeeper_image": None,
                "thresholds": {},
                "expected": [],
                "versions": {},
                "commit": None,
                **facts,
                "started": began,
                "ended": None,
                "verdict": "unknown",
                "start": (times or start).encode(),
            }
        )
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Raises UsageError: there is no readable run.json."""
        run = cls(path)
        run.read_run()
        return run

    def read_run(self) -> dict[str, Any]:
        if not looked(self.path / "run.json"):
            raise UsageError("no run directory: it has no run.json", where=str(self.path))
        return read_json(self.path / "run.json")

    def write_run(self, value: Mapping[str, Any]) -> None:
        write_json(self.path / "run.json", value)

    def end(self, wall_ns: int, verdict: str, **facts: Any) -> None:
        """Replaces run.json in one step. `wall_ns` is the start and what the run took since: a clock that is set
        meanwhile makes no run shorter."""
        self.write_run({**self.read_run(), **facts, "ended": utc(wall_ns), "verdict": verdict})

    @property
    def start(self) -> RunStart:
        """The instant that run times count from."""
        return RunStart.decode(self.read_run()["start"])

    @property
    def campaign(self) -> Path:
        return self.path / "campaign.toml"

    @property
    def history(self) -> Path:
        return self.path / "history"

    @property
    def zookeeper(self) -> Path:
        return self.path / "zookeeper"

    @property
    def schedule(self) -> Path:
        return self.path / "schedule.jsonl"


def looked(path: Path, what: Callable[[Path], bool] = Path.exists) -> bool:
    """Whether it is `what`. Raises UsageError: its folder may not be entered, or a name is too long for any."""
    try:
        return what(path)
    except OSError as refused:
        raise UsageError(f"cannot be read: {refused.strerror}", where=str(path)) from None


def read_json(path: Path) -> dict[str, Any]:
    """Raises UsageError: it cannot be read, or is no JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as refused:
        raise UsageError(f"cannot be read: {refused.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise UsageError("cannot be read: it is no UTF-8 text", where=str(path)) from None
    except (ValueError, RecursionError) as bad:
        raise UsageError(f"cannot be read: it is no JSON: {bad}", where=str(path)) from None
    if not isinstance(value, dict):
        raise UsageError("is no JSON object", where=str(path))
    return value


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Whole or not at all, whenever the writer dies."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)  # noqa: PTH105


def _unused(base: Path, stem: str) -> Path:
    number = 1
    while True:
        path = base / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def utc(wall_ns: int) -> str:
    return datetime.fromtimestamp(wall_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
