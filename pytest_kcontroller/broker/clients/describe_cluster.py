"""DescribeCluster: brokers and the controller, as the newest controller said (KIP-700).

Source: kafka.server.KafkaApis.handleDescribeCluster (3.9).
"""

from __future__ import annotations

from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse

BROKERS = 1
"""The endpoints that there are; those of KRaft controllers (2) there are not."""


async def handle(side: ClientSide, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            throttle_time_ms=0,
            error_code=int(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
            error_message=f"there are endpoints of brokers (1) only, none of the type {request.endpoint_type}",
            endpoint_type=request.endpoint_type,
            cluster_id=side.cluster_id,
            brokers=[],
        )
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=int(ErrorCode.NONE),
        cluster_id=side.cluster_id,
        controller_id=side.controller,
        brokers=[
            DescribeClusterBroker(broker_id=b.id, host=b.address.host, port=b.address.port, rack=b.rack)
            for b in side.brokers()
        ],
    )
