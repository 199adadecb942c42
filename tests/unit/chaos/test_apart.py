"""What a node's own client says counts, where a link knows of a session all the same."""

from __future__ import annotations

import pytest

from kcontroller_chaos.play.engine import apart


@pytest.mark.parametrize(
    ("said", "is_apart"),
    [
        ([], False),  # it reports nothing
        ([("node-1", "connected", "0xa")], False),
        ([("node-1", "connected", "0xa"), ("node-1", "suspended", "0xa")], True),
        ([("node-1", "suspended", "0x9"), ("node-1", "expired", "0x9")], True),  # the grant of 0xa is on its way
        ([("node-1", "connected", "0xb")], True),  # the link does not know that it was given up
        ([("node-1", "suspended", "0x9"), ("node-1.2", "connected", "0xa")], False),  # after a restart
        ([("node-1", "connected", "0xa"), ("node-2", "suspended", "0xa")], False),
    ],
)
def test_the_newest_word_of_the_nodes_own_client_counts(said: list[tuple[str, str, str]], is_apart: bool) -> None:
    events = [{"kind": "zk.state", "writer": writer, "state": state, "session": id_} for writer, state, id_ in said]
    assert apart([*events, {"kind": "run.started", "writer": "engine"}], 1, 0xA) is is_apart
