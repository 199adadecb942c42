"""What `--noop-fault` does, for many faults at once: those that are observed although nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import Injection
from kcontroller_chaos.play.wrappers import Noop
from pytest_kcontroller.cluster.observed import gather_all
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.fixtures.backend import Backend
from pytest_kcontroller.runtime.timeouts import within

AT_ONCE = 5
"""So many are looked for at the same time, for so long: looking makes a machine busy itself."""
LOOK_S = 1.5
SEVERE: Mapping[str, Mapping[str, Any]] = {"latency": {"delay_ms": 1500}}
"""By as little as they are late by default a busy machine is late itself."""


def seen_where_nothing_is_done(backend: Backend, faults: Sequence[type[Fault]]) -> list[str]:
    """On node 1."""
    run = backend.run
    feed = run.feed()

    async def away() -> str | None:
        """One whose session a busy machine has ended is back soon."""
        session = run.cluster.session(1)
        return None if session is not None and session.connected else "none"

    async def observed(fault: Fault) -> str | None:
        await run.cluster.wait_until("node 1 has a session", away, timeout_s=scaled(30))
        session = run.cluster.session(1)
        on = Injection.begin(run.cluster, feed, run.clock, fault="none", node=1, duration_s=None, session=session)
        try:
            async with within(scaled(LOOK_S)):
                return f"{fault.kind}:{fault.mode}: {await Noop(fault).observe(on)}"
        except (TimeoutError, EnvironmentFailure):  # or there is nobody whom it could be done to
            return None

    async def all_of_them() -> list[str | None]:
        following = asyncio.get_running_loop().create_task(feed.follow())
        try:
            found: list[str | None] = []
            for at in range(0, len(faults), AT_ONCE):
                found += await gather_all(
                    [observed(one(**SEVERE.get(one.kind, {}))) for one in faults[at : at + AT_ONCE]]
                )
            return found
        finally:
            following.cancel()

    return [one for one in backend.driver.call(all_of_them()) if one is not None]
