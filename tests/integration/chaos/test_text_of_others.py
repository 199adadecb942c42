"""Whatever text a plugin raises: every seed is played, the status is the verdict's, and nothing reaches a terminal raw."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.text import LONGEST

HERE = Path(__file__).parents[2] / "data" / "text_of_others"
PROGRAM = "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"


def played(tmp_path: Path, campaign: Path, *more: str, encoding: str) -> subprocess.CompletedProcess[bytes]:
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": encoding}
    environment["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
    command = ["campaign", "run", str(campaign), "--plugin", "odd_text", "--backend", "sim", *more]
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *command, "--out", str(tmp_path / "runs")],
        capture_output=True,
        env=environment,
        check=False,
        timeout=scaled(120),
    )


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_violation_with_odd_text_is_status_1_on_every_stream(tmp_path: Path, encoding: str) -> None:
    done = played(tmp_path, HERE / "odd.toml", encoding=encoding)

    assert (done.returncode, done.stderr) == (1, b"")
    text = done.stdout.decode(encoding)
    assert "2 runs: 2 violated" in text
    assert r"it raised raw \x00 \x1b[31m \x12 \ud800 ]]> <script>alert(1)</script>" in text
    assert all(char.isprintable() or char == "\n" for char in text)
    assert len((tmp_path / "summary.md").read_text(encoding="utf-8")) > 0
    runs = sorted((tmp_path / "runs").glob("*/*/verdicts.json"))
    assert [json.loads(path.read_text())["overall"] for path in runs] == ["violated", "violated"]


def test_an_exception_without_a_repr_is_named_by_its_type(tmp_path: Path) -> None:
    campaign = tmp_path / "mute.toml"
    campaign.write_text((HERE / "odd.toml").read_text().replace('"odd-text" }', '"mute" }'))
    done = played(tmp_path, campaign, "--seeds", "1", encoding="utf-8")

    assert done.returncode == 1, done.stderr
    assert "it raised <MuteError whose repr raises RuntimeError>" in done.stdout.decode()
    assert len(done.stdout) < 10 * LONGEST
