"""A process that plays a batch of simulated runs: `python -m pytest_kcontroller.cli._worker`, started by _workers.py.

Its batch is one line on stdin, each run one line on stdout. It ends with its owner: stdin stays open, and its end is
the owner's, also after SIGKILL. Batches are short, because what a run killed stays in memory (runtime/scheduler.py).
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

GARBAGE = (20_000, 50, 1_000)
"""How often rubbish is looked for: what killed nodes held is none, and to look through all of it again and again took a
seventh of the time."""


def main() -> int:
    batch = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_owner, daemon=True).start()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a plugin prints is no answer
    play(batch, output)
    return 0


def _end_with_owner() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def play(batch: Mapping[str, Any], output: TextIO) -> None:
    """What fails in one run is told of that run; the others are played nevertheless."""
    from kcontroller_chaos.campaign.file import load_campaign
    from kcontroller_chaos.catalogue import load_catalogue
    from kcontroller_chaos.play.hunting import Hunter
    from kcontroller_chaos.play.runner import Options, run_once

    given = {**batch["options"], "out": Path(batch["options"]["out"]), "plugins": tuple(batch["options"]["plugins"])}
    options = Options(**given)
    campaign = load_campaign(Path(batch["file"]), load_catalogue(options.plugins))
    hunter = Hunter(campaign, options)
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    for seed in batch["seeds"]:
        try:
            if batch["keep"]:
                result = asyncio.run(run_once(campaign, seed, options))
                line = {"seed": seed, **asdict(result), "path": str(result.path)}
            else:
                line = asdict(hunter.play(seed))
        except Exception as failed:  # noqa: BLE001 - the owner says it, with the seed
            line = {"seed": seed, "failure": _failure(failed)}
        print(json.dumps({"file": batch["file"], **line}), file=output, flush=True)


def _failure(failed: Exception) -> dict[str, Any]:
    """`status` as an exit status: whose fault it is."""
    from pytest_kcontroller.cli import UNWRITABLE
    from pytest_kcontroller.errors import EnvironmentFailure, KControllerError
    from pytest_kcontroller.model.text import shown

    if isinstance(failed, KControllerError):
        return {"status": failed.exit_status, "what": str(failed)}
    if isinstance(failed, OSError) and failed.errno in UNWRITABLE:
        return {"status": EnvironmentFailure.exit_status, "what": f"nothing more can be written: {failed}"}
    return {"status": KControllerError.exit_status, "what": f"{type(failed).__name__}: {shown(failed, str)}"}


if __name__ == "__main__":
    sys.exit(main())
