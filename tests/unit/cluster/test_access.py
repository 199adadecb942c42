"""As whom ZooKeeper is spoken to."""

from __future__ import annotations

import asyncio

import pytest
from kazoo.protocol.serialization import Auth

from pytest_kcontroller.cluster.zookeeper.access import Identity, read_frame


def test_what_kazoo_logs_of_a_user_has_no_password() -> None:
    """It logs its requests at the level DEBUG, which a test run may show."""
    ((scheme, credential),) = Identity("digest", "me", "secret").kazoo["auth_data"]
    request = Auth(0, scheme, credential)
    assert "secret" not in f"{request} {request!r}"
    assert request.serialize() == Auth(0, "digest", "me:secret").serialize()


def test_an_answer_of_less_than_nothing_is_none() -> None:
    """As who speaks another protocol gives: its callers know an OSError."""

    async def read() -> bytes:
        reader = asyncio.StreamReader()
        reader.feed_data(b"\xff\xff\xff\xff more")
        return await read_frame(reader)

    with pytest.raises(ConnectionError, match="no ZooKeeper: it sends -1 bytes"):
        asyncio.run(read())
