"""What the fixture `zookeeper` gives: a chroot of one test on a real server, clients in it, and ways to end sessions."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Literal

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import NoNodeError

from pytest_kcontroller.cluster.duplicate import close_session
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentError_, UsageError
from pytest_kcontroller.loop_thread import LoopThread
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.relay import Relay


class NoSessionError(EnvironmentError_):
    """A server gave no session in time."""


ExpireMode = Literal["server", "client", "natural"]
EXPIRE_MODES: tuple[ExpireMode, ...] = ("server", "client", "natural")

START_S = 15.0
EXPIRE_S = 15.0
"""Beyond the session's own time-out."""


class TestZooKeeper:
    """One test's view of a server. Its clients are stopped and its znodes deleted at the end of the test."""

    __test__ = False

    def __init__(self, loop: LoopThread, server: Address) -> None:
        self.server = server
        self.chroot = f"/kc-{uuid.uuid4().hex[:12]}"
        self._loop = loop
        self._clients: list[KazooClient] = []
        self._relays: dict[int, Relay] = {}
        # kazoo waits for the answer to its handshake as long as for a session: no longer than `start` does.
        self._admin = KazooClient(str(server), timeout=scaled(START_S))
        self._start(self._admin)
        self._admin.ensure_path(self.chroot)

    @property
    def connect_string(self) -> str:
        """HOST:PORT/chroot, straight to the server."""
        return f"{self.server}{self.chroot}"

    def client(self, timeout_s: float = 3.0) -> KazooClient:
        """A started kazoo client in this test's chroot; `timeout_s` is the session time-out that it asks for.

        It reaches the server through a relay of its own, so that `expire(client, "natural")` works.
        """
        relay = Relay(self.server)
        address = self._loop.call(relay.start())
        client = KazooClient(f"{address}{self.chroot}", timeout=timeout_s)
        self._relays[id(client)] = relay
        self._clients.append(client)
        self._start(client)
        return client

    def expire(self, client: KazooClient, mode: ExpireMode = "server") -> int:
        """Ends `client`'s session; returns its id when the client has seen that it is lost, and has a new one.

        `server`: a second connection resumes the session and closes it, so the client is told that it expired.
        `natural`: the client is cut off until ZooKeeper gives the session up (takes the session time-out).
        `client`: the client closes it and starts anew. In every mode
        the client gets a new session afterwards, as kazoo does by itself.

        Raises UsageError for an unknown mode, for a client that `client()` did not make (natural), and for one without a
        session; EnvironmentError_ if the end is not seen in time.
        """
        if mode not in EXPIRE_MODES:
            raise UsageError(f"no mode {mode!r} of expiry", hint=f"one of {', '.join(EXPIRE_MODES)}")
        if client.client_id is None or not client.connected:
            raise UsageError("this client has no session now", hint="start it first")
        session, password = client.client_id
        lost, back = threading.Event(), threading.Event()
        seen = _tell(client, lost, back)
        try:
            self._end_session(client, mode, session, password)
            if not lost.wait(scaled(EXPIRE_S)):
                raise EnvironmentError_(f"session {session:#x} was ended ({mode}), and its client has not seen it")
            if not back.wait(scaled(EXPIRE_S)):
                raise EnvironmentError_(f"session {session:#x} was ended ({mode}), and its client got no new one")
        finally:
            client.remove_listener(seen)
        return int(session)

    def _end_session(self, client: KazooClient, mode: ExpireMode, session: int, password: bytes) -> None:
        if mode == "server":
            self._loop.call(close_session(self.server, session, password, timeout_s=scaled(EXPIRE_S)))
        elif mode == "client":
            client.stop()
            self._start(client)
        else:
            self._cut_until_given_up(client, session)

    def _cut_until_given_up(self, client: KazooClient, session: int) -> None:
        if (relay := self._relays.get(id(client))) is None:
            raise UsageError(
                "only a client that zookeeper.client() made can be cut off", hint="make it so, or use mode='server'"
            )
        mark = client.create("/kc-session-of-this-client-", ephemeral=True, sequence=True)
        gone = threading.Event()
        path = self.chroot + mark
        if self._admin.exists(path, watch=lambda _: gone.set()) is None:
            raise EnvironmentError_(f"session {session:#x} ended before it was cut off")
        relay.cut()
        try:
            limit_s = client._session_timeout / 1000 * 2 + scaled(EXPIRE_S)
            if not gone.wait(limit_s):
                raise EnvironmentError_(f"ZooKeeper has not given session {session:#x} up within {limit_s:g} s")
        finally:
            relay.heal()

    def _start(self, client: KazooClient) -> None:
        try:
            client.start(timeout=scaled(START_S))
        except client.handler.timeout_exception:
            raise NoSessionError(
                f"no ZooKeeper session within {scaled(START_S):g} s",
                where=str(self.server),
                hint="does a ZooKeeper run there?",
            ) from None

    def close(self) -> None:
        for client in self._clients:
            client.stop()
            client.close()
        for relay in self._relays.values():
            self._loop.call(relay.stop())
        try:
            self._admin.delete(self.chroot, recursive=True)
        except NoNodeError:
            pass
        finally:
            self._admin.stop()
            self._admin.close()


def _tell(client: KazooClient, lost: threading.Event, back: threading.Event) -> Callable[[str], None]:
    def listener(state: str) -> None:
        if state == KazooState.LOST:
            lost.set()
        elif state == KazooState.CONNECTED and lost.is_set():
            back.set()

    client.add_listener(listener)
    return listener
