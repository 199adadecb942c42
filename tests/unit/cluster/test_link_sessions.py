"""What is known of a node's sessions by what passed its link."""

from __future__ import annotations

from typing import Any

from pytest_kcontroller.cluster.process.session_relays import LinkSessions


def link(*said: dict[str, Any]) -> LinkSessions:
    sessions = LinkSessions()
    for one in said:
        sessions.take(one)
    return sessions


def granted(connection: int, session: int) -> dict[str, Any]:
    return {"connection": connection, "session": hex(session), "password": "00ff", "timeout_ms": 400}


def closed(connection: int) -> dict[str, Any]:
    return {"connection": connection, "closed": True}


def test_nothing_has_been_granted_yet() -> None:
    assert link().current is None
    assert link(closed(1)).all == ()


def test_a_session_outlives_its_connection() -> None:
    sessions = link(granted(1, 7), closed(1))
    assert sessions.current is not None
    assert (sessions.current.session_id, sessions.current.connected) == (7, False)


def test_one_that_is_resumed_elsewhere_first_stays_connected() -> None:
    sessions = link(granted(1, 7), granted(2, 7), closed(1))
    assert sessions.current is not None and sessions.current.connected
    assert len(sessions.all) == 1


def test_who_is_refused_has_none_until_the_next_one() -> None:
    sessions = link(granted(1, 7), closed(1), {"connection": 2, "refused": True})
    assert sessions.current is None
    sessions.take(granted(3, 8))
    assert sessions.current is not None and sessions.current.session_id == 8
    assert [session.session_id for session in sessions.all] == [7, 8]


def test_a_new_process_has_none_of_the_one_before() -> None:
    sessions = link(granted(1, 7))
    sessions.begin()
    assert sessions.current is None
    assert [session.session_id for session in sessions.all] == [7]


def test_what_is_granted_late_on_a_connection_of_the_process_before_is_not_the_new_ones() -> None:
    """It was killed while its handshake was on the way: ZooKeeper grants it a session all the same."""
    sessions = link({"connection": 1, "opened": True})
    sessions.begin()
    sessions.take(granted(1, 7))
    assert sessions.current is None
    assert [session.session_id for session in sessions.all] == [7]
    for said in ({"connection": 4, "opened": True}, granted(4, 8), {"connection": 1, "refused": True}, closed(1)):
        sessions.take(said)
    assert sessions.current is not None
    assert (sessions.current.session_id, sessions.current.connected) == (8, True)
