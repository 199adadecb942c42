"""What can be made to happen to a request that has come: it waits before it is handled, or its answer is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.runtime.holds import REPLY, REQUEST, REQUESTS, Holds
from pytest_kcontroller.runtime.ports import ConnectionClosedError
from pytest_kcontroller.wire.message import Response
from pytest_kcontroller.wire.messages import APIS
from pytest_kcontroller.wire.server import Handler


def with_faults(handlers: Mapping[int, Handler], holds: Holds) -> Mapping[int, Handler]:
    """The same, where those of REQUESTS pass the hold points of their API."""
    return {
        key: _with_faults(handler, name, holds) if (name := kafkas(APIS[key].name)) in REQUESTS else handler
        for key, handler in handlers.items()
    }


def kafkas(name: str) -> str:
    """LEADER_AND_ISR, as Kafka's classes call it: LeaderAndIsr."""
    return "".join(word.capitalize() for word in name.split("_"))


def _with_faults(handler: Handler, api: str, holds: Holds) -> Handler:
    request_point, reply_point = f"{REQUEST}:{api}", f"{REPLY}:{api}"

    async def handle(request: Any) -> Response:
        """Raises ConnectionClosedError, which ends the connection: the answer is lost, what was done is not."""
        await holds.reach(request_point)
        response = await handler(request)
        if holds.loses(reply_point):
            raise ConnectionClosedError(f"the answer to {api} is lost")
        return response

    return handle
