"""The messages that we speak, and which API each belongs to.

The classes come from kafka-python's schema-driven codec; the schemas of what clients do not carry are in `schemas/`.
Fields are attributes in snake case. Two names differ from Kafka's: a field `Type` would hide the class's own property
`type`, and the codec would take the request for a response, so it is `request_type` here (names do not cross the wire).

Each class registers itself as the response of its API in kafka-python's process-wide registry; the registry has no other
classes for these five keys, and ApiVersions is the library's own class, so that nothing of the library changes.
"""

from __future__ import annotations

import base64
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

with warnings.catch_warnings():
    # Its loader calls importlib.resources.read_text, which Python 3.11 and 3.12 call deprecated (3.13 took that back).
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.api_header import RequestHeader as RequestHeader
    from kafka.protocol.api_header import ResponseHeader as ResponseHeader
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.metadata.api_versions import ApiVersionsRequest as ApiVersionsRequest
    from kafka.protocol.metadata.api_versions import ApiVersionsResponse as ApiVersionsResponse
    from kafka.protocol.schemas.fields.codecs import EncodeBuffer as EncodeBuffer

    from pytest_kcontroller.wire import schemas

    class LeaderAndIsrRequest(ApiMessage, load_json=schemas):
        """Controller to broker: lead or follow these partitions."""

    class LeaderAndIsrResponse(ApiMessage, load_json=schemas):
        """An error per partition."""

    class StopReplicaRequest(ApiMessage, load_json=schemas):
        """Controller to broker: stop, and maybe delete, these replicas."""

    class StopReplicaResponse(ApiMessage, load_json=schemas):
        """An error per partition."""

    class UpdateMetadataRequest(ApiMessage, load_json=schemas):
        """Controller to broker: who is live, who leads what. `common` is the batch's (codec.Common), if it is set."""

        __slots__ = ("common",)
        common: Any

    class UpdateMetadataResponse(ApiMessage, load_json=schemas):
        """One error."""

    class ControlledShutdownRequest(ApiMessage, load_json=schemas):
        """Broker to controller: relieve me."""

    class ControlledShutdownResponse(ApiMessage, load_json=schemas):
        """What it still leads."""

    class AlterPartitionRequest(ApiMessage, load_json=schemas):
        """Leader to controller: change the ISR."""

    class AlterPartitionResponse(ApiMessage, load_json=schemas):
        """The state of each partition, or an error."""


LeaderAndIsrTopicState = LeaderAndIsrRequest.LeaderAndIsrTopicState
LeaderAndIsrPartitionState = LeaderAndIsrTopicState.LeaderAndIsrPartitionState
LeaderAndIsrLiveLeader = LeaderAndIsrRequest.LeaderAndIsrLiveLeader
LeaderAndIsrTopicError = LeaderAndIsrResponse.LeaderAndIsrTopicError
LeaderAndIsrPartitionError = LeaderAndIsrTopicError.LeaderAndIsrPartitionError
StopReplicaTopicState = StopReplicaRequest.StopReplicaTopicState
StopReplicaPartitionState = StopReplicaTopicState.StopReplicaPartitionState
StopReplicaPartitionError = StopReplicaResponse.StopReplicaPartitionError
UpdateMetadataTopicState = UpdateMetadataRequest.UpdateMetadataTopicState
UpdateMetadataPartitionState = UpdateMetadataTopicState.UpdateMetadataPartitionState
UpdateMetadataBroker = UpdateMetadataRequest.UpdateMetadataBroker
UpdateMetadataEndpoint = UpdateMetadataBroker.UpdateMetadataEndpoint
RemainingPartition = ControlledShutdownResponse.RemainingPartition
AlterPartitionTopic = AlterPartitionRequest.AlterPartitionTopic
AlterPartitionPartition = AlterPartitionTopic.AlterPartitionPartition
AlterPartitionBrokerState = AlterPartitionPartition.AlterPartitionBrokerState
AlteredTopic = AlterPartitionResponse.AlteredTopic
AlteredPartition = AlteredTopic.AlteredPartition


class ApiKey(IntEnum):
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    API_VERSIONS = 18
    ALTER_PARTITION = 56


@dataclass(frozen=True, slots=True)
class Api:
    """One API: its messages and the versions that we speak."""

    key: ApiKey
    request: Any
    response: Any
    min_version: int
    max_version: int


APIS: Mapping[int, Api] = {
    api.key: api
    for api in (
        Api(ApiKey.LEADER_AND_ISR, LeaderAndIsrRequest, LeaderAndIsrResponse, 7, 7),
        Api(ApiKey.STOP_REPLICA, StopReplicaRequest, StopReplicaResponse, 4, 4),
        Api(ApiKey.UPDATE_METADATA, UpdateMetadataRequest, UpdateMetadataResponse, 8, 8),
        Api(ApiKey.CONTROLLED_SHUTDOWN, ControlledShutdownRequest, ControlledShutdownResponse, 3, 3),
        Api(ApiKey.API_VERSIONS, ApiVersionsRequest, ApiVersionsResponse, 0, 4),
        Api(ApiKey.ALTER_PARTITION, AlterPartitionRequest, AlterPartitionResponse, 3, 3),
    )
}

_TOPIC_IDS = 4096
"""So many are remembered: each comes again in every message about its topic."""

ZERO_TOPIC_ID = uuid.UUID(int=0)
"""On the wire: this topic has no id."""


@lru_cache(maxsize=_TOPIC_IDS)
def topic_uuid(topic_id: str | None) -> uuid.UUID:
    """The wire's form of a topic znode's id (unpadded URL-safe base64 of 16 bytes). Raises ValueError."""
    if topic_id is None:
        return ZERO_TOPIC_ID
    return uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "=" * (-len(topic_id) % 4)))


@lru_cache(maxsize=_TOPIC_IDS)
def topic_id_text(topic_id: uuid.UUID | None) -> str | None:
    """The topic znode's form of a topic id; None for the zero id, which the codec decodes as None."""
    if topic_id is None or topic_id == ZERO_TOPIC_ID:
        return None
    return base64.urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode()
