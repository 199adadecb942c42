"""Messages of any content: their bytes are those of another codec, damaged ones are refused, and entries are spliced."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.wire import messages
from pytest_kcontroller.wire.codec import decode, encode, encode_once
from pytest_kcontroller.wire.errors import MalformedMessageError
from pytest_kcontroller.wire.generate.schema import SCHEMAS
from pytest_kcontroller.wire.messages import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaResponse,
    UpdateMetadataRequest,
)
from tests.tools.wire_messages import KafkaPython, random_message

CONTENTS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(SCHEMAS.glob("*.json"))}
SEEDS = 20


def samples(name: str, first: int = 0) -> Iterator[Any]:
    for seed in range(first, first + SEEDS):
        yield random_message(getattr(messages, name), CONTENTS[name], NamedRng(seed).stream("messages"))


@pytest.mark.parametrize("name", CONTENTS)
def test_another_codec_makes_the_same_bytes(name: str) -> None:
    kind, other = getattr(messages, name), KafkaPython(CONTENTS[name])
    for message in samples(name):
        for version in kind.LAYOUTS:
            body = encode(message, version)
            assert other.same_again(body, version) == body
            assert encode(decode(kind, body, version), version) == body


@pytest.mark.parametrize("name", CONTENTS)
def test_what_is_read_is_what_was_written(name: str) -> None:
    kind = getattr(messages, name)
    for message in samples(name):
        body = encode(message, max(kind.LAYOUTS))
        assert decode(kind, body, max(kind.LAYOUTS)) == message
        assert decode(kind, b"before" + body + b"behind", max(kind.LAYOUTS), 6) == message


@pytest.mark.parametrize("name", CONTENTS)
def test_half_a_body_is_refused(name: str) -> None:
    kind = getattr(messages, name)
    for message in samples(name):
        for version in kind.LAYOUTS:
            body = encode(message, version)
            for length in sorted({*range(min(len(body), 40)), *range(max(0, len(body) - 40), len(body))}):
                with pytest.raises(MalformedMessageError, match=name):
                    decode(kind, body[:length], version)


@pytest.mark.parametrize("name", CONTENTS)
def test_damaged_bytes_are_refused_or_another_message(name: str) -> None:
    kind, draw = getattr(messages, name), NamedRng(7).stream("messages")
    for message in samples(name):
        for version in kind.LAYOUTS:
            for _ in range(20):
                body = bytearray(encode(message, version) or b"\0")
                for _ in range(draw.choice((1, 1, 3))):
                    body[draw.randrange(min(len(body), 500))] = draw.choice(
                        (0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256))
                    )
                try:
                    decode(kind, bytes(body), version)
                except MalformedMessageError:
                    continue


@pytest.mark.parametrize(
    "count",
    [b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\xff" * 200_000, b"\x80" * 200_000, b"\x00"],
    ids=["2**31", "2**32", "endless ones", "endless zeros", "null"],
)
def test_a_length_is_not_believed(count: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessageError):
            decode(StopReplicaResponse, b"\0\0" + count, 4)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_tagged_fields_of_others_are_skipped() -> None:
    bare = encode(StopReplicaResponse(error_code=3, partition_errors=[]), 4)
    assert bare.endswith(b"\0")
    tagged = bare[:-1] + b"\x02" + b"\x00\x03abc" + b"\x85\x01\x81\x01" + b"x" * 129
    assert decode(StopReplicaResponse, tagged, 4) == StopReplicaResponse(error_code=3, partition_errors=[])
    with pytest.raises(MalformedMessageError, match="129 bytes announced"):
        decode(StopReplicaResponse, tagged[:-1], 4)


def test_a_field_is_required_unless_the_schema_has_a_default() -> None:
    with pytest.raises(TypeError, match="topic_states"):
        UpdateMetadataRequest(controller_id=1, controller_epoch=1, live_brokers=[])  # type: ignore[call-arg]
    assert (
        UpdateMetadataRequest(controller_id=1, controller_epoch=1, topic_states=[], live_brokers=[]).broker_epoch == -1
    )


def leader_and_isr(states: list[LeaderAndIsrPartitionState], broker_epoch: int) -> LeaderAndIsrRequest:
    topic = LeaderAndIsrTopicState(topic_name="t", topic_id=bytes(16), partition_states=states)
    return LeaderAndIsrRequest(
        controller_id=1, controller_epoch=2, broker_epoch=broker_epoch, topic_states=[topic], live_leaders=[]
    )


def test_an_entry_that_was_encoded_once_is_spliced_into_each_request() -> None:
    def states() -> list[LeaderAndIsrPartitionState]:
        content = CONTENTS["LeaderAndIsrRequest"]["fields"][5]["fields"][2]
        return [
            random_message(LeaderAndIsrPartitionState, content, NamedRng(seed).stream("messages")) for seed in range(5)
        ]

    fresh, once = states(), [encode_once(state) for state in states()]
    assert fresh == once
    for epoch in (1, 2**40):
        body = encode(leader_and_isr(fresh, epoch), 7)
        assert encode(leader_and_isr(once, epoch), 7) == body
        assert decode(LeaderAndIsrRequest, body, 7) == leader_and_isr(once, epoch)


def test_the_bytes_of_an_entry_are_made_once() -> None:
    (state,) = (
        decode(LeaderAndIsrRequest, encode(next(samples("LeaderAndIsrRequest")), 7), 7)
        .topic_states[0]
        .partition_states[:1]
    )
    encode_once(state)
    state.encoded = b"spliced"
    assert encode(leader_and_isr([state], 1), 7).count(b"spliced") == 1


def test_an_update_for_many_brokers_is_read_once() -> None:
    first = next(message for message in samples("UpdateMetadataRequest") if message.topic_states)
    second = replace(first, broker_epoch=first.broker_epoch ^ 1)
    read = [decode(UpdateMetadataRequest, encode(message, 8), 8) for message in (first, second)]
    assert read == [first, second]
    assert read[0].topic_states is read[1].topic_states
