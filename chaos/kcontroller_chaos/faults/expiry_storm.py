"""expiry_storm: one session after the other."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault, _repeated, parameter
from kcontroller_chaos.faults._links import RETRY_US
from kcontroller_chaos.feed import Event
from kcontroller_chaos.history.transactions import ZkTxn
from kcontroller_chaos.injection import PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.errors import EnvironmentFailure

TIMES = 2
"""So many sessions must have ended, until it is observed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryStorm(Fault):
    """A node loses its session, and each that follows as soon as it has it, until it is healed.

    It never comes further than the beginning: an election that is won and lost, a registration that is gone again.
    """

    kind = "expiry_storm"
    example = """\
[[faults]]
kind = "expiry_storm"
target = "controller"
pause_ms = 100
at_s = 2
duration_s = 2
"""
    ends_session = True
    claims = (PROCESS, SESSION)

    pause_ms: int = parameter(50, "from a new session to its end", unit="ms", least=0, most=600_000)

    async def inject(self, on: Injection) -> None:
        ended = await on.cluster.expire_session_server(on.node, on.session)
        _repeated.begin(on, self._one_after_the_other(on, ended))

    async def _one_after_the_other(self, on: Injection, ended: int) -> None:
        while True:
            found = on.cluster.session(on.node)
            if found is None or not found.connected or found.session_id == ended:
                await on.clock.sleep_us(RETRY_US)
                continue
            await on.clock.sleep_us(self.pause_ms * 1000)
            try:
                ended = await on.cluster.expire_session_server(on.node)
            except EnvironmentFailure:  # it has ended otherwise, and the next one comes
                await on.clock.sleep_us(RETRY_US)

    async def observe(self, on: Injection) -> Evidence:
        """ZooKeeper's log: clients have closed sessions that it had granted the node, the one that it had among them."""
        first = await on.wait_closed(by_client=True)
        second = await on.feed.wait(lambda e: self._ends_another(on, e), since=on.since)
        return first | {"then": second["session"], "then_us": second["t_us"]}

    def _ends_another(self, on: Injection, event: Event) -> bool:
        closed = event["kind"] == ZkTxn.kind and event["type"] == "close-session" and event["cxid"] != 0
        return closed and event["session"] in self._granted_since(on)

    def _granted_since(self, on: Injection) -> list[str]:
        granted = [hex(one.session_id) for one in on.cluster.sessions(on.node)]
        return granted[granted.index(hex(on.session)) + 1 :] if hex(on.session) in granted else []

    async def look_again(self, on: Injection) -> None:
        _repeated.must_go_on(on)

    async def heal(self, on: Injection) -> None:
        await _repeated.end(on)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + self.pause_ms / 1000 + 5
