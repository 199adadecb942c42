"""Requests to one address, one at a time."""

from __future__ import annotations

import asyncio
from typing import TypeVar, cast

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream, Transport
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.errors import ErrorCode, MalformedMessageError
from pytest_kcontroller.wire.frames import read_frame
from pytest_kcontroller.wire.headers import framed_request, response_body
from pytest_kcontroller.wire.message import Request, Response
from pytest_kcontroller.wire.messages import APIS, ApiKey

R = TypeVar("R", bound=Response)

_UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")


class RequestClient:
    """A connection to `address`, made at the first request and again after it broke; one request in flight.

    Whatever interrupts a request (an error, a timeout, being cancelled) closes the connection, so that a late answer can
    never be taken for the answer to the next request.
    """

    def __init__(self, transport: Transport, address: Address, *, client_id: str = "kcontroller") -> None:
        self.address = address
        self._transport, self._client_id = transport, client_id.encode()
        self._stream: Stream | None = None
        self._turn = asyncio.Lock()
        self._correlation_id = 0

    async def request(self, message: Request[R], *, version: int | None = None, timeout_us: int | None = None) -> R:
        """Sends `message` in a `version` of the schemas (None: the newest) and returns the response.

        Raises ConnectionClosedError if there is no connection, it breaks, or no answer comes within `timeout_us`
        (microseconds; None: waits for ever). Then the request may or may not have been carried out.
        """
        async with self._turn:
            try:
                async with within(None if timeout_us is None else timeout_us / 1e6):
                    return await self._exchange(message, version)
            except TimeoutError:
                self.close()
                raise ConnectionClosedError(
                    f"{self.address} did not answer {type(message).__name__} in {(timeout_us or 0) // 1000} ms"
                ) from None
            except BaseException:
                self.close()
                raise

    async def _exchange(self, message: Request[R], version: int | None) -> R:
        if self._stream is None:
            self._stream = await self._transport.connect(self.address)
        stream = self._stream
        api = APIS[message.API_KEY]
        self._correlation_id = (self._correlation_id + 1) % 2**31
        version = api.max_version if version is None else version
        body, tagged = encode(message, version), version >= api.flexible_from
        stream.write(framed_request(api.key, version, self._correlation_id, self._client_id, body, tagged=tagged))
        await stream.drain()
        payload = await read_frame(stream)
        answered = int.from_bytes(payload[:4], "big")
        if answered != self._correlation_id:
            raise ConnectionClosedError(f"{self.address} answered request {answered} instead of {self._correlation_id}")
        try:
            at = response_body(payload, tagged=tagged and api.key != ApiKey.API_VERSIONS)
            if api.key == ApiKey.API_VERSIONS and payload.startswith(_UNSUPPORTED, at):
                version = 0  # such an answer is in version 0 (KIP-511)
            answer: Response = decode(api.response, payload, version, at)
        except MalformedMessageError as bad:
            raise ConnectionClosedError(f"{self.address} sent no {api.response.__name__}: {bad}") from bad
        return cast(R, answer)

    def close(self) -> None:
        """Closes the connection; the next request opens a new one."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
