"""How a term's requests reach its brokers, over a simulated network."""

from __future__ import annotations

import asyncio
from typing import Any

from pytest_kcontroller.controller.channels import Channels
from pytest_kcontroller.model.cluster import Address, Broker
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Stream
from pytest_kcontroller.runtime.scheduler import Scheduler, SimRuntime
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.wire.messages import ApiKey, UpdateMetadataRequest, UpdateMetadataResponse
from pytest_kcontroller.wire.server import Service, serve

OLD, NEW = Broker(id=2, address=Address("old", 9092)), Broker(id=2, address=Address("new", 9092))


class Listener:
    """A broker at one address. Until it is `awake` it answers nothing."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[int] = asyncio.Queue()
        """The controller epoch of each request."""
        self.awake = asyncio.Event()

    async def listen(self, runtime: SimRuntime, address: Address) -> None:
        await runtime.transport.listen(address, self._serve)

    async def _serve(self, stream: Stream) -> None:
        await serve(stream, Service(handlers={ApiKey.UPDATE_METADATA: self._update_metadata}))

    async def _update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        self.received.put_nowait(request.controller_epoch)
        await self.awake.wait()
        return UpdateMetadataResponse(error_code=0)


def request(epoch: int) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(controller_id=1, controller_epoch=epoch, broker_epoch=0, live_brokers=[])


def test_what_waits_for_a_broker_that_moves_is_sent_to_its_new_address_in_order() -> None:
    """The first is on its way: nobody knows whether it will ever be answered."""

    async def move(runtime: SimRuntime) -> None:
        answered: asyncio.Queue[tuple[int, int]] = asyncio.Queue()

        def take(broker: int, sent: Any, response: Any) -> None:
            answered.put_nowait((broker, sent.controller_epoch))

        old, new = Listener(), Listener()
        await old.listen(runtime, OLD.address)
        await new.listen(runtime, NEW.address)
        async with Nursery() as tasks:
            channels = Channels(
                tasks,
                runtime.transport,
                runtime.clock,
                lambda broker: broker.address,
                take,
                timeout_us=60_000_000,
                holds=runtime.holds,
            )
            channels.add(OLD)
            for epoch in (1, 2, 3):
                channels.send(2, request(epoch))
            assert await old.received.get() == 1
            new.awake.set()
            channels.move(NEW)
            assert channels.unanswered == 3
            assert [await answered.get() for _ in range(3)] == [(2, 1), (2, 2), (2, 3)]
            assert [await new.received.get() for _ in range(3)] == [1, 2, 3]
            old.awake.set()
            channels.send(2, request(4))
            assert await answered.get() == (2, 4)
            assert (old.received.qsize(), new.received.qsize(), channels.unanswered) == (0, 1, 0)
            channels.close()

    with Scheduler() as scheduler:
        loop = scheduler.process("controller")
        runtime = World(scheduler, seed=1).runtime(loop, "controller", session_timeout_ms=6000)
        scheduler.run_until_complete(loop.create_task(move(runtime)))
