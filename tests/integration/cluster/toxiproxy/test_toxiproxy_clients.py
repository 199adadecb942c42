"""Other people's clients see no difference: Go's own tests, and every call of the Python, Node and Java clients."""

from __future__ import annotations

import re

import pytest

from tests.tools.required import not_here
from tests.tools.toxiproxy_clients import CLIENTS, PROGRAMMED, Client
from tests.tools.toxiproxy_servers import Server

GO_TESTS = 34


def _client(name: str) -> Client:
    if missing := CLIENTS[name].missing:
        not_here(name, f"not on the path: {missing}")
    return CLIENTS[name]


@pytest.mark.parametrize("name", PROGRAMMED)
def test_every_call_gives_what_it_gave_on_the_real_server(server: Server, name: str) -> None:
    client = _client(name)
    assert client.run(server).splitlines() == client.recorded.read_text().splitlines()


def test_gos_own_api_tests_pass(server: Server) -> None:
    said = _client("go").run(server)
    assert len(re.findall("^--- PASS", said, re.MULTILINE)) == GO_TESTS, said
