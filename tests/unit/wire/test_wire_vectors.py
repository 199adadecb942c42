"""Our encoding is Kafka's, byte for byte: vectors made by Kafka 3.9.1's own classes (tests/tools/WireVectors.java)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.wire import headers, messages
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.errors import MalformedMessageError
from tests.tools.wire_messages import from_json

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "wire_vectors.json").read_text(encoding="utf-8"))
BODIES = [v for v in VECTORS if not v["message"].endswith("Header")]
HEADERS = [v for v in VECTORS if v["message"].endswith("Header")]


@pytest.mark.parametrize("vector", BODIES, ids=[f"{v['message']}-{n}" for n, v in enumerate(BODIES)])
def test_bytes_are_kafkas(vector: dict[str, Any]) -> None:
    kind, version = getattr(messages, vector["message"]), vector["version"]
    expected = bytes.fromhex(vector["bytes"])
    message = from_json(kind, vector["json"])
    assert encode(message, version) == expected
    decoded = decode(kind, expected, version)
    assert decoded == message
    assert encode(decoded, version) == expected


@pytest.mark.parametrize("vector", HEADERS, ids=[f"{v['message']}-{n}" for n, v in enumerate(HEADERS)])
def test_headers_are_kafkas(vector: dict[str, Any]) -> None:
    value, body = vector["json"], b"the body"
    expected = bytes.fromhex(vector["bytes"]) + body
    framed = len(expected).to_bytes(4, "big") + expected
    if vector["message"] == "ResponseHeader":
        assert headers.framed_response(value["correlationId"], body) == framed
        assert expected[headers.response_body(expected) :] == body
        return
    assert expected[headers.request_body(expected) :] == body
    if value["clientId"] is not None:  # others may send none; we always do
        key, version, correlation_id = value["requestApiKey"], value["requestApiVersion"], value["correlationId"]
        made = headers.framed_request(key, version, correlation_id, value["clientId"].encode(), body)
        assert made == framed


def test_tagged_fields_of_others_are_skipped_and_half_headers_refused() -> None:
    tags = b"\x02" + b"\x00\x03abc" + b"\x85\x01\x81\x01" + b"x" * 129
    response, request = b"\0\0\0\x07" + tags, b"\0\x06\0\x08\0\0\0\x07\xff\xff" + tags
    assert headers.response_body(response + b"body") == len(response)
    assert headers.request_body(request + b"body") == len(request)
    for half in (b"\0\x06\0\x08\0\0\0\x07", b"\0\x06\0\x08\0\0\0\x07\xff\xfe\0", b"\0\x06\0\x08\0\0\0\x07\0\x05ab"):
        with pytest.raises(MalformedMessageError):
            headers.request_body(half)
    with pytest.raises(MalformedMessageError):
        headers.response_body(b"\0\0\0\x07")


def test_versions_that_are_not_flexible_have_headers_without_tagged_fields() -> None:
    framed = headers.framed_request(18, 0, 7, b"me", b"body", tagged=False)
    assert framed == b"\0\0\0\x10" + b"\0\x12\0\0\0\0\0\x07\0\x02me" + b"body"
    assert framed[4:][headers.request_body(framed[4:], tagged=False) :] == b"body"
    assert headers.framed_response(7, b"body", tagged=False) == b"\0\0\0\x08\0\0\0\x07body"
    assert headers.response_body(b"\0\0\0\x07body", tagged=False) == 4


def test_every_message_has_vectors() -> None:
    seen = {v["message"] for v in BODIES}
    for api in messages.APIS.values():
        assert api.request.API_KEY == api.response.API_KEY == api.key
        if api.key != messages.ApiKey.API_VERSIONS:
            missing = {api.request.__name__, api.response.__name__} - seen
            assert not missing, "let tests/tools/WireVectors.java make some, as it says at its top"
