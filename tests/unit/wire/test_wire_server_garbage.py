"""A connection on which anything is said: each frame is answered, or refused with a sentence and the connection's end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_kcontroller.runtime.ports import ConnectionClosedError
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.wire.codec import encode
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.generate.schema import SCHEMAS
from pytest_kcontroller.wire.headers import framed_request
from pytest_kcontroller.wire.messages import APIS
from pytest_kcontroller.wire.refusals import refusal
from pytest_kcontroller.wire.server import Service, serve
from tests.tools.wire_messages import random_message, whole

CONTENTS = {key: whole(json.loads((SCHEMAS / f"{api.request.__name__}.json").read_text())) for key, api in APIS.items()}
ANSWERS = {key: refusal(api.response, ErrorCode.NONE) for key, api in APIS.items()}


class SaidStream:
    """The end of a connection on which the other end has said `data`, and no more."""

    peer = "a client"

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.answered = 0
        self.closed = False

    async def read_exactly(self, count: int) -> bytes:
        if count > len(self._data):
            raise ConnectionClosedError("the end")
        read, self._data = self._data[:count], self._data[count:]
        return read

    def write(self, data: bytes) -> None:
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        self.answered += 1

    async def drain(self) -> None:
        return

    def close(self) -> None:
        self.closed = True


def served(data: bytes) -> tuple[SaidStream, list[str]]:
    """What became of it. Raises what nobody expects."""

    def handler(key: int) -> Any:
        async def handle(request: Any) -> Any:
            return ANSWERS[key]

        return handle

    stream, refused = SaidStream(data), list[str]()
    service = Service(handlers={key: handler(key) for key in APIS}, refused=refused.append)
    asyncio.run(serve(stream, service))
    return stream, refused


@st.composite
def frames(draw: Any) -> bytes:
    """A request of any API and version, as a client would send it, with some bytes that are not what they were."""
    key = draw(st.sampled_from(sorted(APIS)))
    api = APIS[key]
    version = draw(st.integers(api.min_version, api.max_version))
    rng = NamedRng(draw(st.integers(0, 2**32))).stream("request")
    body = encode(random_message(api.request, CONTENTS[key], rng, version), version)
    frame = bytearray(framed_request(key, version, 7, b"c", body, tagged=version >= api.flexible_from))
    for at, value in draw(st.lists(st.tuples(st.integers(4, len(frame) - 1), st.integers(0, 255)), max_size=4)):
        frame[at] = value
    length = draw(st.integers(0, len(frame) - 4) | st.just(len(frame) - 4))
    return length.to_bytes(4, "big") + bytes(frame[4 : 4 + length])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(frames())
def test_a_damaged_request_is_answered_or_refused(frame: bytes) -> None:
    stream, refused = served(frame)
    assert stream.closed
    assert stream.answered + len(refused) == 1
    assert all(why.startswith("a client sent ") for why in refused)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_that_are_no_request_end_the_connection(data: bytes) -> None:
    stream, refused = served(data)
    assert stream.closed
    assert len(refused) <= 1


def test_what_comes_behind_a_refused_request_is_not_read() -> None:
    body = encode(random_message(APIS[3].request, CONTENTS[3], NamedRng(1).stream("request"), 9), 9)
    good = framed_request(3, 9, 7, b"c", body)
    bad = (4).to_bytes(4, "big") + b"\0\3\0\x09"
    stream, refused = served(good + good + bad + good)
    assert (stream.answered, len(refused)) == (2, 1)
    assert "too short for a header" in refused[0]
