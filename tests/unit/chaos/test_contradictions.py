"""A fault that can never be observed where a file puts it is refused with line and key, before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcontroller_chaos.campaign.file import Campaign, load_campaign
from pytest_kcontroller.errors import UsageError

STILL = 'when = "write:1"\nstill_ms = 1500\n'


def loaded(directory: Path, kind: str, lines: str, nodes: int = 3) -> Campaign:
    kind, _, mode = kind.partition(":")
    text = f'[campaign]\nname = "x"\nduration_s = 20\n[cluster]\nnodes = {nodes}\nsession_timeout_ms = 1000\n'
    text += f'[[faults]]\nkind = "{kind}"\n' + (f'mode = "{mode}"\n' if mode else "") + lines
    (directory / "x.toml").write_text(text)
    return load_campaign(directory / "x.toml")


@pytest.mark.parametrize(
    ("kind", "lines", "nodes", "says"),
    [
        ("depose", STILL, 3, "`faults.still_ms`"),
        ("graceful_stop", STILL, 3, "its session ends after 1000 ms: graceful_stop cannot be observed"),
        ("restart", STILL, 3, "restart cannot be observed then"),
        ("reset:zookeeper", STILL, 3, "reset:zookeeper cannot be observed then"),
        ("latency:control", "at_s = 1\ndelay_ms = 0\n", 3, "late by 0 ms"),
        ("latency:zookeeper", "at_s = 1\ndelay_ms = 0\n", 3, "late by 0 ms"),
        ("partition:control", "at_s = 1\n", 1, "on fewer than 2 nodes, and [cluster] has 1"),
        ("partition:majorities-ring", "at_s = 1\n", 3, "on fewer than 4 nodes"),
        ("reset:control", "at_s = 1\n", 1, "on fewer than 2 nodes"),
        ("clock_jump", "at_s = 1\nby_s = -3\n", 3, "`faults.by_s`"),
        ("stall:sender", "at_s = 1\nbroker = 3\n", 3, "there is no node 3"),
    ],
)
def test_it_is_said_where_and_why(tmp_path: Path, kind: str, lines: str, nodes: int, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        loaded(tmp_path, kind, lines, nodes)
    assert says in str(raised.value)
    assert "x.toml:" in str(raised.value)
    loaded(tmp_path, kind, lines + "if_possible = true\n", nodes)


@pytest.mark.parametrize("kind", ["bounce", "kill", "pause", "session_expiry:server", "latency:control"])
def test_what_does_not_need_the_session_may_stand_still(tmp_path: Path, kind: str) -> None:
    assert loaded(tmp_path, kind, STILL).faults[0].still_ms == 1500


@pytest.mark.parametrize("kind", ["depose", "graceful_stop", "restart"])
def test_a_short_stand_is_no_contradiction(tmp_path: Path, kind: str) -> None:
    loaded(tmp_path, kind, STILL.replace("1500", "100"))
