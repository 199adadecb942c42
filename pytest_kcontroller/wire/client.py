"""Requests to one address, one at a time."""

from __future__ import annotations

import asyncio
from typing import Any

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream, Transport
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.frames import read_frame
from pytest_kcontroller.wire.headers import framed_request, response_body
from pytest_kcontroller.wire.messages import APIS, ApiKey


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

    async def request(self, message: Any, *, timeout_us: int | None = None) -> Any:
        """Sends `message` in the newest version that we speak and returns the response.

        Raises ConnectionClosedError if there is no connection, it breaks, or no answer comes within `timeout_us`
        (microseconds; None: waits for ever). Then the request may or may not have been carried out.
        """
        async with self._turn:
            try:
                async with asyncio.timeout(None if timeout_us is None else timeout_us / 1e6):
                    return await self._exchange(message)
            except TimeoutError:
                self.close()
                raise ConnectionClosedError(
                    f"{self.address} did not answer {message.name} in {(timeout_us or 0) // 1000} ms"
                ) from None
            except BaseException:
                self.close()
                raise

    async def _exchange(self, message: Any) -> Any:
        if self._stream is None:
            self._stream = await self._transport.connect(self.address)
        stream = self._stream
        api = APIS[message.API_KEY]
        self._correlation_id = (self._correlation_id + 1) % 2**31
        body = encode(message, api.max_version)
        stream.write(framed_request(api.key, api.max_version, self._correlation_id, self._client_id, body))
        await stream.drain()
        payload = await read_frame(stream)
        answered = int.from_bytes(payload[:4], "big")
        if answered != self._correlation_id:
            raise ConnectionClosedError(f"{self.address} answered request {answered} instead of {self._correlation_id}")
        try:
            answer = response_body(payload, tagged=api.key != ApiKey.API_VERSIONS)
            return decode(api.response, answer, api.max_version)
        except Exception as bad:
            raise ConnectionClosedError(f"{self.address} sent no {api.response.__name__}: {bad!r}") from bad

    def close(self) -> None:
        """Closes the connection; the next request opens a new one."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
