"""What the faults on processes share: how one ended, as its supervisor saw it, and that the next one has begun."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.feed import Event
from kcontroller_chaos.history.transactions import ZkTxn
from kcontroller_chaos.injection import HEALING_S, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import BROKERS
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, StartError, WaitTimeoutError
from pytest_kcontroller.model.history import ProcessExited
from pytest_kcontroller.runtime.timeouts import within

SIGKILLED = -9
START_S = 15.0
"""A process that is started has a session within this time, unscaled."""
AFTER_S = 1.0
"""Whoever looks whether a process has ended says that it has not, before its whole time is over."""
POLL_US = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Down(Fault):
    """A node whose process has ended stays so until it is healed."""

    async def look_again(self, on: Injection) -> None:
        on.feed.poll()
        if on.has_ended() and on.node in on.cluster.running:
            raise EnvironmentFailure(f"node {on.node}, whose process had ended, runs again")


async def killed(on: Injection) -> Evidence:
    """The supervisor saw the process end by the signal, and ZooKeeper gave up the session that nobody closed."""
    ended = await ended_with(on, SIGKILLED)
    return {"status": ended["status"], "exited_us": ended["t_us"], **await on.wait_closed(by_client=False)}


async def ended_with(on: Injection, *statuses: int) -> Event:
    """That the node's process has ended with one of these."""
    return await on.feed.wait(
        lambda e: e["kind"] == ProcessExited.kind and e["node"] == on.node and e["status"] in statuses, since=on.since
    )


async def ended_by_itself(on: Injection) -> Event:
    """That the node's process has ended as it was asked to: a broker with its backend's status for that; a program of a
    user's, which may not have a word for it, by the signal perhaps."""
    if orderly := on.cluster.stop_statuses:
        return await ended_with(on, *orderly)
    limit_s = scaled(on.cluster.stop_s)
    with suppress(TimeoutError):
        async with within(limit_s):
            return await on.feed.wait(
                lambda e: e["kind"] == ProcessExited.kind and e["node"] == on.node and e["status"] != SIGKILLED,
                since=on.since,
            )
    raise EnvironmentFailure(
        f"node {on.node} has outlived its stop signal: it runs {limit_s:g} s after it",
        hint="does it handle the signal, and is it the process that gets it (`exec` in a shell)? `stop_s` is its time",
    )


async def start_again(on: Injection) -> None:
    """A node whose process has ended; returns as `wait_ready` does."""
    if on.cluster.has(BROKERS):
        await on.cluster.restart(on.node)
        return
    await on.cluster.launch(on.node)
    await wait_ready(on)


async def wait_ready(on: Injection) -> None:
    """Raises StartError. A program of a user's is given time, and no more: that it runs again is the end of the fault.
    Whether it becomes ready is its own matter, and nodes-stay-up judges that."""
    if on.cluster.has(BROKERS):
        await on.cluster.wait_ready(on.node)
        return
    with suppress(StartError, WaitTimeoutError, TimeoutError):
        async with within(scaled(HEALING_S)):
            await on.cluster.wait_ready(on.node)


async def session_over(on: Injection) -> Evidence:
    """By its client, as ours do it; that of a program of a user's in any way."""
    if on.cluster.has(BROKERS):
        return await on.wait_closed(by_client=True)
    event = await on.feed.wait(
        lambda e: on.is_close(e, by_client=True) or on.is_close(e, by_client=False), since=on.since
    )
    return {"zxid": event["zxid"], "session": event["session"], "cxid": event["cxid"], "t_us": event["t_us"]}


def end_s(on: Injection) -> float:
    """So long it may take, unscaled, until both are seen."""
    expiry_s = 0 if on.cluster.has(BROKERS) else 2 * on.cluster.session_timeout_ms / 1000
    return on.cluster.stop_s + expiry_s + AFTER_S


async def next_session(on: Injection) -> Event:
    """Its creation, in ZooKeeper's log, of the first that was granted on the node's link since."""

    def is_ours(event: Event) -> bool:
        return bool(event["kind"] == ZkTxn.kind and event["type"] == "create-session" and event["session"] in granted)

    while True:
        on.feed.poll()
        granted = [hex(session.session_id) for session in on.cluster.sessions(on.node)]
        if (event := on.feed.find(is_ours, since=on.since)) is not None:
            return event
        await on.clock.sleep_us(POLL_US)
