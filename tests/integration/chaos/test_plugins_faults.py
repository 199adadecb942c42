"""A user's fault that is wrong in a run: a sentence that says what it raised, and the other seeds are played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_kcontroller.cli import main

PLUGIN = """
from dataclasses import dataclass
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.hookspecs import hookimpl

@dataclass(frozen=True, kw_only=True)
class Odd(Fault):
    kind = "odd"

    async def inject(self, on):
        {inject}

    async def observe(self, on):
        {observe}

    async def heal(self, on):
        {heal}

@hookimpl
def kcontroller_faults():
    return [Odd]
"""
CAMPAIGN = """
[campaign]
name = "odd"
duration_s = 3
seeds = "1..2"

[[topics]]
name = "t"

[[faults]]
kind = "odd"
at_s = 1
target = "TARGET"
"""
DEAF = """
        import asyncio
        while True:
            try:
                await on.clock.sleep_us(1_000_000)
            except asyncio.CancelledError:
                pass
"""


@pytest.mark.parametrize(
    ("name", "steps", "part", "why"),
    [
        ("kct_inject", {"inject": "raise ValueError('wet')"}, "injected", "raised ValueError: wet (kct_inject.py:11)"),
        ("kct_leaves", {"inject": "raise SystemExit(3)"}, "injected", "its inject raised SystemExit: 3"),
        ("kct_own_timeout", {"inject": "raise TimeoutError"}, "injected", "its inject raised TimeoutError"),
        ("kct_cancel", {"inject": "import asyncio; raise asyncio.CancelledError"}, "injected", "raised CancelledError"),
        ("kct_ends", {"inject": "import pytest; pytest.fail('wet')"}, "injected", "its inject raised Failed: wet"),
        ("kct_ended", {"observe": "import asyncio; raise asyncio.CancelledError"}, "observed", "raised CancelledError"),
        ("kct_stops", {"heal": "import asyncio; raise asyncio.CancelledError"}, "healed", "raised CancelledError"),
        ("kct_ctrl_c", {"inject": "raise KeyboardInterrupt"}, "injected", "its inject raised KeyboardInterrupt (kct_ctrl_c"),
        ("kct_left", {"observe": "raise GeneratorExit"}, "observed", "its observe raised GeneratorExit (kct_left.py:14)"),
        ("kct_none", {"observe": "return None"}, "observed", "it gave None, not a dict of what was seen"),
        ("kct_json", {"observe": "return {'a': object()}"}, "observed", "is not JSON serializable"),
        ("kct_nan", {"observe": "return {'a': float('nan')}"}, "observed", "are not JSON compliant"),
        ("kct_observe", {"observe": "return 1 / 0"}, "observed", "its observe raised ZeroDivisionError"),
        ("kct_deaf", {"observe": DEAF}, "observed", "within 2 s; its observe went on for 5 s after it was cancelled"),
        ("kct_deaf_all", {"observe": DEAF, "target": "others"}, "observed", "its observe went on for 2.5 s after it was"),
        ("kct_deaf_heal", {"heal": DEAF}, "healed", "healing took longer than 20 s; its heal went on for 5 s after"),
        ("kct_heal", {"heal": "return {}['gone']"}, "healed", "its heal raised KeyError: 'gone'"),
    ],
)  # fmt: skip
def test_what_a_fault_raises_is_told_and_the_other_seeds_are_played(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    steps: dict[str, str],
    part: str,
    why: str,
) -> None:
    given = {"inject": "pass", "observe": "return {}", "heal": "pass", "target": "random", **steps}
    (tmp_path / f"{name}.py").write_text(PLUGIN.format(**given))
    (tmp_path / "odd.toml").write_text(CAMPAIGN.replace("TARGET", given["target"]))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = ["campaign", "run", str(tmp_path / "odd.toml"), "--backend", "sim", "--out", str(tmp_path / "runs")]
    assert main([*run, "--plugin", name]) == 6
    assert "Traceback" not in capsys.readouterr().err
    judged = sorted(tmp_path.glob("runs/odd/*/verdicts.json"))
    assert len(judged) == 2
    for path in judged:
        found = json.loads(path.read_text())
        assert found["overall"] == "environment"
        assert why in found["parts"][part]["detail"]
