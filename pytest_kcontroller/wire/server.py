"""The serving side of one connection: requests are decoded, handled and answered in order, one after the other."""

from __future__ import annotations

import io
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.frames import read_frame
from pytest_kcontroller.wire.headers import framed_response, request_body
from pytest_kcontroller.wire.messages import APIS, Api, ApiKey, ApiVersionsResponse

Handler = Callable[[Any], Awaitable[Any]]
"""From a decoded request to its response. It answers errors in the response; an exception closes the connection."""


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
            answer = await _answer(payload, handlers, stream.peer, refused)
            if answer is None:
                return
            stream.write(answer)
            await stream.drain()
    except ConnectionClosedError:
        return
    finally:
        stream.close()


async def _answer(
    payload: bytes, handlers: Mapping[int, Handler], peer: str, refused: Callable[[str], None]
) -> bytes | None:
    if len(payload) < 8:
        refused(f"{peer} sent a request of {len(payload)} bytes, which is too short for a header")
        return None
    key, version, correlation_id = struct.unpack_from(">hhi", payload)
    api = APIS.get(key)
    if api is None or (key not in handlers and key != ApiKey.API_VERSIONS):
        refused(f"{peer} sent a request of API {key} version {version}, which is not served here")
        return None
    if not api.min_version <= version <= api.max_version:
        if key == ApiKey.API_VERSIONS:  # KIP-511: answered in version 0, so that any client learns what is spoken
            return _framed(_api_versions(handlers, ErrorCode.UNSUPPORTED_VERSION), 0, correlation_id)
        refused(f"{peer} sent {api.key.name} version {version}; {api.min_version} to {api.max_version} are spoken here")
        return None
    try:
        if key == ApiKey.API_VERSIONS:
            api.request.decode(io.BytesIO(payload), version=version, header=True)
            return _framed(_api_versions(handlers, ErrorCode.NONE), version, correlation_id)
        request = decode(api.request, request_body(payload), version)
    except Exception as bad:  # noqa: BLE001 - the codec raises anything for bytes that are not such a message
        refused(f"{peer} sent bytes that are no {api.key.name} version {version}: {bad!r}")
        return None
    response = await handlers[key](request)
    return framed_response(correlation_id, encode(response, version))


def _framed(response: Any, version: int, correlation_id: int) -> bytes:
    # The version first: once there is a header, the codec writes a version into it, which a response's header has not.
    response.API_VERSION = version
    response.with_header(correlation_id)
    return bytes(response.encode(header=True, framed=True))


def _api_versions(handlers: Mapping[int, Handler], error: ErrorCode) -> Any:
    spoken: list[Api] = [api for key, api in sorted(APIS.items()) if key in handlers or key == ApiKey.API_VERSIONS]
    entries = [
        ApiVersionsResponse.ApiVersion(api_key=int(api.key), min_version=api.min_version, max_version=api.max_version)
        for api in spoken
    ]
    return ApiVersionsResponse(error_code=int(error), api_keys=entries, throttle_time_ms=0)
