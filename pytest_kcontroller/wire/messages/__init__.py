# Generated from wire/schemas by `make generated`: edit those.
"""The messages that we speak, and the table of their APIs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from pytest_kcontroller.wire.message import Api
from pytest_kcontroller.wire.messages.alter_partition_request import (
    AlterPartitionBrokerState,
    AlterPartitionPartition,
    AlterPartitionRequest,
    AlterPartitionTopic,
)
from pytest_kcontroller.wire.messages.alter_partition_response import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionResponse,
)
from pytest_kcontroller.wire.messages.api_versions_request import ApiVersionsRequest
from pytest_kcontroller.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from pytest_kcontroller.wire.messages.controlled_shutdown_request import ControlledShutdownRequest
from pytest_kcontroller.wire.messages.controlled_shutdown_response import ControlledShutdownResponse, RemainingPartition
from pytest_kcontroller.wire.messages.leader_and_isr_request import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from pytest_kcontroller.wire.messages.leader_and_isr_response import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from pytest_kcontroller.wire.messages.stop_replica_request import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from pytest_kcontroller.wire.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse
from pytest_kcontroller.wire.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from pytest_kcontroller.wire.messages.update_metadata_response import UpdateMetadataResponse

__all__ = [
    "APIS",
    "AlterPartitionBrokerState",
    "AlterPartitionPartition",
    "AlterPartitionRequest",
    "AlterPartitionResponse",
    "AlterPartitionTopic",
    "AlteredPartition",
    "AlteredTopic",
    "ApiKey",
    "ApiVersion",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "ControlledShutdownRequest",
    "ControlledShutdownResponse",
    "FinalizedFeatureKey",
    "LeaderAndIsrLiveLeader",
    "LeaderAndIsrPartitionError",
    "LeaderAndIsrPartitionState",
    "LeaderAndIsrRequest",
    "LeaderAndIsrResponse",
    "LeaderAndIsrTopicError",
    "LeaderAndIsrTopicState",
    "RemainingPartition",
    "StopReplicaPartitionError",
    "StopReplicaPartitionState",
    "StopReplicaRequest",
    "StopReplicaResponse",
    "StopReplicaTopicState",
    "SupportedFeatureKey",
    "UpdateMetadataBroker",
    "UpdateMetadataEndpoint",
    "UpdateMetadataPartitionState",
    "UpdateMetadataRequest",
    "UpdateMetadataResponse",
    "UpdateMetadataTopicState",
]


class ApiKey(IntEnum):
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    API_VERSIONS = 18
    ALTER_PARTITION = 56


APIS: Mapping[int, Api] = {
    4: Api(
        key=ApiKey.LEADER_AND_ISR,
        name="LEADER_AND_ISR",
        request=LeaderAndIsrRequest,
        response=LeaderAndIsrResponse,
        min_version=7,
        max_version=7,
        flexible_from=7,
    ),
    5: Api(
        key=ApiKey.STOP_REPLICA,
        name="STOP_REPLICA",
        request=StopReplicaRequest,
        response=StopReplicaResponse,
        min_version=4,
        max_version=4,
        flexible_from=4,
    ),
    6: Api(
        key=ApiKey.UPDATE_METADATA,
        name="UPDATE_METADATA",
        request=UpdateMetadataRequest,
        response=UpdateMetadataResponse,
        min_version=8,
        max_version=8,
        flexible_from=8,
    ),
    7: Api(
        key=ApiKey.CONTROLLED_SHUTDOWN,
        name="CONTROLLED_SHUTDOWN",
        request=ControlledShutdownRequest,
        response=ControlledShutdownResponse,
        min_version=3,
        max_version=3,
        flexible_from=3,
    ),
    18: Api(
        key=ApiKey.API_VERSIONS,
        name="API_VERSIONS",
        request=ApiVersionsRequest,
        response=ApiVersionsResponse,
        min_version=0,
        max_version=4,
        flexible_from=3,
    ),
    56: Api(
        key=ApiKey.ALTER_PARTITION,
        name="ALTER_PARTITION",
        request=AlterPartitionRequest,
        response=AlterPartitionResponse,
        min_version=3,
        max_version=3,
        flexible_from=3,
    ),
}
