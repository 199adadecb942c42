"""What is encoded or decoded once for all brokers is what the plain codec makes of each message."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.wire import codec
from pytest_kcontroller.wire.messages import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
    topic_uuid,
)

VERSION = 8


def updates(draw: Any) -> list[Any]:
    """The requests of one batch, of any content."""

    def number(bits: int = 31) -> int:
        return draw.randrange(-(2**bits), 2**bits)

    def ids() -> list[int]:
        return [number() for _ in range(draw.randrange(4))]

    common, parts = codec.Common(), dict[str, Any]()
    parts["topic_states"] = [
        UpdateMetadataTopicState(
            topic_name="t" * draw.randrange(1, 200),
            topic_id=topic_uuid("ru_Gs0Q_SsOxgBIhNEHTCw" if draw.random() < 0.5 else None),
            partition_states=[
                UpdateMetadataPartitionState(
                    partition_index=number(),
                    controller_epoch=number(),
                    leader=number(),
                    leader_epoch=number(),
                    isr=ids(),
                    zk_version=number(),
                    replicas=ids(),
                    offline_replicas=ids(),
                )
                for _ in range(draw.randrange(5))
            ],
        )
        for _ in range(draw.randrange(4))
    ]
    parts["live_brokers"] = [
        UpdateMetadataBroker(
            id=number(),
            endpoints=[UpdateMetadataEndpoint(port=9092, host="h\u00f6st", listener="PLAINTEXT", security_protocol=0)],
            rack=draw.choice([None, "", "r1"]),
        )
        for _ in range(draw.randrange(4))
    ]
    parts |= {"controller_id": number(), "controller_epoch": number()}
    if draw.random() < 0.3:
        parts["request_type"] = 1  # a tagged field
    requests = [UpdateMetadataRequest(broker_epoch=number(63), **parts) for _ in range(3)]
    for request in requests:
        request.common = common
    return requests


@pytest.mark.parametrize("seed", range(50))
def test_a_batch_has_the_bytes_and_the_content_of_the_plain_codec(seed: int) -> None:
    for request in updates(NamedRng(seed).stream("codec")):
        plain = bytes(request.encode(version=VERSION))
        assert codec.encode(request, VERSION) == plain
        decoded = codec.decode(UpdateMetadataRequest, memoryview(plain), VERSION)
        assert decoded == UpdateMetadataRequest.decode(plain, version=VERSION)
        assert decoded.broker_epoch == request.broker_epoch
        assert bytes(decoded.encode()) == plain


def test_the_body_is_encoded_once_for_all() -> None:
    first, second, _ = updates(NamedRng(1).stream("codec"))
    codec.encode(first, VERSION)
    body = first.common.body
    codec.encode(second, VERSION)
    assert second.common.body is body


@pytest.mark.parametrize("length", [0, 8, 9, 16, 17, 18])
def test_half_a_body_is_refused(length: int) -> None:
    body = bytes(updates(NamedRng(2).stream("codec"))[0].encode(version=VERSION))[:length]
    with pytest.raises(Exception):  # noqa: B017 - the codec raises anything
        codec.decode(UpdateMetadataRequest, memoryview(body), VERSION)
