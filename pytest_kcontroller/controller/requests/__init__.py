"""What clients ask of the controller, as on the wire: each is an event, and the event's answer is the response.

A new request is a line in HANDLERS besides its module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from pytest_kcontroller.controller.events.event import RequestEvent
from pytest_kcontroller.controller.requests import (
    alter_partition_reassignments,
    elect_leaders,
    list_partition_reassignments,
)
from pytest_kcontroller.wire.message import Response
from pytest_kcontroller.wire.messages import ApiKey

Ask = Callable[[Callable[[Any, asyncio.Future[Any]], RequestEvent], Any], Awaitable[Any]]
"""Puts the event of this kind about a request, and gives its answer."""

HANDLERS: Mapping[ApiKey, Callable[[Ask, Any], Awaitable[Response]]] = {
    ApiKey.ELECT_LEADERS: elect_leaders.handle,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments.handle,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments.handle,
}


def handlers_of(ask: Ask) -> Mapping[int, Callable[[Any], Awaitable[Response]]]:
    """For wire.server.serve."""
    return {int(key): partial(handle, ask) for key, handle in HANDLERS.items()}
