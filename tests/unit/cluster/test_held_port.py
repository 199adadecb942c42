"""A port that is held is nobody else's, although who asks for it may listen there."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from collections.abc import Iterator

import pytest

from pytest_kcontroller.cluster.zookeeper.seats import HeldPort

IP_LOCAL_PORT_RANGE = 51
"""Linux 6.3: from which ports the system chooses one for this socket."""
ADDRESSES = ("127.0.0.1", "127.2.1.2")
"""A node's, and that of a proxy of a link to it."""


@pytest.fixture
def held() -> Iterator[HeldPort]:
    port = HeldPort()
    yield port
    port.release()


def with_that_port_alone(number: int, *, reuse: bool) -> socket.socket:
    """A socket for which the system has no other port."""
    other = socket.socket()
    if reuse:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        other.setsockopt(socket.IPPROTO_IP, IP_LOCAL_PORT_RANGE, struct.pack("=HH", number, number))
    except OSError:
        other.close()
        pytest.skip("the kernel is older than Linux 6.3")
    return other


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("reuse", [False, True])
def test_who_asks_for_any_port_is_not_given_it(held: HeldPort, reuse: bool, address: str) -> None:
    with with_that_port_alone(held.number, reuse=reuse) as other, pytest.raises(OSError) as refused:
        other.bind((address, 0))
    assert refused.value.errno == errno.EADDRINUSE


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_port_is_held_that_somebody_listens_on(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((address, 0)) as server:
        narrow = with_that_port_alone(server.getsockname()[1], reuse=False)
        monkeypatch.setattr(socket, "socket", lambda: narrow)
        with narrow, pytest.raises(OSError) as refused:
            HeldPort()
    assert refused.value.errno == errno.EADDRINUSE


@pytest.mark.parametrize("reuse", [False, True])
def test_a_connection_does_not_begin_there(held: HeldPort, reuse: bool) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        with_that_port_alone(held.number, reuse=reuse) as other,
        pytest.raises(OSError) as refused,
    ):
        other.connect(server.getsockname())
    assert refused.value.errno == errno.EADDRNOTAVAIL


def test_who_asks_for_it_may_listen_there(held: HeldPort) -> None:
    with contextlib.ExitStack() as servers:
        for address in ADDRESSES:
            server = servers.enter_context(socket.create_server((address, held.number)))  # with SO_REUSEADDR
            assert server.getsockname()[1] == held.number
