"""Topics of a campaign file: what would be refused in the run is wrong in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from pytest_kcontroller.errors import UsageError

HEAD = '[campaign]\nname = "x"\nduration_s = 20\n'
A = '[[topics]]\nname = "a.b"\n'
LATER = '[[workload]]\nkind = "admin"\naction = "create_topic"\nat_s = 1\ntopic = "{}"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[topics]]\nname = "a/b"\n', "campaign.toml:5: `topics.name`: 'a/b' is no name of a topic\n  -> 1 to 249 of"),
        ('[[topics]]\nname = ""\n', "'' is no name of a topic"),
        (A + A, "campaign.toml:7: `topics.name`: two topics are called 'a.b'\n  -> give one another name"),
        (A + LATER.format("a_b"), "'a_b' collides with 'a.b': in Kafka's metrics"),
        (LATER.format("ü"), "`workload.topic`: 'ü' is no name of a topic"),
    ],
)
def test_a_wrong_name_has_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(HEAD + text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        load_campaign(file)
    assert message in str(refused.value)


def test_a_workload_may_ask_for_a_topic_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(HEAD + A + LATER.format("a.b"))
    assert [one.does.topic for one in load_campaign(tmp_path / "campaign.toml").workload] == ["a.b"]
