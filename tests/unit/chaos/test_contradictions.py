"""A fault that can never be observed where a file puts it is refused with line and key, before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.faults.kill import Kill
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
        (
            "latency:control",
            "at_s = 1\ndelay_ms = 40000\njitter_ms = 30000\n",
            3,
            "later than 60000 ms is not observed",
        ),
        ("latency:zookeeper", "at_s = 1\ndelay_ms = 10000\n", 3, "later than 9000 ms is not observed"),
        (
            "slicer:control",
            "at_s = 1\naverage_size = 1000\ndelay_us = 11111\n",
            3,
            "`faults.average_size`: 10000 bytes in pieces of up to 1000 have pauses of 99.999 ms together",
        ),
        ("slicer:control", "at_s = 1\n", 1, "on fewer than 2 nodes"),
        ("partition:control", "at_s = 1\n", 1, "on fewer than 2 nodes, and the cluster has 1"),
        ("partition:majorities-ring", "at_s = 1\n", 3, "on fewer than 4 nodes"),
        ("reset:control", "at_s = 1\n", 1, "on fewer than 2 nodes"),
        ("flap:control", "at_s = 1\n", 1, "on fewer than 2 nodes"),
        ("clock_jump", "at_s = 1\nby_s = -3\n", 3, "`faults.by_s`"),
        ("stall:sender", "at_s = 1\nbroker = 3\n", 3, "there is no node 3"),
        *(
            (
                kind,
                "at_s = 1\npeer = 7\n",
                3,
                "x.toml:11: `faults.peer`: there is no node 7\n  -> 0 to 2, or -1 for all",
            )
            for kind in ("latency:control", "timeout:control", "partition:control", "flap:control", "reset:control")
        ),
        (
            "timeout:control",
            'at_s = 1\ntarget = "node:1"\npeer = 1\n',
            3,
            "`faults.peer`: node 1 has no link to itself",
        ),
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


def test_a_slicer_has_the_least_pauses_that_the_page_of_faults_says(tmp_path: Path) -> None:
    loaded(tmp_path, "slicer:control", "at_s = 1\naverage_size = 1000\ndelay_us = 11112\n")


class Unspeakable(Exception):
    def __repr__(self) -> str:
        raise self


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda: True, "`faults.kind`: kill cannot say whether it can be observed: its wrong_at gave True"),
        (lambda: ("kind", "never"), "its wrong_at gave ('kind', 'never')"),
        (lambda: 1 // 0, "kill cannot say whether it can be observed: ZeroDivisionError("),
        (lambda: Unspeakable().__repr__(), "observed: <Unspeakable whose repr raises Unspeakable>"),
    ],
)
def test_what_is_wrong_with_the_answer_of_a_plugins_fault_is_said(
    answer: Any, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kill, "wrong_at", lambda fault, at: answer())
    with pytest.raises(UsageError) as raised:
        loaded(tmp_path, "kill", "at_s = 1\n")
    assert says in str(raised.value)


def test_a_node_that_joins_can_be_the_other_end(tmp_path: Path) -> None:
    join = '[[workload]]\nkind = "admin"\naction = "add_node"\nat_s = 1\n'
    assert loaded(tmp_path, "latency:control", f"at_s = 5\npeer = 3\n{join}").faults[0].fault.parameters["peer"] == 3


HEAD = '[campaign]\nname = "x"\nduration_s = 20\n'
FAULT = '[[faults]]\nid = "{}"\nkind = "kill"\n{}\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            FAULT.format("a", 'when = "observed:b"') + FAULT.format("b", 'when = "healed:a"'),
            "x.toml:7: `faults.when`: faults wait for each other: 'a' for 'b', 'b' for 'a'\n  -> one of them needs",
        ),
        (
            FAULT.format("c", 'when = "healed:a"')
            + FAULT.format("a", 'when = "healed:b"')
            + FAULT.format("b", 'when = "healed:d"')
            + FAULT.format("d", 'when = "observed:a"'),
            "x.toml:11: `faults.when`: faults wait for each other: 'a' for 'b', 'b' for 'd', 'd' for 'a'",
        ),
    ],
)
def test_faults_that_wait_for_each_other_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "x.toml").write_text(HEAD + text)
    with pytest.raises(UsageError) as raised:
        load_campaign(tmp_path / "x.toml")
    assert says in str(raised.value)


def test_a_chain_is_no_ring(tmp_path: Path) -> None:
    """A crash point has an argument too, which is no fault; and what heals is waited for only for a while."""
    chain = FAULT.format("a", 'at_s = 1\nuntil = "observed:b"') + FAULT.format("b", 'when = "observed:a"')
    chain += FAULT.format("1", 'when = "write:1"\nat_s = 1') + FAULT.format("c", 'when = "healed:b"')
    (tmp_path / "x.toml").write_text(HEAD + chain)
    assert len(load_campaign(tmp_path / "x.toml").faults) == 4


def test_a_name_that_no_directory_can_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(HEAD.replace('"x"', f'"{"x" * 300}"'))
    with pytest.raises(UsageError, match=r"x.toml:2: `campaign.name`: 300 letters are too many .*\n  -> 200 at most"):
        load_campaign(tmp_path / "x.toml")


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        (
            '[cluster]\nkafka_compat = ["x"]\n',
            "x.toml:5: `cluster.kafka_compat`: 'x' is nothing that Kafka 3.9 does\n  -> there are: ",
        ),
        ('[cluster]\nkafka_compat = ["KAFKA-1188"]\n', "`cluster.kafka_compat`: 'KAFKA-1188' is nothing that Kafka"),
        (
            '[cluster]\nselectors = { offline = "oflfine" }\n',
            "x.toml:5: `cluster.selectors`: there is no leader selector 'oflfine'\n  -> did you mean `offline`?",
        ),
        (
            '[cluster.selectors]\npreferred = "preferred"\noffline = { name = "offline", x = 1 }\n',
            "x.toml:6: `cluster.selectors`: the leader selector 'offline' ",
        ),
        (
            '[cluster]\nassignment = "stripes"\n',
            "x.toml:5: `cluster.assignment`: there is no assignment strategy 'stripes'\n  -> did you mean `striped`?",
        ),
    ],
)
def test_a_name_that_nobody_offers_has_file_and_line(tmp_path: Path, cluster: str, says: str) -> None:
    """`campaign plan` reads a file as `campaign run` does."""
    (tmp_path / "x.toml").write_text(HEAD + cluster)
    with pytest.raises(UsageError) as raised:
        load_campaign(tmp_path / "x.toml")
    assert says in str(raised.value)
    assert str(raised.value).endswith("is a --plugin missing?")
