# Generated from wire/schemas by `make generated`: edit those.
"""The messages that we speak, and the table of their APIs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from pytest_kcontroller.wire.message import Api
from pytest_kcontroller.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from pytest_kcontroller.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from pytest_kcontroller.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pytest_kcontroller.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
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
from pytest_kcontroller.wire.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from pytest_kcontroller.wire.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from pytest_kcontroller.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pytest_kcontroller.wire.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from pytest_kcontroller.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from pytest_kcontroller.wire.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from pytest_kcontroller.wire.messages.describe_cluster_request import DescribeClusterRequest
from pytest_kcontroller.wire.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from pytest_kcontroller.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from pytest_kcontroller.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from pytest_kcontroller.wire.messages.elect_leaders_request import ElectLeadersRequest, ElectLeadersTopic
from pytest_kcontroller.wire.messages.elect_leaders_response import (
    ElectLeadersPartitionResult,
    ElectLeadersResponse,
    ReplicaElectionResult,
)
from pytest_kcontroller.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pytest_kcontroller.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
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
from pytest_kcontroller.wire.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from pytest_kcontroller.wire.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from pytest_kcontroller.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from pytest_kcontroller.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from pytest_kcontroller.wire.messages.stop_replica_request import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
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
    "AllocateProducerIdsRequest",
    "AllocateProducerIdsResponse",
    "AlterConfigsResource",
    "AlterConfigsResourceResponse",
    "AlterPartitionBrokerState",
    "AlterPartitionPartition",
    "AlterPartitionReassignmentsRequest",
    "AlterPartitionReassignmentsResponse",
    "AlterPartitionRequest",
    "AlterPartitionResponse",
    "AlterPartitionTopic",
    "AlterableConfig",
    "AlteredPartition",
    "AlteredTopic",
    "ApiKey",
    "ApiVersion",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "ControlledShutdownRequest",
    "ControlledShutdownResponse",
    "CreatableReplicaAssignment",
    "CreatableTopic",
    "CreatableTopicConfig",
    "CreatableTopicConfigs",
    "CreatableTopicResult",
    "CreatePartitionsAssignment",
    "CreatePartitionsRequest",
    "CreatePartitionsResponse",
    "CreatePartitionsTopic",
    "CreatePartitionsTopicResult",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
    "DeletableTopicResult",
    "DeleteTopicState",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
    "DescribeClusterBroker",
    "DescribeClusterRequest",
    "DescribeClusterResponse",
    "DescribeConfigsRequest",
    "DescribeConfigsResource",
    "DescribeConfigsResourceResult",
    "DescribeConfigsResponse",
    "DescribeConfigsResult",
    "DescribeConfigsSynonym",
    "ElectLeadersPartitionResult",
    "ElectLeadersRequest",
    "ElectLeadersResponse",
    "ElectLeadersTopic",
    "FinalizedFeatureKey",
    "IncrementalAlterConfigsRequest",
    "IncrementalAlterConfigsResponse",
    "LeaderAndIsrLiveLeader",
    "LeaderAndIsrPartitionError",
    "LeaderAndIsrPartitionState",
    "LeaderAndIsrRequest",
    "LeaderAndIsrResponse",
    "LeaderAndIsrTopicError",
    "LeaderAndIsrTopicState",
    "ListPartitionReassignmentsRequest",
    "ListPartitionReassignmentsResponse",
    "ListPartitionReassignmentsTopics",
    "MetadataRequest",
    "MetadataRequestTopic",
    "MetadataResponse",
    "MetadataResponseBroker",
    "MetadataResponsePartition",
    "MetadataResponseTopic",
    "OngoingPartitionReassignment",
    "OngoingTopicReassignment",
    "ReassignablePartition",
    "ReassignablePartitionResponse",
    "ReassignableTopic",
    "ReassignableTopicResponse",
    "RemainingPartition",
    "ReplicaElectionResult",
    "StopReplicaPartitionError",
    "StopReplicaPartitionState",
    "StopReplicaPartitionV0",
    "StopReplicaRequest",
    "StopReplicaResponse",
    "StopReplicaTopicState",
    "StopReplicaTopicV1",
    "SupportedFeatureKey",
    "UpdateMetadataBroker",
    "UpdateMetadataEndpoint",
    "UpdateMetadataPartitionState",
    "UpdateMetadataRequest",
    "UpdateMetadataResponse",
    "UpdateMetadataTopicState",
]


class ApiKey(IntEnum):
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DESCRIBE_CONFIGS = 32
    CREATE_PARTITIONS = 37
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    ALTER_PARTITION = 56
    DESCRIBE_CLUSTER = 60
    ALLOCATE_PRODUCER_IDS = 67


APIS: Mapping[int, Api] = {
    3: Api(
        key=ApiKey.METADATA,
        name="METADATA",
        request=MetadataRequest,
        response=MetadataResponse,
        min_version=0,
        max_version=12,
        flexible_from=9,
    ),
    4: Api(
        key=ApiKey.LEADER_AND_ISR,
        name="LEADER_AND_ISR",
        request=LeaderAndIsrRequest,
        response=LeaderAndIsrResponse,
        min_version=0,
        max_version=7,
        flexible_from=4,
    ),
    5: Api(
        key=ApiKey.STOP_REPLICA,
        name="STOP_REPLICA",
        request=StopReplicaRequest,
        response=StopReplicaResponse,
        min_version=0,
        max_version=4,
        flexible_from=2,
    ),
    6: Api(
        key=ApiKey.UPDATE_METADATA,
        name="UPDATE_METADATA",
        request=UpdateMetadataRequest,
        response=UpdateMetadataResponse,
        min_version=3,
        max_version=8,
        flexible_from=6,
    ),
    7: Api(
        key=ApiKey.CONTROLLED_SHUTDOWN,
        name="CONTROLLED_SHUTDOWN",
        request=ControlledShutdownRequest,
        response=ControlledShutdownResponse,
        min_version=0,
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
    19: Api(
        key=ApiKey.CREATE_TOPICS,
        name="CREATE_TOPICS",
        request=CreateTopicsRequest,
        response=CreateTopicsResponse,
        min_version=0,
        max_version=7,
        flexible_from=5,
    ),
    20: Api(
        key=ApiKey.DELETE_TOPICS,
        name="DELETE_TOPICS",
        request=DeleteTopicsRequest,
        response=DeleteTopicsResponse,
        min_version=0,
        max_version=6,
        flexible_from=4,
    ),
    32: Api(
        key=ApiKey.DESCRIBE_CONFIGS,
        name="DESCRIBE_CONFIGS",
        request=DescribeConfigsRequest,
        response=DescribeConfigsResponse,
        min_version=0,
        max_version=4,
        flexible_from=4,
    ),
    37: Api(
        key=ApiKey.CREATE_PARTITIONS,
        name="CREATE_PARTITIONS",
        request=CreatePartitionsRequest,
        response=CreatePartitionsResponse,
        min_version=0,
        max_version=3,
        flexible_from=2,
    ),
    43: Api(
        key=ApiKey.ELECT_LEADERS,
        name="ELECT_LEADERS",
        request=ElectLeadersRequest,
        response=ElectLeadersResponse,
        min_version=0,
        max_version=2,
        flexible_from=2,
    ),
    44: Api(
        key=ApiKey.INCREMENTAL_ALTER_CONFIGS,
        name="INCREMENTAL_ALTER_CONFIGS",
        request=IncrementalAlterConfigsRequest,
        response=IncrementalAlterConfigsResponse,
        min_version=0,
        max_version=1,
        flexible_from=1,
    ),
    45: Api(
        key=ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        name="ALTER_PARTITION_REASSIGNMENTS",
        request=AlterPartitionReassignmentsRequest,
        response=AlterPartitionReassignmentsResponse,
        min_version=0,
        max_version=0,
        flexible_from=0,
    ),
    46: Api(
        key=ApiKey.LIST_PARTITION_REASSIGNMENTS,
        name="LIST_PARTITION_REASSIGNMENTS",
        request=ListPartitionReassignmentsRequest,
        response=ListPartitionReassignmentsResponse,
        min_version=0,
        max_version=0,
        flexible_from=0,
    ),
    56: Api(
        key=ApiKey.ALTER_PARTITION,
        name="ALTER_PARTITION",
        request=AlterPartitionRequest,
        response=AlterPartitionResponse,
        min_version=0,
        max_version=3,
        flexible_from=0,
    ),
    60: Api(
        key=ApiKey.DESCRIBE_CLUSTER,
        name="DESCRIBE_CLUSTER",
        request=DescribeClusterRequest,
        response=DescribeClusterResponse,
        min_version=0,
        max_version=1,
        flexible_from=0,
    ),
    67: Api(
        key=ApiKey.ALLOCATE_PRODUCER_IDS,
        name="ALLOCATE_PRODUCER_IDS",
        request=AllocateProducerIdsRequest,
        response=AllocateProducerIdsResponse,
        min_version=0,
        max_version=0,
        flexible_from=0,
    ),
}
