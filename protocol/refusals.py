"""Answers to admin requests that failed as a whole: the error stands in every place it has.

Brokers and the controller answer alike, so they share these. Each function takes the request, its
version and the error. Requests that only one of them serves are refused where they are served.
Source: getErrorResponse of each request class.
"""

from __future__ import annotations

from protocol.configs.messages import alter_response, not_described
from protocol.errors import ErrorCode, KafkaError, told_text
from protocol.messages.acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from protocol.messages.cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntityData,
    AlterClientQuotasResponseEntryData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
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
    DeleteTopicState,
)

_ELECT_LEADERS_TOP_CODE_SINCE = 1


def refuse_describe_acls(
    _request: DescribeAclsRequest, _version: int, error: KafkaError
) -> DescribeAclsResponse:
    """Put the error at the top."""
    return DescribeAclsResponse(
        error_code=error.code, error_message=error.message or None, resources=[]
    )


def refuse_create_acls(
    request: CreateAclsRequest, _version: int, error: KafkaError
) -> CreateAclsResponse:
    """Put the error into every ACL."""
    result = AclCreationResult(error_code=error.code, error_message=error.message or None)
    return CreateAclsResponse(results=[result for _ in request.creations])


def refuse_delete_acls(
    request: DeleteAclsRequest, _version: int, error: KafkaError
) -> DeleteAclsResponse:
    """Put the error into every filter."""
    result = DeleteAclsFilterResult(
        error_code=error.code, error_message=error.message or None, matching_acls=[]
    )
    return DeleteAclsResponse(filter_results=[result for _ in request.filters])


def refuse_describe_scram_credentials(
    request: DescribeUserScramCredentialsRequest, _version: int, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    """Put the error at the top and at each user, who is not named, as in Kafka."""
    code, message = error.code, told_text(error)
    result = DescribeUserScramCredentialsResult(error_code=code, error_message=message)
    return DescribeUserScramCredentialsResponse(
        error_code=code, error_message=message, results=[result for _ in request.users or ()]
    )


def refuse_alter_scram_credentials(
    request: AlterUserScramCredentialsRequest, _version: int, error: KafkaError
) -> AlterUserScramCredentialsResponse:
    """Put the error at each user, who is named once."""
    changes = (*request.deletions, *request.upsertions)
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=user, error_code=error.code, error_message=error.message or None
            )
            for user in sorted(dict.fromkeys(change.name for change in changes))
        ]
    )


def refuse_describe_client_quotas(
    _request: DescribeClientQuotasRequest, _version: int, error: KafkaError
) -> DescribeClientQuotasResponse:
    """Put the error at the top; there are no entries, which is not the same as none."""
    return DescribeClientQuotasResponse(
        error_code=error.code, error_message=told_text(error), entries=None
    )


def refuse_alter_client_quotas(
    request: AlterClientQuotasRequest, _version: int, error: KafkaError
) -> AlterClientQuotasResponse:
    """Put the error at each entity."""
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=error.code,
                error_message=error.message or None,
                entity=[
                    AlterClientQuotasResponseEntityData(
                        entity_type=each.entity_type, entity_name=each.entity_name
                    )
                    for each in entry.entity
                ],
            )
            for entry in request.entries
        ]
    )


def refuse_create_topics(
    request: CreateTopicsRequest, _version: int, error: KafkaError
) -> CreateTopicsResponse:
    """Put the error into every topic."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(
                name=topic.name, error_code=error.code, error_message=error.message or None
            )
            for topic in request.topics
        ]
    )


def refuse_delete_topics(
    request: DeleteTopicsRequest, _version: int, error: KafkaError
) -> DeleteTopicsResponse:
    """Put the error into every topic, by name or by id."""
    named = [DeleteTopicState(name=name) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                error_code=error.code,
                error_message=error.message or None,
            )
            for topic in (*request.topics, *named)
        ]
    )


def refuse_create_partitions(
    request: CreatePartitionsRequest, _version: int, error: KafkaError
) -> CreatePartitionsResponse:
    """Put the error into every topic."""
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=topic.name, error_code=error.code, error_message=error.message or None
            )
            for topic in request.topics
        ]
    )


def refuse_elect_leaders(
    request: ElectLeadersRequest, version: int, error: KafkaError
) -> ElectLeadersResponse:
    """Put the error at the top and into every listed partition."""
    has_top_code = version >= _ELECT_LEADERS_TOP_CODE_SINCE
    return ElectLeadersResponse(
        error_code=error.code if has_top_code else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=number,
                        error_code=error.code,
                        error_message=error.message or None,
                    )
                    for number in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def refuse_reassignments(
    request: AlterPartitionReassignmentsRequest, _version: int, error: KafkaError
) -> AlterPartitionReassignmentsResponse:
    """Put the error at the top and into every partition."""
    message = error.message or None
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=error.code,
        error_message=message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=partition.partition_index,
                        error_code=error.code,
                        error_message=message,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def refuse_list_reassignments(
    request: ListPartitionReassignmentsRequest, _version: int, error: KafkaError
) -> ListPartitionReassignmentsResponse:
    """Put the error at the top; partitions that were named are there without replicas."""
    return ListPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message or None,
        topics=[
            OngoingTopicReassignment(
                name=topic.name,
                partitions=[
                    OngoingPartitionReassignment(
                        partition_index=index,
                        replicas=(),
                        adding_replicas=(),
                        removing_replicas=(),
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ],
    )


def refuse_describe_configs(
    request: DescribeConfigsRequest, _version: int, error: KafkaError
) -> DescribeConfigsResponse:
    """Put the error into every resource."""
    return DescribeConfigsResponse(
        results=[not_described(asked, error) for asked in request.resources]
    )


def refuse_alter_configs(
    request: AlterConfigsRequest, _version: int, error: KafkaError
) -> AlterConfigsResponse:
    """Put the error into every resource."""
    return AlterConfigsResponse(
        responses=[alter_response(asked, error) for asked in request.resources]
    )


def refuse_incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, _version: int, error: KafkaError
) -> IncrementalAlterConfigsResponse:
    """Put the error into every resource."""
    return IncrementalAlterConfigsResponse(
        responses=[alter_response(asked, error) for asked in request.resources]
    )


def refuse_describe_cluster(
    _request: DescribeClusterRequest, _version: int, error: KafkaError
) -> DescribeClusterResponse:
    """Put the error at the top."""
    return DescribeClusterResponse(error_code=error.code, error_message=error.message or None)


def refuse_describe_quorum(
    _request: DescribeQuorumRequest, _version: int, error: KafkaError
) -> DescribeQuorumResponse:
    """Put the error at the top."""
    return DescribeQuorumResponse(error_code=error.code, error_message=error.message or None)


def refuse_list_config_resources(
    _request: ListConfigResourcesRequest, _version: int, error: KafkaError
) -> ListConfigResourcesResponse:
    """Put the code at the top."""
    return ListConfigResourcesResponse(error_code=error.code, config_resources=[])
