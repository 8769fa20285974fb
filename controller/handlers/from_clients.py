"""What clients ask for; brokers forward it.

Serves: CreateTopics (19), DeleteTopics (20), CreatePartitions (37), ElectLeaders (43),
AlterPartitionReassignments (45), ListPartitionReassignments (46), DescribeConfigs (32),
AlterConfigs (33), IncrementalAlterConfigs (44), DescribeCluster (60), ListConfigResources (74),
DescribeAcls (29), CreateAcls (30), DeleteAcls (31), DescribeUserScramCredentials (50),
AlterUserScramCredentials (51), DescribeClientQuotas (48), AlterClientQuotas (49),
DescribeQuorum (55).
Differs from Kafka: DescribeConfigs of a broker has its dynamic configs only, as in KRaft; loggers
are the brokers' own.
ListConfigResources names groups, and users with SCRAM credentials: brokers know the rest.
Versions: all.
"""

from __future__ import annotations

from controller.handlers import serve
from protocol.refusals import (
    refuse_alter_client_quotas,
    refuse_alter_configs,
    refuse_alter_scram_credentials,
    refuse_create_acls,
    refuse_create_partitions,
    refuse_create_topics,
    refuse_delete_acls,
    refuse_delete_topics,
    refuse_describe_acls,
    refuse_describe_client_quotas,
    refuse_describe_cluster,
    refuse_describe_configs,
    refuse_describe_quorum,
    refuse_describe_scram_credentials,
    refuse_elect_leaders,
    refuse_incremental_alter_configs,
    refuse_list_config_resources,
    refuse_list_reassignments,
    refuse_reassignments,
)

serve("CreateTopics", "0-7", refuse_create_topics)
serve("DeleteTopics", "0-6", refuse_delete_topics)
serve("CreatePartitions", "0-3", refuse_create_partitions)
serve("ElectLeaders", "0-2", refuse_elect_leaders)
serve("AlterPartitionReassignments", "0-1", refuse_reassignments)
serve("ListPartitionReassignments", "0", refuse_list_reassignments)
serve("DescribeConfigs", "0-4", refuse_describe_configs)
serve("AlterConfigs", "0-2", refuse_alter_configs)
serve("IncrementalAlterConfigs", "0-1", refuse_incremental_alter_configs)
serve("DescribeCluster", "0-2", refuse_describe_cluster)
serve("DescribeQuorum", "0-2", refuse_describe_quorum)
serve("ListConfigResources", "0-1", refuse_list_config_resources)
serve("DescribeAcls", "0-3", refuse_describe_acls)
serve("CreateAcls", "0-3", refuse_create_acls)
serve("DeleteAcls", "0-3", refuse_delete_acls)
serve("DescribeUserScramCredentials", "0", refuse_describe_scram_credentials)
serve("AlterUserScramCredentials", "0", refuse_alter_scram_credentials)
serve("DescribeClientQuotas", "0-1", refuse_describe_client_quotas)
serve("AlterClientQuotas", "0-1", refuse_alter_client_quotas)
