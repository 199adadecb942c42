"""Controlled shutdown: a broker that is about to stop asks the controller to be relieved of what it leads and follows.

Source: kafka.server.KafkaServer.controlledShutdown (3.9). Kafka pauses for 5 s and waits 30 s for an answer; we do not,
since whoever stops a node here waits for it. However it ends, the broker stops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.kafka_config import (
    CONTROLLED_SHUTDOWN,
    CONTROLLED_SHUTDOWN_BACKOFF_MS,
    CONTROLLED_SHUTDOWN_TRIES,
)
from pytest_kcontroller.runtime.ports import Clock, ConnectionClosedError, Transport
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import ControlledShutdownRequest

REQUEST_TIMEOUT_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownLimits:
    """`tries` counts the first one too, as Kafka's controlled.shutdown.max.retries does. `pause_us`: between two tries."""

    tries: int
    pause_us: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ShutdownLimits | None:
        """By Kafka's settings, whose values have been checked; None: no controlled shutdown."""
        if not CONTROLLED_SHUTDOWN.of(config):
            return None
        pause_us = CONTROLLED_SHUTDOWN_BACKOFF_MS.of(config) * 1000
        return cls(tries=CONTROLLED_SHUTDOWN_TRIES.of(config), pause_us=pause_us)

    @property
    def longest_us(self) -> int:
        """How long it takes if nobody ever answers."""
        return self.tries * REQUEST_TIMEOUT_US + (self.tries - 1) * self.pause_us


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownResult:
    """`why` None: the broker leads nothing any more that somebody else could lead. `remaining`: what it does, at the last
    answer."""

    tries: int
    remaining: tuple[str, ...] = ()
    why: str | None = None


async def controlled_shutdown(
    state: BrokerState, limits: ShutdownLimits, *, transport: Transport, clock: Clock
) -> ShutdownResult:
    """Asks the controller that the newest UpdateMetadata names, at most `limits.tries` times, each at most a second."""
    remaining: tuple[str, ...] = ()
    why = "it was not asked for"
    for number in range(1, limits.tries + 1):
        if number > 1:
            await clock.sleep_us(limits.pause_us)
        if (address := state.address_of(state.metadata.controller)) is None:
            why = "no controller is known"
            continue
        client = RequestClient(transport, address, client_id=f"broker-{state.broker}")
        request = ControlledShutdownRequest(broker_id=state.broker, broker_epoch=state.broker_epoch)
        try:
            response = await client.request(request, timeout_us=REQUEST_TIMEOUT_US)
        except ConnectionClosedError as gone:
            why = str(gone)
            continue
        finally:
            client.close()
        if response.error_code != ErrorCode.NONE:
            why = f"node {state.metadata.controller} answered {_name(response.error_code)}"
            continue
        remaining = tuple(f"{tp.topic_name}-{tp.partition_index}" for tp in response.remaining_partitions)
        if not remaining:
            return ShutdownResult(tries=number)
        why = "nobody else can lead what remains"
    return ShutdownResult(tries=limits.tries, remaining=remaining, why=why)


def _name(error: int) -> str:
    try:
        return ErrorCode(error).name
    except ValueError:
        return f"the error {error}"
