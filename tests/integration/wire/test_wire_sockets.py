"""Requests and answers over real sockets: order, reconnection, what is refused, and what another client sees."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream
from pytest_kcontroller.runtime.real import SocketTransport
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.codec import decode
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.frames import read_frame
from pytest_kcontroller.wire.headers import response_body
from pytest_kcontroller.wire.messages import (
    APIS,
    ApiKey,
    StopReplicaRequest,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from pytest_kcontroller.wire.refusals import nearest_version
from pytest_kcontroller.wire.server import Handler, Service, serve
from tests.tools.wire_messages import OtherApiVersionsRequest, OtherApiVersionsResponse

LOOPBACK = Address("127.0.0.1", 0)
OLDEST = {ApiKey.UPDATE_METADATA: 8}
Body = Callable[[SocketTransport, Address, list[str]], Awaitable[None]]


def with_server(handlers: dict[int, Handler], body: Body) -> None:
    async def main() -> None:
        transport, refused = SocketTransport(), list[str]()
        service = Service(handlers=handlers, oldest=OLDEST, refused=refused.append)

        serving: list[Stream] = []

        async def accept(stream: Stream) -> None:
            serving.append(stream)
            try:
                await serve(stream, service)
            finally:
                serving.remove(stream)

        listening = await transport.listen(LOOPBACK, accept)
        try:
            async with within(scaled(20)):
                await body(transport, listening.address, refused)
        finally:
            await listening.close()
        async with within(scaled(20)):
            while serving:  # noqa: ASYNC110 - it is a list, and only for a few turns
                await asyncio.sleep(0)
        for _ in range(5):  # turns of the loop in which sockets that were closed are let go
            await asyncio.sleep(0)

    asyncio.run(main())


def update(epoch: int) -> Any:
    return UpdateMetadataRequest(
        controller_id=1, controller_epoch=epoch, broker_epoch=-1, topic_states=[], live_brokers=[]
    )


async def echo_epoch(request: Any) -> Any:
    """Answers with the request's controller epoch as the error, so that answers can be told apart."""
    return UpdateMetadataResponse(error_code=request.controller_epoch)


def test_each_request_gets_its_own_answer() -> None:
    async def body(transport: SocketTransport, address: Address, refused: list[str]) -> None:
        client = RequestClient(transport, address)
        answers = await asyncio.gather(*(client.request(update(n)) for n in range(50)))
        assert [answer.error_code for answer in answers] == list(range(50))
        client.close()
        assert refused == []

    with_server({ApiKey.UPDATE_METADATA: echo_epoch}, body)


def test_a_late_answer_is_never_taken_for_the_next_one() -> None:
    slow = asyncio.Event()

    async def handler(request: Any) -> Any:
        if request.controller_epoch == 1:
            await slow.wait()
        return await echo_epoch(request)

    async def body(transport: SocketTransport, address: Address, _: list[str]) -> None:
        client = RequestClient(transport, address)
        with pytest.raises(ConnectionClosedError, match="did not answer UpdateMetadataRequest"):
            await client.request(update(1), timeout_us=50_000)
        slow.set()
        assert (await client.request(update(2))).error_code == 2
        client.close()

    with_server({ApiKey.UPDATE_METADATA: handler}, body)


def test_what_is_not_spoken_closes_the_connection_and_is_told() -> None:
    async def body(transport: SocketTransport, address: Address, refused: list[str]) -> None:
        client = RequestClient(transport, address)
        with pytest.raises(ConnectionClosedError):
            await client.request(
                StopReplicaRequest(controller_id=1, controller_epoch=1, broker_epoch=1, topic_states=[])
            )
        stream = await transport.connect(address)
        stream.write(struct.pack(">ihhi", 8, ApiKey.UPDATE_METADATA, 8, 7))
        with pytest.raises(ConnectionClosedError):
            await read_frame(stream)
        stream.close()
        assert "API 5 version 4, which is not served here" in refused[0]
        assert "bytes that are no UPDATE_METADATA version 8" in refused[1]
        stream = await transport.connect(address)
        stream.write(struct.pack(">ihhi", 8, ApiKey.UPDATE_METADATA, -1, 7))
        with pytest.raises(ConnectionClosedError):
            await read_frame(stream)
        stream.close()
        assert "API 6 version -1, which is not served here" in refused[2]

    with_server({ApiKey.UPDATE_METADATA: echo_epoch}, body)


NOT_SERVED = [
    (api.key, version)
    for api in APIS.values()
    for version in (OLDEST.get(api.key, api.min_version) - 1, api.max_version + 1)
    if version >= 0 and api.key != ApiKey.API_VERSIONS
]


@pytest.mark.parametrize(("key", "version"), NOT_SERVED)
def test_a_version_that_is_not_served_is_answered_in_the_nearest_one(key: ApiKey, version: int) -> None:
    """And the connection goes on."""
    api = APIS[key]
    answered, tagged = nearest_version(api, version), version >= api.flexible_from

    async def body(transport: SocketTransport, address: Address, refused: list[str]) -> None:
        stream = await transport.connect(address)
        for number in (7, 8):
            stream.write(struct.pack(">ihhi", 9, key, version, number) + b"?")
            payload = await read_frame(stream)
            assert int.from_bytes(payload[:4], "big") == number
            response = decode(api.response, payload, answered, response_body(payload, tagged=tagged))
            assert f"error_code={int(ErrorCode.UNSUPPORTED_VERSION)}" in repr(response)
        stream.close()
        assert refused == []

    with_server({key: echo_epoch}, body)


@pytest.mark.parametrize(("asked", "answered", "error"), [(0, 0, 0), (3, 3, 0), (4, 4, 0), (9, 0, 35)])
def test_any_client_learns_what_is_spoken(asked: int, answered: int, error: int) -> None:
    async def body(transport: SocketTransport, address: Address, _: list[str]) -> None:
        request = OtherApiVersionsRequest(client_software_name="x", client_software_version="1")
        request.with_header(5, "x")
        frame = bytearray(request.encode(version=min(asked, 4), header=True, framed=True))
        frame[6:8] = struct.pack(">h", asked)
        stream = await transport.connect(address)
        stream.write(bytes(frame))
        response = OtherApiVersionsResponse.decode(await read_frame(stream), version=answered, header=True)
        assert response.header.correlation_id == 5
        assert response.error_code == error
        spoken = [(api.api_key, api.min_version, api.max_version) for api in response.api_keys]
        assert spoken == [(6, 8, 8), (18, 0, 4)]
        stream.close()

    with_server({ApiKey.UPDATE_METADATA: echo_epoch}, body)
