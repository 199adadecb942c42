"""The serving side of one connection: requests are decoded, handled and answered in order, one after the other."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.errors import ErrorCode, MalformedMessageError
from pytest_kcontroller.wire.frames import read_frame
from pytest_kcontroller.wire.headers import framed_response, request_body
from pytest_kcontroller.wire.message import Api, Request, Response
from pytest_kcontroller.wire.messages import APIS, ApiKey, ApiVersion, ApiVersionsResponse
from pytest_kcontroller.wire.refusals import nearest_version, refusal

Handler = Callable[[Any], Awaitable[Response]]
"""From a decoded request to its response. It answers errors in the response; an exception closes the connection."""

_START = struct.Struct(">hhi")
"""Of every request: its API key, its version, its correlation id."""


class RefusedError(Exception):
    """A request that we do not speak; says in one sentence why."""


def _ignore(*_: object) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What is served on a connection. `handlers`: API key -> handler; ApiVersions is answered without one.

    `oldest`: API key -> the oldest version that is served, where not all are that the schemas have. `received` is told of
    each request and its version before it is handled, `refused` gets a sentence about one that is not served.
    """

    handlers: Mapping[int, Handler]
    oldest: Mapping[int, int] = field(default_factory=dict)
    received: Callable[[Request[Response], int], None] = _ignore
    refused: Callable[[str], None] = _ignore

    def oldest_of(self, api: Api) -> int:
        return max(api.min_version, self.oldest.get(api.key, 0))


async def serve(stream: Stream, service: Service) -> None:
    """Serves `stream` until it ends.

    A version that is not served is answered UNSUPPORTED_VERSION, in the one that is most like it (Kafka's brokers close the
    connection). What is no request, or one of an API that is not served, closes it here too. Raises whatever a handler
    raises, after closing; ConnectionClosedError just closes.
    """
    try:
        while True:
            payload = await read_frame(stream)
            stream.write(await _answer(payload, service))
            await stream.drain()
    except ConnectionClosedError:
        return
    except RefusedError as why:
        service.refused(f"{stream.peer} sent {why}")
    finally:
        stream.close()


async def _answer(payload: bytes, service: Service) -> bytes:
    """The framed response. Raises RefusedError."""
    if len(payload) < _START.size:
        raise RefusedError(f"a request of {len(payload)} bytes, which is too short for a header")
    key, version, correlation_id = _START.unpack_from(payload)
    api = APIS.get(key)
    if api is None or version < 0 or (key not in service.handlers and key != ApiKey.API_VERSIONS):
        raise RefusedError(f"a request of API {key} version {version}, which is not served here")
    if key == ApiKey.API_VERSIONS:
        versions, version = _api_versions(api, payload, version, service)
        return framed_response(correlation_id, encode(versions, version), tagged=False)
    tagged = version >= api.flexible_from
    if not service.oldest_of(api) <= version <= api.max_version:
        response, version = refusal(api.response, ErrorCode.UNSUPPORTED_VERSION), nearest_version(api, version)
    else:
        request = _request(api, payload, version)
        service.received(request, version)
        response = await service.handlers[key](request)
    return framed_response(correlation_id, encode(response, version), tagged=tagged)


def _request(api: Api, payload: bytes, version: int) -> Request[Response]:
    client_id = (api.key, version) != (ApiKey.CONTROLLED_SHUTDOWN, 0)
    try:
        at = request_body(payload, tagged=version >= api.flexible_from, client_id=client_id)
        request = decode(api.request, payload, version, at)
    except MalformedMessageError as bad:
        raise RefusedError(f"bytes that are no {api.name} version {version}: {bad}") from bad
    request.version = version
    return request


def _api_versions(api: Api, payload: bytes, version: int, service: Service) -> tuple[ApiVersionsResponse, int]:
    """The answer and its version: 0 for one that we do not speak, so that any client learns what is spoken (KIP-511)."""
    error = ErrorCode.NONE
    if api.min_version <= version <= api.max_version:
        _request(api, payload, version)
    else:
        error, version = ErrorCode.UNSUPPORTED_VERSION, 0
    served = [
        ApiVersion(api_key=key, min_version=service.oldest_of(each), max_version=each.max_version)
        for key, each in sorted(APIS.items())
        if key in service.handlers or each is api
    ]
    return ApiVersionsResponse(error_code=error, api_keys=served), version
