"""One module for each request that a broker serves: `handle` answers it, at once and as a whole.

A new request is a line in HANDLERS besides its module; its messages come from two files in wire/schemas.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from pytest_kcontroller.broker.handlers import leader_and_isr, stop_replica, update_metadata
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.wire.message import Response
from pytest_kcontroller.wire.messages import ApiKey
from pytest_kcontroller.wire.server import Handler

HANDLERS: Mapping[ApiKey, Callable[[BrokerState, Any], Awaitable[Response]]] = {
    ApiKey.LEADER_AND_ISR: leader_and_isr.handle,
    ApiKey.STOP_REPLICA: stop_replica.handle,
    ApiKey.UPDATE_METADATA: update_metadata.handle,
}

OLDEST: Mapping[int, int] = {ApiKey.LEADER_AND_ISR: 7, ApiKey.STOP_REPLICA: 4, ApiKey.UPDATE_METADATA: 8}
"""The oldest versions that a node serves. Those before say less than it needs (topic ids, the leader epoch of a stop); the
schemas have them for stub brokers, which take what any controller sends."""


def handlers_of(state: BrokerState) -> Mapping[int, Handler]:
    """For wire.server.serve."""
    return {key: partial(handle, state) for key, handle in HANDLERS.items()}
