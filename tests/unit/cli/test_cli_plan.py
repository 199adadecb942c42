"""`kcontroller campaign plan`: what a seed would do, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import draw
from kcontroller_chaos.campaign.seeds import parse_seeds
from pytest_kcontroller.cli import main
from pytest_kcontroller.runtime.rng import MOST_SEED

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
SMOKE, ZOMBIE = CAMPAIGNS / "smoke.toml", CAMPAIGNS / "zombie.toml"
PLUGIN = """
from pytest_kcontroller.hookspecs import hookimpl


@hookimpl
def kcontroller_leader_selectors():
    return []
"""
HEAD = '[campaign]\nname = "x"\nduration_s = 5\nseeds = "4..6"\n'


def test_the_table_is_the_schedule_of_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "plan", str(SMOKE), "--seed", "7"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "smoke, seed 7: 10 s on 3 nodes"
    head = next(number for number, line in enumerate(said) if line.startswith("AT "))
    actions = draw(load_campaign(SMOKE), 7).actions
    rows = said[head + 1 : head + 1 + len(actions)]
    assert [row.split()[0] for row in rows] == [f"{(action.at_us or 0) / 1e6:.3f}" for action in actions]
    begins = said[head].index("WHAT")
    assert [row[begins:].split()[0] for row in rows] == [action.kind for action in actions], "the columns are aligned"
    assert said[-1] == f"To play it: kcontroller campaign run {SMOKE} --seeds 7"


def test_what_only_simulated_time_can_play_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "plan", str(CAMPAIGNS / "explore.toml"), "--seed", "7"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith(f"{CAMPAIGNS / 'explore.toml'} --seeds 7 --backend sim")


def test_the_line_that_plays_it_has_all_that_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "of_mine.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "a b.toml"
    file.write_text(HEAD + '[[faults]]\nkind = "kill"\nat_s = 1\n')
    assert main(["campaign", "plan", str(file), "--plugin", "of_mine"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    play = f"To play it: PYTHONPATH={tmp_path} kcontroller campaign run '{file}'"
    assert last == f"{play} --seeds 4 --plugin of_mine"
    program = '[system]\ncommand = "{python} -c pass {zk}"\nimage = "serve:1"\n'
    file.write_text(HEAD + program + '[[faults]]\nkind = "kill"\ntarget = "random"\nat_s = 1\n')
    assert main(["campaign", "plan", str(file)]) == 0
    assert capsys.readouterr().out.endswith(f"kcontroller campaign run '{file}' --seeds 4 --backend docker\n")


def test_what_waits_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "plan", str(ZOMBIE)]) == 0
    said = capsys.readouterr().out
    assert "zombie, seed 1:" in said, "without --seed it is the first of the file"
    for words in ("observed:old  depose", "at answered:old", "create_topic  the cluster", "partitions=3"):
        assert words in said


def test_json_has_every_field_of_the_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "plan", str(ZOMBIE), "--seed", "3", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["campaign"], said["seed"], said["duration_s"]) == ("zombie", 3, 8)
    assert said["actions"] == [action.entry for action in draw(load_campaign(ZOMBIE), 3).actions]


def test_a_file_in_which_nothing_happens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "calm.toml").write_text(HEAD)
    assert main(["campaign", "plan", str(tmp_path / "calm.toml")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("x, seed 4:")
    assert "Nothing happens" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "campaign.toml: cannot be read (No such file or directory)"),
        (HEAD + '[[faults]]\nkind = "kil"\nat_s = 1\n', "campaign.toml:6: `faults.kind`"),
        ("[campaign\n", "campaign.toml:1: is no TOML"),
    ],
)
def test_a_bad_file_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, says: str
) -> None:
    if text is not None:
        (tmp_path / "campaign.toml").write_text(text)
    assert main(["campaign", "plan", str(tmp_path / "campaign.toml")]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("seed", [-1, MOST_SEED + 1])
@pytest.mark.parametrize(
    ("command", "option"), [("campaign plan", "--seed"), ("replay", "--seed"), ("hunt", "--from-seed")]
)
def test_what_is_no_seed_is_refused_alike_by_every_command(
    command: str, option: str, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), str(SMOKE), option, str(seed)]) == 2
    assert f"{option}: {seed} is no seed\n  -> 0 to {MOST_SEED}\n" in capsys.readouterr().err


def test_the_largest_seed_can_be_planned_and_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "plan", str(SMOKE), "--seed", str(MOST_SEED)]) == 0
    assert f"--seeds {MOST_SEED}\n" in capsys.readouterr().out
    assert parse_seeds(f"{MOST_SEED - 1}..{MOST_SEED}") == (MOST_SEED - 1, MOST_SEED)
    with pytest.raises(ValueError, match=f"{MOST_SEED + 1} is no seed: 0 to {MOST_SEED}"):
        parse_seeds(f"{MOST_SEED}..{MOST_SEED + 1}")


def test_a_seed_is_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["campaign", "plan", str(SMOKE), "--seed", "seven"])
    assert ended.value.code == 2
    assert "argument --seed: invalid int value: 'seven'" in capsys.readouterr().err
