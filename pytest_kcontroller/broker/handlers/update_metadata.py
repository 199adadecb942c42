"""UpdateMetadata: who is live, who leads what."""

from __future__ import annotations

from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import UpdateMetadataRequest, UpdateMetadataResponse


async def handle(state: BrokerState, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
    if (error := state.admit(request)) == ErrorCode.NONE:
        state.metadata.update(request)
        state.on_change()
    return UpdateMetadataResponse(error_code=error)
