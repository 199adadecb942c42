"""The client of a toxiproxy server."""

from __future__ import annotations

import socket

import pytest

from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.errors import EnvironmentFailure


def test_the_password_of_a_server_is_in_no_message() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{nobody.getsockname()[1]}"
        client = ToxiproxyClient(f"http://me:hidden@{place}/")
        with pytest.raises(EnvironmentFailure, match="no answer from toxiproxy") as silent:
            client.call("GET", "/version")
    assert "hidden" not in str(silent.value)
    assert f"GET http://{place}/version" in str(silent.value)
