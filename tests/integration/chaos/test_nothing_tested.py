"""A run that tested nothing does not hold, and what is expected hides nothing: campaigns in simulated time, by exit status
and words."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

ZOMBIE = (Path(__file__).parents[3] / "chaos/campaigns/zombie.toml").read_text()


def kcontroller(*arguments: object, folder: Path) -> tuple[int, str]:
    done = run_kcontroller(*arguments, cwd=folder, timeout=scaled(120))
    return done.returncode, done.stdout + done.stderr


def run(folder: Path, *options: str) -> tuple[int, str]:
    return kcontroller("campaign", "run", "c.toml", "--backend", "sim", *options, folder=folder)


def head(duration_s: float) -> str:
    topic = '[[topics]]\nname = "orders"\nreplication_factor = 3\n'
    return f'[campaign]\nname = "c"\nduration_s = {duration_s}\n{topic}[cluster]\nsession_timeout_ms = 1000\n'


SKIPPED = head(4) + (
    '[[faults]]\nkind = "kill"\ntarget = "node:1"\nwhen = "epoch.changed"\nif_possible = true\n'
    '[[faults]]\nkind = "pause"\ntarget = "leader-of:nosuch-0"\nat_s = 1\nif_possible = true\n'
)
IN_VAIN = head(12) + '[generator]\nfaults = ["hold_request", "drop_reply", "stall"]\n'
NO_ROOM = head(6) + '[generator]\nfaults = ["kill"]\nevery_s = [4, 5]\n'
CREATE = '[[workload]]\nkind = "admin"\naction = "create_topic"\n'
REFUSED = (
    head(6)
    + '[[faults]]\nkind = "kill"\ntarget = "node:1"\nat_s = 0.3\nduration_s = 5\n'
    + f'{CREATE}at_s = 3\ntopic = "late"\nreplication_factor = 3\n{CREATE}at_s = 3.5\ntopic = "orders"\n'
)
NOTHING = head(1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SKIPPED, ["faults 0 of 2", "0 of 2 faults were applied: 2 skipped: ", "no node was 'leader-of:nosuch-0'"]),
        (IN_VAIN, ["faults 0 of ", " x no evidence within "]),
        (NO_ROOM, ["the generator found no room: its first action comes 4 to 5 s after the start"]),
        (
            REFUSED,
            ["operations 0 of 2", "0 of 2 operations succeeded; 2 refused: ", "the topic 'orders' exists already"],
        ),
        (NOTHING, ["the file plans neither faults nor operations"]),
    ],
    ids=["skipped", "in vain", "no room", "refused", "nothing"],
)
def test_a_run_that_tested_nothing_is_unknown_and_says_why(tmp_path: Path, text: str, said: list[str]) -> None:
    (tmp_path / "c.toml").write_text(text)
    status, output = run(tmp_path)
    assert status == 4, output
    assert all(words in output for words in said), output


def test_what_was_refused_is_told_where_the_rest_was_done(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(REFUSED + f'{CREATE}at_s = 4\ntopic = "small"\n')
    status, output = run(tmp_path)
    assert status == 0, output
    assert "held" in output and "operations 1 of 3" in output
    assert "operations: 2 refused: " in output
    (history,) = tmp_path.glob("runs/c/*/history/engine.jsonl")
    assert history.read_text().count('"kind":"admin.fail"') == 2


def test_a_file_with_neither_can_be_meant(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(NOTHING + "[thresholds]\nfaults_applied = 0\noperations_ok = 0\n")
    status, output = run(tmp_path)
    assert status == 0, output


def test_plan_says_what_will_not_come_about(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(NO_ROOM)
    status, output = kcontroller("campaign", "plan", "c.toml", folder=tmp_path)
    assert (status, "note: the generator found no room" in output) == (0, True), output
    (tmp_path / "c.toml").write_text(SKIPPED)
    status, output = kcontroller("campaign", "plan", "c.toml", folder=tmp_path)
    assert (status, "note: fault-1 (pause) is skipped: no topic of the file is called 'nosuch'" in output) == (0, True)


def test_a_hunt_counts_runs_that_tested_nothing_apart_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(NO_ROOM)
    status, output = kcontroller("hunt", "c.toml", "--max-runs", 3, folder=tmp_path)
    assert status == 4, output
    assert "nothing tested in 3 of 3 runs: " in output and "the generator found no room" in output
    assert not (tmp_path / "runs").exists()
    assert "kcontroller hunt c.toml --from-seed " in output.splitlines()[-1]


def expected(*names: str) -> str:
    return "".join(f'\n[[expected]]\ninvariant = "{name}"\nreason = "ISSUE-1"\nuntil = 2099-01-01\n' for name in names)


NEVER = '\n[[faults]]\nid = "never"\nkind = "hold"\npoint = "controller.before-topic-write"\nat_s = 3\nduration_s = 1\n'
FIRST, *CONSEQUENCES = ("no-stale-epoch-write", "metadata-agrees-after-healing", "replicas-hosted-after-healing")


def zombie(folder: Path, more: str, *options: str) -> tuple[int, list[str]]:
    (folder / "c.toml").write_text(ZOMBIE + more)
    status, output = run(folder, "--seeds", "1", *options)
    return status, output.splitlines()


def test_an_expected_failure_hides_no_environment_failure(tmp_path: Path) -> None:
    status, lines = zombie(tmp_path, NEVER + expected(FIRST, *CONSEQUENCES), "--mutant", "KAFKA-6082")
    assert status == 6, lines
    assert "violated, as expected, and environment" in lines[0]
    assert lines[1].startswith("    not observed: never (hold)"), "what is not expected is said first"


def test_an_expected_failure_hides_no_other_violation(tmp_path: Path) -> None:
    status, lines = zombie(tmp_path, expected(FIRST), "--mutant", "KAFKA-6082")
    assert status == 1, lines
    names = [line.strip().partition(":")[0] for line in lines if "; expected " in line]
    assert names == [*CONSEQUENCES, f"{FIRST} (known"], "the new ones first, and the known one is marked"


def test_an_expected_failure_alone_is_no_failure_and_one_that_did_not_come_is_said(tmp_path: Path) -> None:
    status, lines = zombie(tmp_path, expected(FIRST, *CONSEQUENCES), "--mutant", "KAFKA-6082")
    assert (status, "violated, as expected in " in lines[0]) == (0, True), lines
    status, lines = zombie(tmp_path, expected(FIRST))
    assert status == 0, lines
    assert lines[1] == f"    expected, and did not come: {FIRST}: ISSUE-1, until 2099-01-01"
