"""What a fault on a proxy does, looked at by questions on both sides of it.

Each function raises EnvironmentFailure with what was seen instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass

from pytest_kcontroller.cluster.proxied.passing import Passing
from pytest_kcontroller.cluster.proxied.probe import Probe, ask
from pytest_kcontroller.cluster.proxied.volume import Volume
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.access import Identity
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within

ANSWER_S = 10.0
"""For what happens at once on a machine that is not busy."""
SILENCE_S = 0.2
"""A question that is not answered for so long, while others are on the way without the proxy, is not answered."""
STRAIGHT_TIMES = 3
SOME, LATE_TIMES = 5, 20
"""So many answers say whether all are late: a busy machine delays some of them by as much as a few milliseconds are. With
jitter half of them are earlier than on average."""
SOON_S = 0.02
"""It takes the greater number to see what is less."""
AT_ONCE_S = 0.25
"""So much later than without the proxy an answer may be, if the machine is busy."""
TRIPS = 5
"""So many questions at most, one after the other, measure a rate: for a session, two for who it is (SASL), what is read, and
the end."""
SHARE = 0.8
"""Of the time that a rate should take at least: a rate is made up for where the proxy was late."""


@dataclass(frozen=True, slots=True)
class Member:
    """A server, where the relay to it listens, and where the proxy before that does."""

    server: Address
    relay: Address
    proxy: Address


@contextlib.asynccontextmanager
async def probing(member: Member, passing: Passing) -> AsyncIterator[Probe]:
    """A connection through the proxy."""
    try:
        async with Probe.at(member.proxy, passing) as probe:
            yield probe
    except OSError as refused:
        raise EnvironmentFailure(f"the proxy accepts no connection: {refused}", where=str(member.proxy)) from None


async def answer_s(member: Member, passing: Passing, *, late_s: float = 0.0) -> float:
    """Seconds until a question through the proxy is answered, which may be `late_s` after it should be."""
    limit_s = late_s + scaled(ANSWER_S)
    way = await ask(member.proxy, passing, limit_s=limit_s)
    if way.heard_after_s is None:
        raise EnvironmentFailure(f"within {limit_s:g} s {way}", where=str(member.proxy))
    return way.heard_after_s


async def straight_s(member: Member, passing: Passing) -> float:
    """The same on the way without the proxy."""
    way = await ask(member.relay, passing, limit_s=scaled(ANSWER_S))
    if way.heard_after_s is None:
        raise EnvironmentFailure("ZooKeeper does not answer, with the proxy or without", where=str(member.server))
    return way.heard_after_s


async def see_cut(
    member: Member, passing: Passing, before: Probe, cut: Collection[str], *, usual_s: float, late_s: float
) -> None:
    """In the directions `cut`, on a connection from before and on a new one. `usual_s`: what answers took before; `late_s`:
    they may be so late."""
    async with probing(member, passing) as fresh:
        asking = [asyncio.create_task(probe.ask()) for probe in (before, fresh)]
        try:
            if "upstream" not in cut:
                await _until_answered([before, fresh], member, scaled(ANSWER_S) + late_s)
            await _silence(member, passing, SILENCE_S + 3 * usual_s)
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        for way, where in ((before.way, "a connection from before"), (fresh.way, "a new connection")):
            if way.heard_after_s is not None or (way.asked and "upstream" in cut):
                raise EnvironmentFailure(f"it is cut, but on {where} {way}", where=str(member.proxy))


async def _until_answered(probes: Sequence[Probe], member: Member, limit_s: float) -> None:
    try:
        async with within(limit_s):
            for probe in probes:
                await probe.wait_answered()
    except TimeoutError:
        ways = "; ".join(str(probe.way) for probe in probes)
        what = f"only what ZooKeeper says is cut, but within {limit_s:g} s {ways}"
        raise EnvironmentFailure(what, where=str(member.proxy)) from None


async def _silence(member: Member, passing: Passing, silence_s: float) -> None:
    """So long, and so many answers on the way without the proxy: not everything is late."""
    loop = asyncio.get_running_loop()
    until = loop.time() + silence_s
    for _ in range(STRAIGHT_TIMES):
        await straight_s(member, passing)
        await asyncio.sleep(max(0.0, until - loop.time()) / 2)
    await asyncio.sleep(max(0.0, until - loop.time()))


@dataclass(frozen=True, slots=True)
class Usual:
    """How long answers took before."""

    quickest_s: float = 0.0
    median_s: float = 0.0


async def see_usual(member: Member, passing: Passing) -> Usual:
    found = [await answer_s(member, passing) for _ in range(LATE_TIMES)]
    straight = [await straight_s(member, passing) for _ in range(LATE_TIMES)]  # no answer through the proxy is quicker
    return Usual(min(*found, *straight), statistics.median(found))


def late_by_s(found: Sequence[float], usual: Usual, least_s: float, *, jitter: bool) -> float:
    """By so much are answers late that took so long: the latest of them, if no machine is so busy, else the earliest; with
    jitter, of which some are in time, half of them."""
    if least_s >= AT_ONCE_S:
        return max(found) - usual.quickest_s
    return statistics.median(found) - usual.median_s if jitter else min(found) - usual.quickest_s


async def see_late(
    member: Member, passing: Passing, usual: Usual, *, least_s: float, most_s: float, jitter: bool
) -> None:
    """Answers are late by `least_s` at least; each is there within `most_s`."""
    needed = 1 if least_s >= AT_ONCE_S else SOME if least_s >= SOON_S else LATE_TIMES
    found: list[float] = []
    late_s = 0.0
    for _ in range(LATE_TIMES if jitter or needed == 1 else needed):
        found.append(await answer_s(member, passing, late_s=most_s))
        late_s = late_by_s(found, usual, least_s, jitter=jitter)
        if len(found) >= needed and late_s >= least_s * SHARE:
            return
    some = "none was" if needed == 1 else "not even half were" if jitter else "not all were"
    raise EnvironmentFailure(
        f"of {len(found)} answers through the proxy {some} late by {least_s * 1000:g} ms, but by {late_s * 1000:.1f} ms",
        where=str(member.proxy),
    )


async def see_healed(member: Member, passing: Passing, *, late_s: float) -> None:
    """Questions are answered, and not `late_s` later than without the proxy."""
    limit_s = max(late_s * SHARE, AT_ONCE_S)
    least_s = float("inf")
    for _ in range(LATE_TIMES):
        through_s = await answer_s(member, passing, late_s=late_s)
        # A single one may be as late, where the machine is busy.
        least_s = min(least_s, through_s - min([await straight_s(member, passing) for _ in range(STRAIGHT_TIMES)]))
        if least_s < limit_s:
            return
    raise EnvironmentFailure(f"it is healed, but answers come {least_s:.2f} s late", where=str(member.proxy))


async def see_rate(
    member: Member,
    passing: Passing,
    path: str,
    identity: Identity | None,
    *,
    kb_per_s: int,
    direction: str,
    late_s: float,
) -> None:
    """What is sent takes as long as it must at this rate. `path`: where a znode may be for the time of it, of `identity`.
    `late_s`: answers may be so late."""
    size, least_s = Volume.size(kb_per_s)
    volume = Volume(member.proxy, member.relay, passing, path, identity)
    limit_s = 2 * least_s + scaled(ANSWER_S) + TRIPS * late_s
    for stream, measure in (("upstream", volume.up_s), ("downstream", volume.down_s)):
        if direction not in ("both", stream):
            continue
        try:
            async with within(limit_s):
                took_s = await measure(size)
        except TimeoutError:
            what = f"{size} bytes {stream} had not passed the proxy within {limit_s:g} s"
            raise EnvironmentFailure(what, where=str(member.proxy)) from None
        if took_s < SHARE * least_s:
            what = (
                f"{size} bytes {stream} took {took_s:.2f} s through the proxy, and not {least_s:.2f} s or more, as they "
                f"must at {kb_per_s} KB/s"
            )
            raise EnvironmentFailure(what, where=str(member.proxy))
