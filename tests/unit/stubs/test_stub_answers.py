"""What a stub broker reads and answers in each version of the three requests, and how rules choose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.stubs.answers import SERVED, Rule, Rules, answer
from pytest_kcontroller.stubs.requests import ReceivedRequest
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.generate.schema import SCHEMAS
from pytest_kcontroller.wire.messages import APIS, ApiKey, StopReplicaPartitionState
from tests.tools.wire_messages import random_message, whole

REQUESTS = {APIS[api].request.__name__: api for api in SERVED}
SPOKEN = [(name, version) for name, api in REQUESTS.items() for version in sorted(APIS[api].request.LAYOUTS)]


def received(name: str, version: int) -> list[ReceivedRequest]:
    """Requests of any content, as they come from the wire."""
    api, kind = ApiKey(REQUESTS[name]), APIS[REQUESTS[name]].request
    content = whole(json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))
    drawn = (random_message(kind, content, NamedRng(seed).stream("messages"), version) for seed in range(8))
    read = [decode(kind, encode(message, version), version) for message in drawn]
    return [ReceivedRequest(api=api, version=version, at_us=0, message=message) for message in read]


def errors_of(response: Any) -> list[int]:
    grouped = [entry for topic in getattr(response, "topics", []) for entry in topic.partition_errors]
    return [entry.error_code for entry in (*getattr(response, "partition_errors", []), *grouped)]


def test_all_versions_are_here() -> None:
    assert (
        sorted(
            [("LeaderAndIsrRequest", v) for v in range(8)]
            + [("StopReplicaRequest", v) for v in range(5)]
            + [("UpdateMetadataRequest", v) for v in range(3, 9)]
        )
        == SPOKEN
    )


@pytest.mark.parametrize(("name", "version"), SPOKEN)
def test_each_version_is_read_and_answered(name: str, version: int) -> None:
    requests = received(name, version)
    assert any(request.states for request in requests)
    for request in requests:
        response = answer(request, [])
        body = encode(response, version)
        assert encode(decode(type(response), body, version), version) == body
        assert response.error_code == 0  # type: ignore[attr-defined]
        if request.api != ApiKey.UPDATE_METADATA:
            assert len(errors_of(response)) == len({tp for tp, _ in request.states})
        whole = Rule(error=ErrorCode.STALE_CONTROLLER_EPOCH)
        assert answer(request, [whole]).error_code == 11  # type: ignore[attr-defined]
        for tp, _ in request.states:
            one = Rule(error=ErrorCode.UNKNOWN_TOPIC_ID, topic=tp.topic, partition=tp.partition)
            assert one.fits(request)
            told = answer(request, [one])
            assert errors_of(told).count(100) == (request.api != ApiKey.UPDATE_METADATA)
            assert str(tp) in str(request) or len(request.states) > 3


@pytest.mark.parametrize("version", range(5))
def test_a_stop_says_of_each_partition_whether_it_is_deleted(version: int) -> None:
    for request in received("StopReplicaRequest", version):
        for _, state in request.states:
            assert isinstance(state, StopReplicaPartitionState)
            if version < 3:
                assert state.delete_partition is request.message.delete_partitions  # type: ignore[attr-defined]


def test_rules_hold_for_what_they_name_and_as_often_as_they_say() -> None:
    request = next(r for r in received("StopReplicaRequest", 4) if r.states)
    tp = request.states[0][0]
    rules = Rules()
    rules.add(Rule(hold=True, api=ApiKey.LEADER_AND_ISR))
    rules.add(Rule(hold=True, topic="another"))
    assert rules.take(request) == []
    rules.add(Rule(hang_up=True, topic=tp.topic, times=2))
    assert [len(rules.take(request)) for _ in range(3)] == [1, 1, 0]
    rules.add(Rule(error=3, topic=tp.topic))
    rules.add(Rule(error=56, topic=tp.topic, partition=tp.partition))
    told = answer(request, rules.take(request))
    assert 56 in errors_of(told)
    rules.clear()
    assert rules.take(request) == []
