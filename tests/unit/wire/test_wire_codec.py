"""Messages of any content: their bytes are those of another codec, damaged ones are refused, and entries are spliced."""

from __future__ import annotations

import gc
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
    MetadataRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
)
from tests.tools.wire_messages import KafkaPython, random_message, whole

CONTENTS = {path.stem: whole(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(SCHEMAS.glob("*.json"))}
SEEDS = 20
"""So many messages of each kind, over all its versions; a few at least of each."""


def samples(name: str, version: int | None = None, first: int = 0) -> Iterator[Any]:
    """Messages of one version (None: the newest)."""
    kind = getattr(messages, name)
    version = max(kind.LAYOUTS) if version is None else version
    for seed in range(first, first + max(3, SEEDS // len(kind.LAYOUTS))):
        yield random_message(kind, CONTENTS[name], NamedRng(seed).stream("messages"), version)


def bodies(name: str) -> Iterator[tuple[Any, int, bytes]]:
    """Messages of every version, with their bytes."""
    for version in getattr(messages, name).LAYOUTS:
        for message in samples(name, version):
            yield message, version, encode(message, version)


@pytest.mark.parametrize("name", CONTENTS)
def test_another_codec_makes_the_same_bytes(name: str) -> None:
    other = KafkaPython(CONTENTS[name])
    for _, version, body in bodies(name):
        assert other.same_again(body, version) == body


def test_the_other_codec_changes_nothing_for_its_own_clients() -> None:
    """They find the class of an answer by a weak reference, in a table that each new class enters."""
    before = {key: KafkaPython.class_of_response(key) for key in (0, 3, 18)}
    KafkaPython(CONTENTS["MetadataResponse"])
    KafkaPython(CONTENTS["ApiVersionsResponse"])
    gc.collect()
    assert {key: KafkaPython.class_of_response(key) for key in before} == before


@pytest.mark.parametrize("name", CONTENTS)
def test_what_is_read_is_what_was_written(name: str) -> None:
    kind = getattr(messages, name)
    for message, version, body in bodies(name):
        assert decode(kind, body, version) == message
        assert decode(kind, b"before" + body + b"behind", version, 6) == message


@pytest.mark.parametrize("name", CONTENTS)
def test_half_a_body_is_refused(name: str) -> None:
    kind = getattr(messages, name)
    for _, version, body in bodies(name):
        for length in sorted({*range(min(len(body), 40)), *range(max(0, len(body) - 40), len(body))}):
            with pytest.raises(MalformedMessageError, match=name):
                decode(kind, body[:length], version)


@pytest.mark.parametrize("name", CONTENTS)
def test_damaged_bytes_are_refused_or_another_message(name: str) -> None:
    kind, draw = getattr(messages, name), NamedRng(7).stream("messages")
    for _, version, whole_body in bodies(name):
        for _ in range(20):
            body = bytearray(whole_body or b"\0")
            for _ in range(draw.choice((1, 1, 3))):
                body[draw.randrange(min(len(body), 500))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
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
    with pytest.raises(TypeError, match="live_brokers"):
        UpdateMetadataRequest(controller_id=1, controller_epoch=1, topic_states=[])  # type: ignore[call-arg]
    assert (
        UpdateMetadataRequest(controller_id=1, controller_epoch=1, topic_states=[], live_brokers=[]).broker_epoch == -1
    )


def test_null_is_not_written_where_a_version_has_none() -> None:
    every_topic = MetadataRequest(topics=None)
    assert encode(every_topic, 1)[:4] == b"\xff" * 4
    with pytest.raises(ValueError, match="null, in a version"):
        encode(every_topic, 0)


def leader_and_isr(states: list[LeaderAndIsrPartitionState], broker_epoch: int) -> LeaderAndIsrRequest:
    topic = LeaderAndIsrTopicState(topic_name="t", topic_id=bytes(16), partition_states=states)
    return LeaderAndIsrRequest(
        controller_id=1, controller_epoch=2, broker_epoch=broker_epoch, topic_states=[topic], live_leaders=[]
    )


def test_an_entry_that_was_encoded_once_is_spliced_into_each_request() -> None:
    def states() -> list[LeaderAndIsrPartitionState]:
        topics = next(f for f in CONTENTS["LeaderAndIsrRequest"]["fields"] if f["name"] == "TopicStates")
        content, rng = topics["fields"][2], NamedRng(5).stream("messages")
        return [random_message(LeaderAndIsrPartitionState, content, rng, 7) for _ in range(5)]

    fresh, once = states(), [encode_once(state) for state in states()]
    assert fresh == once
    for epoch in (1, 2**40):
        body = encode(leader_and_isr(fresh, epoch), 7)
        assert encode(leader_and_isr(once, epoch), 7) == body
        assert decode(LeaderAndIsrRequest, body, 7) == leader_and_isr(once, epoch)


def test_the_bytes_of_an_entry_are_made_once() -> None:
    (state,) = (
        decode(LeaderAndIsrRequest, encode(next(m for m in samples("LeaderAndIsrRequest") if m.topic_states), 7), 7)
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
