"""What clients ask for; brokers forward it.

Serves: CreateTopics (19), DeleteTopics (20), CreatePartitions (37), ElectLeaders (43),
AlterPartitionReassignments (45), ListPartitionReassignments (46), DescribeConfigs (32),
AlterConfigs (33), IncrementalAlterConfigs (44), DescribeCluster (60).
Differs from Kafka: DescribeConfigs of a broker has its dynamic configs only, as in KRaft; loggers
are the brokers' own.
Versions: all.
"""

from __future__ import annotations

from controller.handlers import serve
from protocol.errors import ErrorCode
from protocol.messages.cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.topics import (
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)


def _create_topics(
    request: CreateTopicsRequest, _version: int, code: ErrorCode
) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name=topic.name, error_code=code) for topic in request.topics]
    )


def _delete_topics(
    request: DeleteTopicsRequest, _version: int, code: ErrorCode
) -> DeleteTopicsResponse:
    by_name = [DeletableTopicResult(name=name, error_code=code) for name in request.topic_names]
    listed = [
        DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=code)
        for topic in request.topics
    ]
    return DeleteTopicsResponse(responses=by_name + listed)


def _create_partitions(
    request: CreatePartitionsRequest, _version: int, code: ErrorCode
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=code)
            for topic in request.topics
        ]
    )


def _elect_leaders(
    request: ElectLeadersRequest, version: int, code: ErrorCode
) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=code if version >= 1 else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=number, error_code=code, error_message=None)
                    for number in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _alter_reassignments(
    request: AlterPartitionReassignmentsRequest, _version: int, code: ErrorCode
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=code,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=partition.partition_index,
                        error_code=code,
                        error_message=None,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _list_reassignments(
    _request: ListPartitionReassignmentsRequest, _version: int, code: ErrorCode
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=code, error_message=None)


def _describe_configs(
    request: DescribeConfigsRequest, _version: int, code: ErrorCode
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                error_code=code,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _alter_configs(
    request: AlterConfigsRequest, _version: int, code: ErrorCode
) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=code,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, _version: int, code: ErrorCode
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=code,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _describe_cluster(
    _request: DescribeClusterRequest, _version: int, code: ErrorCode
) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code)


serve("CreateTopics", "0-7", _create_topics)
serve("DeleteTopics", "0-6", _delete_topics)
serve("CreatePartitions", "0-3", _create_partitions)
serve("ElectLeaders", "0-2", _elect_leaders)
serve("AlterPartitionReassignments", "0-1", _alter_reassignments)
serve("ListPartitionReassignments", "0", _list_reassignments)
serve("DescribeConfigs", "0-4", _describe_configs)
serve("AlterConfigs", "0-2", _alter_configs)
serve("IncrementalAlterConfigs", "0-1", _incremental_alter_configs)
serve("DescribeCluster", "0-2", _describe_cluster)
