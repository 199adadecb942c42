"""`kcontroller shrink`: a run with more than it needs, in simulated time."""

from __future__ import annotations

from pathlib import Path

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

ZOMBIE = Path(__file__).parents[3] / "chaos" / "campaigns" / "zombie.toml"
MORE = """

[[workload]]
kind = "admin"
action = "create_topic"
at_s = 0.5
topic = "for-nothing"

[[faults]]
id = "for-nothing"
kind = "latency"
target = "others"
at_s = 5
duration_s = 1
"""


def test_what_a_run_does_not_need_is_left_out_and_what_is_left_is_a_campaign(tmp_path: Path) -> None:
    def kcontroller(*arguments: object) -> tuple[int, str]:
        done = run_kcontroller(*arguments, timeout=scaled(120), cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "zombie.toml").write_text(ZOMBIE.read_text() + MORE)
    mutant = ("--backend", "sim", "--mutant", "KAFKA-6082")
    status, said = kcontroller("campaign", "run", "zombie.toml", "--seeds", 3, *mutant)
    assert status == 1, said
    (run,) = (tmp_path / "runs").glob("*/*")
    status, said = kcontroller("shrink", run, "--out", "small", "-o", "small.toml")
    assert status == 0, said
    assert "6 faults and actions, which violate no-stale-epoch-write" in said
    assert "4 of 6 violate it" in said
    assert "to play it: kcontroller campaign run small.toml --seeds 3 --backend sim --mutant KAFKA-6082\n" in said
    (small,) = (tmp_path / "small").glob("*/*")
    for left in (small / "schedule.jsonl", tmp_path / "small.toml"):
        assert "depose" in left.read_text() and "for-nothing" not in left.read_text()
    status, said = kcontroller("campaign", "run", "small.toml", *mutant)
    assert status == 1 and "no-stale-epoch-write" in said, said

    status, said = kcontroller("shrink", run, "-o", "small.toml")
    assert status == 2 and "small.toml: is there already" in said
