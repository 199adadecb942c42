"""Our encoding is Kafka's, byte for byte: vectors made by Kafka 3.9.1's own classes (tests/tools/WireVectors.java)."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.wire import headers, messages

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "wire_vectors.json").read_text(encoding="utf-8"))
BODIES = [v for v in VECTORS if not v["message"].endswith("Header")]
HEADERS = [v for v in VECTORS if v["message"].endswith("Header")]


def snake(name: str) -> str:
    if name == "type":
        return "request_type"
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.replace("KRaft", "Kraft")).lower()


def build(data_class: Any, value: dict[str, Any]) -> Any:
    """A message of ours from Kafka's JSON form of it."""
    fields: dict[str, Any] = {}
    for key, content in value.items():
        name = snake(key)
        field = data_class._struct.fields[name]
        if field.is_struct_array():
            content = [build(field.data_class, item) for item in content]
        elif key == "topicId":
            content = messages.topic_uuid(content)
            content = None if content == messages.ZERO_TOPIC_ID else content  # as the codec decodes it
        fields[name] = content
    return data_class(**fields)


@pytest.mark.parametrize("vector", BODIES, ids=[f"{v['message']}-{n}" for n, v in enumerate(BODIES)])
def test_bytes_are_kafkas(vector: dict[str, Any]) -> None:
    kind, version = getattr(messages, vector["message"]), vector["version"]
    expected = bytes.fromhex(vector["bytes"])
    message = build(kind, vector["json"])
    assert bytes(message.encode(version=version)) == expected
    decoded = kind.decode(expected, version=version)
    assert decoded == message
    assert bytes(decoded.encode()) == expected


@pytest.mark.parametrize("vector", HEADERS, ids=[f"{v['message']}-{n}" for n, v in enumerate(HEADERS)])
def test_headers_are_kafkas(vector: dict[str, Any]) -> None:
    kind = messages.RequestHeader if vector["message"] == "RequestHeader" else messages.ResponseHeader
    header = build(kind, vector["json"])
    assert bytes(header.encode(flexible=True)) == bytes.fromhex(vector["bytes"])


@pytest.mark.parametrize("vector", HEADERS, ids=[f"{v['message']}-{n}" for n, v in enumerate(HEADERS)])
def test_headers_made_without_the_codec_are_kafkas(vector: dict[str, Any]) -> None:
    value, body = vector["json"], b"the body"
    expected = bytes.fromhex(vector["bytes"]) + body
    framed = len(expected).to_bytes(4, "big") + expected
    if vector["message"] == "ResponseHeader":
        assert headers.framed_response(value["correlationId"], body) == framed
        assert bytes(headers.response_body(expected, tagged=True)) == body
        return
    assert bytes(headers.request_body(expected)) == body
    if value["clientId"] is not None:  # others may send none; we always do
        key, version, correlation_id = value["requestApiKey"], value["requestApiVersion"], value["correlationId"]
        made = headers.framed_request(key, version, correlation_id, value["clientId"].encode(), body)
        assert made == framed


def test_tagged_fields_of_others_are_skipped_and_half_headers_refused() -> None:
    tags = b"\x02" + b"\x00\x03abc" + b"\x85\x01\x81\x01" + b"x" * 129
    assert bytes(headers.response_body(b"\0\0\0\x07" + tags + b"body", tagged=True)) == b"body"
    assert bytes(headers.request_body(b"\0\x06\0\x08\0\0\0\x07\xff\xff" + tags + b"body")) == b"body"
    for half in (b"\0\x06\0\x08\0\0\0\x07", b"\0\x06\0\x08\0\0\0\x07\xff\xfe\0", b"\0\x06\0\x08\0\0\0\x07\0\x05ab"):
        with pytest.raises((ValueError, IndexError, struct.error)):
            headers.request_body(half)


def test_every_message_has_vectors_and_the_right_direction() -> None:
    seen = {v["message"] for v in BODIES}
    for api in messages.APIS.values():
        assert api.request.is_request() and not api.response.is_request()
        assert api.request.API_KEY == api.response.API_KEY == api.key
        if api.key != messages.ApiKey.API_VERSIONS:
            assert {api.request.__name__, api.response.__name__} <= seen


def test_topic_ids_cross_both_ways() -> None:
    text = "ru_Gs0Q_SsOxgBIhNEHTCw"
    assert messages.topic_id_text(messages.topic_uuid(text)) == text
    assert messages.topic_uuid(None) == messages.ZERO_TOPIC_ID
    assert messages.topic_id_text(messages.ZERO_TOPIC_ID) is None
    assert messages.topic_id_text(None) is None
