"""The serving side of one connection: requests are decoded, handled and answered in order, one after the other."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.errors import ErrorCode, MalformedMessageError
from pytest_kcontroller.wire.frames import read_frame
from pytest_kcontroller.wire.headers import framed_response, request_body
from pytest_kcontroller.wire.message import Api, Request, Response
from pytest_kcontroller.wire.messages import APIS, ApiKey, ApiVersion, ApiVersionsResponse

Handler = Callable[[Any], Awaitable[Response]]
"""From a decoded request to its response. It answers errors in the response; an exception closes the connection."""

_START = struct.Struct(">hhi")
"""Of every request: its API key, its version, its correlation id."""


class RefusedError(Exception):
    """A request that we do not speak; says in one sentence why."""


def _ignore(_: str) -> None:
    """Nobody wants to know."""


async def serve(stream: Stream, handlers: Mapping[int, Handler], *, refused: Callable[[str], None] = _ignore) -> None:
    """Serves `stream` until it ends. `handlers`: API key -> handler; ApiVersions is answered here.

    A request that we do not speak closes the connection, as Kafka does; `refused` gets one sentence about it. Raises
    whatever a handler raises, after closing.
    """
    try:
        while True:
            payload = await read_frame(stream)
            stream.write(await _answer(payload, handlers))
            await stream.drain()
    except ConnectionClosedError:
        return
    except RefusedError as why:
        refused(f"{stream.peer} sent {why}")
    finally:
        stream.close()


async def _answer(payload: bytes, handlers: Mapping[int, Handler]) -> bytes:
    """The framed response. Raises RefusedError."""
    if len(payload) < _START.size:
        raise RefusedError(f"a request of {len(payload)} bytes, which is too short for a header")
    key, version, correlation_id = _START.unpack_from(payload)
    api = APIS.get(key)
    if api is None or (key not in handlers and key != ApiKey.API_VERSIONS):
        raise RefusedError(f"a request of API {key} version {version}, which is not served here")
    if key == ApiKey.API_VERSIONS:
        versions, version = _api_versions(api, payload, version, handlers)
        return framed_response(correlation_id, encode(versions, version), tagged=False)
    if not api.min_version <= version <= api.max_version:
        spoken = f"{api.min_version} to {api.max_version} are spoken here"
        raise RefusedError(f"{api.name} version {version}; {spoken}")
    response = await handlers[key](_request(api, payload, version))
    return framed_response(correlation_id, encode(response, version), tagged=version >= api.flexible_from)


def _request(api: Api, payload: bytes, version: int) -> Request[Response]:
    try:
        return decode(api.request, payload, version, request_body(payload, tagged=version >= api.flexible_from))
    except MalformedMessageError as bad:
        raise RefusedError(f"bytes that are no {api.name} version {version}: {bad}") from bad


def _api_versions(
    api: Api, payload: bytes, version: int, handlers: Mapping[int, Handler]
) -> tuple[ApiVersionsResponse, int]:
    """The answer and its version: 0 for one that we do not speak, so that any client learns what is spoken (KIP-511)."""
    error = ErrorCode.NONE
    if api.min_version <= version <= api.max_version:
        _request(api, payload, version)
    else:
        error, version = ErrorCode.UNSUPPORTED_VERSION, 0
    served = [
        ApiVersion(api_key=key, min_version=each.min_version, max_version=each.max_version)
        for key, each in sorted(APIS.items())
        if key in handlers or each is api
    ]
    return ApiVersionsResponse(error_code=error, api_keys=served), version
