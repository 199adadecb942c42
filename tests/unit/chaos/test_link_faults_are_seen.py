"""Every fault on links that a file may ask for, or a seed may draw, is seen in the time that it says.

Over simulated links, in virtual time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import product
from random import Random  # noqa: TID251 - what kinds draw from
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.observable import wrong_at
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._toxics import ToxicFault
from kcontroller_chaos.feed import Feed
from kcontroller_chaos.injection import Injection, Placement
from kcontroller_chaos.play.player import LONGEST_S
from pytest_kcontroller.cluster.contract import ZOOKEEPER, Cluster
from pytest_kcontroller.cluster.limits import LONGEST_SESSION_MS
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import Toxic
from pytest_kcontroller.runtime.ports import Clock, ConnectionClosedError, Stream, Transport
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimClock
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.sim.network import SimNetwork
from pytest_kcontroller.wire.messages import APIS
from pytest_kcontroller.wire.server import Service, serve

STOCK = [one for kind in load_catalogue(installed=False).kinds.values() for one in kind.classes]
LINKS = [one for one in STOCK if issubclass(one, ToxicFault)]
AT = Placement(nodes=2, session_timeout_ms=6000)
PORT = 9092
SAYS: Mapping[bytes, int] = {b"srvr": 200, b"envi": 5_900, b"mntr": 16_500}
"""Bytes that a ZooKeeper answers a four-letter word with."""
STEP = 100
"""Of a wide line real links carry what is long in steps, and simulated ones as it was written."""
SILENCE_S = 2 * 10.0
"""After which it closes a connection without a session: 10 s at the earliest. A simulated one opens as late as it is."""
LONGEST_FRAME = 0xFFFFF
NODE = Service(handlers=dict.fromkeys(APIS, cast("Any", None)))
"""What one of ours says of the requests that it serves."""


async def zookeeper(stream: Stream) -> None:
    """What a ZooKeeper does with those who have no session."""

    async def heard(count: int) -> bytes:
        data = b""
        while len(data) < count:
            async with within(SILENCE_S):
                data += await stream.read_exactly(1)
        return data

    try:
        word = await heard(4)
        if word in SAYS:
            for _ in range(SAYS[word] // STEP):
                stream.write(b"x" * STEP)
        elif (length := int.from_bytes(word, "big")) <= LONGEST_FRAME:
            await heard(length)
    except TimeoutError:
        pass


@dataclass
class Links:
    """The part of a cluster of two nodes and a ZooKeeper that a look over links needs."""

    network: SimNetwork
    transports: dict[str, Transport]
    clock: Clock
    nodes = (0, 1)

    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        return self.transports[source], Address(target, PORT)

    def zookeeper_route(self, node: int) -> tuple[Transport, Address]:
        return self.route(str(node), ZOOKEEPER)

    async def zookeeper_round_trip_us(self, node: int, *, limit_s: float) -> int | None:
        transport, address = self.zookeeper_route(node)
        began_us = self.clock.now_us()
        try:
            async with within(limit_s):
                stream = await transport.connect(address)
                stream.write(b"srvr")
                await stream.read_exactly(SAYS[b"srvr"])
        except (TimeoutError, ConnectionClosedError):
            return None
        return self.clock.now_us() - began_us

    async def impair(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        self.network.link(source, target).impair(toxic)

    async def restore(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        self.network.link(source, target).restore(toxic)

    def process_state(self, node: int) -> str:
        return "S"

    def has(self, capability: object) -> bool:
        return False

    def capability(self, capability: object) -> Links:
        return self


def seen_after_s(fault: Fault, seed: int = 1) -> float:
    """Raises TimeoutError: not in its time."""
    with Scheduler() as scheduler, unscaled():
        network, clock, engine = SimNetwork(scheduler, NamedRng(seed)), SimClock(scheduler), scheduler.process("engine")
        for name in ("0", "1", ZOOKEEPER):
            loop = scheduler.process(name)

            async def served(stream: Stream, name: str = name) -> None:
                await (zookeeper(stream) if name == ZOOKEEPER else serve(stream, NODE))

            listening = network.transport(loop).listen(Address(name, PORT), served)
            scheduler.run_until_complete(loop.create_task(listening))
        transports: dict[str, Transport] = {name: network.transport(engine, name) for name in ("0", "1")}
        cluster = cast("Cluster", Links(network, transports, clock))
        on = Injection(
            cluster=cluster,
            feed=cast("Feed", None),
            clock=clock,
            fault="f",
            node=0,
            session=1,
            since=0,
            duration_s=None,
        )

        async def played() -> int:
            await fault.inject(on)
            began_us = clock.now_us()
            try:
                async with within(fault.within_s(on)):
                    assert await fault.observe(on)
                return clock.now_us() - began_us
            finally:
                await fault.heal(on)

        task = engine.create_task(played())
        return scheduler.run_until_complete(task) / 1e6


def called(one: type[Fault]) -> str:
    return f"{one.kind}:{one.mode}"


def values(one: type[Fault]) -> dict[str, list[Any]]:
    """Of each parameter the least, the default and the greatest, or all that there are."""
    found = {}
    for field in fields(one):
        about = field.metadata
        if field.name != "peer":
            found[field.name] = list(about["choices"]) or sorted(
                {about["least"], field.default, about["most"]} - {None}
            )
    return found


def possible(one: type[Fault], given: Mapping[str, Any]) -> Fault | None:
    """None: it is refused before anything starts."""
    try:
        fault = one(**given)
    except ValueError:
        return None
    return fault if wrong_at(fault, AT) is None else None


def at_the_ends(one: type[Fault]) -> Iterator[Fault]:
    choices = values(one)
    for chosen in product(*choices.values()):
        if (fault := possible(one, dict(zip(choices, chosen, strict=True)))) is not None:
            yield fault


@pytest.mark.parametrize("one", LINKS, ids=called)
def test_what_a_file_may_ask_for_at_most_and_at_least_is_seen(one: type[Fault]) -> None:
    faults = list(at_the_ends(one))
    assert faults
    for fault in faults:
        try:
            seen_after_s(fault)
        except TimeoutError:
            pytest.fail(f"not seen: {fault}")


@pytest.mark.parametrize("one", LINKS, ids=called)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_a_file_may_ask_for_is_seen(one: type[Fault], data: st.DataObject) -> None:
    given_of = {
        name: data.draw(
            st.integers(some[0], some[-1]) if isinstance(some[0], int) else st.sampled_from(some), label=name
        )
        for name, some in values(one).items()
    }
    if (fault := possible(one, given_of)) is not None:
        seen_after_s(fault)


@pytest.mark.parametrize("one", LINKS, ids=called)
def test_what_a_seed_draws_is_seen(one: type[Fault]) -> None:
    for seed in range(40):
        fault = one.drawn(Random(seed))
        assert wrong_at(fault, AT) is None
        seen_after_s(fault, seed)


@pytest.mark.parametrize("one", STOCK, ids=called)
def test_no_fault_may_be_asked_for_whose_time_to_be_seen_is_more_than_it_can_have(one: type[Fault]) -> None:
    cluster = SimpleNamespace(session_timeout_ms=LONGEST_SESSION_MS, stop_s=60, checkpoint_s=60, has=bool)
    on = SimpleNamespace(cluster=cluster, outlives_session=True, node=0)
    assert all(fault.within_s(cast("Injection", on)) <= LONGEST_S for fault in at_the_ends(one))
