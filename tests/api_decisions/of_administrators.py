"""Questions of administrators, and about what there is."""

from __future__ import annotations

from typing import Any

from protocol.messages import (
    acls,
    cluster,
    configs,
    delegation_tokens,
    elections,
    log_dirs,
    metadata,
    quotas,
    reassignments,
    scram,
    topic_partitions,
    topics,
)
from tests.api_decisions.names import MISSING, OWNER, TOPIC, TOPICS, Question

_BROKER, _LOGGER, _TOPIC_TYPE = 4, 8, 2


def of_metadata(topic_id: bytes) -> list[Question]:
    """Ask what there is."""
    named = [metadata.MetadataRequestTopic(name=name) for name in TOPICS]
    by_id = [
        metadata.MetadataRequestTopic(topic_id=each, name=None) for each in (topic_id, b"i" * 16)
    ]
    page = [topic_partitions.TopicRequest(name=name) for name in TOPICS]

    def of_topics(found: Any, version: int) -> metadata.MetadataRequest:
        return metadata.MetadataRequest(
            topics=found,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=version <= 10,
        )

    describe = topic_partitions.DescribeTopicPartitionsRequest
    return [
        Question("Metadata", of_topics(named, 12), 12),
        Question("Metadata with the cluster", of_topics(named, 10), 10),
        Question("Metadata of all", of_topics(None, 12), 12),
        Question("Metadata by id", of_topics(by_id, 12), 12),
        Question("DescribeTopicPartitions", describe(topics=page), 0),
        Question("DescribeTopicPartitions of all", describe(topics=[]), 0),
        Question(
            "DescribeCluster",
            cluster.DescribeClusterRequest(include_cluster_authorized_operations=True),
            1,
        ),
    ]


def of_topics() -> list[Question]:
    """Ask to change topics, validated only."""
    new = [
        topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        for name in (TOPIC, MISSING)
    ]
    more = [topics.CreatePartitionsTopic(name=name, count=3, assignments=None) for name in TOPICS]
    gone = [topics.DeleteTopicState(name=MISSING), topics.DeleteTopicState(topic_id=b"i" * 16)]
    records = [
        topics.DeleteRecordsTopic(name=name, partitions=[topics.DeleteRecordsPartition(offset=0)])
        for name in TOPICS
    ]
    elected = [elections.TopicPartitions(topic=name, partitions=[0]) for name in TOPICS]
    moved = [
        reassignments.ReassignableTopic(
            name=name, partitions=[reassignments.ReassignablePartition(replicas=None)]
        )
        for name in TOPICS
    ]
    return [
        Question("CreateTopics", topics.CreateTopicsRequest(topics=new, validate_only=True), 7),
        Question("DeleteTopics", topics.DeleteTopicsRequest(topics=gone, timeout_ms=5_000), 6),
        Question(
            "CreatePartitions",
            topics.CreatePartitionsRequest(topics=more, timeout_ms=5_000, validate_only=True),
            3,
        ),
        Question("DeleteRecords", topics.DeleteRecordsRequest(topics=records, timeout_ms=5_000), 2),
        Question(
            "ElectLeaders",
            elections.ElectLeadersRequest(topic_partitions=elected, timeout_ms=5_000),
            2,
        ),
        Question(
            "AlterPartitionReassignments",
            reassignments.AlterPartitionReassignmentsRequest(topics=moved),
            0,
        ),
        Question(
            "ListPartitionReassignments",
            reassignments.ListPartitionReassignmentsRequest(topics=None),
            0,
        ),
    ]


def of_configs() -> list[Question]:
    """Ask about settings, to change them validated only."""
    asked = [
        configs.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=["retention.ms"]
        )
        for kind, name in (
            (_TOPIC_TYPE, TOPIC),
            (_TOPIC_TYPE, MISSING),
            (_BROKER, "1"),
            (_BROKER, ""),
            (_LOGGER, "1"),
        )
    ]
    altered = [
        configs.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[configs.AlterableConfig(name=key, value="5000")],
        )
        for kind, name, key in _changes()
    ]
    incremental = [
        configs.IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[configs.IncrementalAlterConfigsRequestAlterableConfig(name=key, value="5000")],
        )
        for kind, name, key in _changes()
    ]
    return [
        Question("DescribeConfigs", configs.DescribeConfigsRequest(resources=asked), 4),
        Question(
            "AlterConfigs", configs.AlterConfigsRequest(resources=altered, validate_only=True), 2
        ),
        Question(
            "IncrementalAlterConfigs",
            configs.IncrementalAlterConfigsRequest(resources=incremental, validate_only=True),
            1,
        ),
    ]


def _changes() -> list[tuple[int, str, str]]:
    return [
        (_TOPIC_TYPE, TOPIC, "retention.ms"),
        (_TOPIC_TYPE, MISSING, "retention.ms"),
        (_BROKER, "1", "log.retention.ms"),
        (_BROKER, "", "log.retention.ms"),
    ]


def of_the_cluster() -> list[Question]:
    """Ask about ACLs, users, quotas, log dirs."""
    new = acls.AclCreation(
        resource_type=2, resource_name="", principal="User:x", host="*", operation=3,
        permission_type=3,
    )  # fmt: skip
    gone = acls.DeleteAclsFilter(
        resource_type_filter=2, resource_name_filter="nothing", principal_filter=None,
        host_filter=None, operation=3, permission_type=3,
    )  # fmt: skip
    nobody = acls.DescribeAclsRequest(
        resource_type_filter=2, resource_name_filter="nothing", principal_filter=None,
        host_filter=None, operation=3, permission_type=3,
    )  # fmt: skip
    quota = quotas.AlterClientQuotasRequestEntryData(
        entity=[quotas.AlterClientQuotasRequestEntityData(entity_type="user", entity_name="x")],
        ops=[quotas.OpData(key="producer_byte_rate", value=5.0)],
    )
    moved = log_dirs.AlterReplicaLogDir(
        path="/nowhere", topics=[log_dirs.AlterReplicaLogDirTopic(name=TOPIC, partitions=[0])]
    )
    quorum = [
        cluster.TopicData(
            topic_name="__cluster_metadata", partitions=[cluster.PartitionData(partition_index=0)]
        )
    ]
    return [
        Question("DescribeAcls", nobody, 3),
        Question("CreateAcls", acls.CreateAclsRequest(creations=[new]), 3),
        Question("DeleteAcls", acls.DeleteAclsRequest(filters=[gone]), 3),
        Question(
            "DescribeUserScramCredentials",
            scram.DescribeUserScramCredentialsRequest(users=[scram.UserName(name="nobody")]),
            0,
        ),
        Question(
            "AlterUserScramCredentials",
            scram.AlterUserScramCredentialsRequest(
                deletions=[scram.ScramCredentialDeletion(name="nobody", mechanism=1)]
            ),
            0,
        ),
        Question("DescribeClientQuotas", quotas.DescribeClientQuotasRequest(), 1),
        Question(
            "AlterClientQuotas",
            quotas.AlterClientQuotasRequest(entries=[quota], validate_only=True),
            1,
        ),
        Question("AlterReplicaLogDirs", log_dirs.AlterReplicaLogDirsRequest(dirs=[moved]), 2),
        Question("DescribeLogDirs", log_dirs.DescribeLogDirsRequest(topics=[]), 4),
        Question("DescribeQuorum", cluster.DescribeQuorumRequest(topics=quorum), 1),
    ]


def of_tokens() -> list[Question]:
    """Ask about tokens of others, and for one of somebody else."""
    owners = [
        delegation_tokens.DescribeDelegationTokenOwner(principal_type="User", principal_name=name)
        for name in (OWNER, "admin")
    ]
    describe = delegation_tokens.DescribeDelegationTokenRequest
    create = delegation_tokens.CreateDelegationTokenRequest(
        owner_principal_type="User", owner_principal_name=OWNER, max_lifetime_ms=-1
    )
    unknown = b"no token has this"
    renew = delegation_tokens.RenewDelegationTokenRequest(hmac=unknown, renew_period_ms=-1)
    expire = delegation_tokens.ExpireDelegationTokenRequest(hmac=unknown, expiry_time_period_ms=-1)
    return [
        Question("DescribeDelegationToken", describe(owners=owners), 3),
        Question("DescribeDelegationToken of all", describe(owners=None), 3),
        Question("RenewDelegationToken", renew, 2),
        Question("ExpireDelegationToken", expire, 2),
        Question("CreateDelegationToken", create, 3),
    ]
