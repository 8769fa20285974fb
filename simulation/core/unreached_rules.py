"""Why sweeps leave some rules, or outcomes in them, unreached: a reason for each.

By the name of a module, or of a class or function in it; a reason holds for all within. Rules that
no sweep reached and that are not here want a draw or a reason; ``simulate --rules`` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_WRONG_CLIENTS: Final = "Only clients that break the protocol come here; tests of requests do."
_TOLD: Final = "Told on control endpoints and in metrics, which nobody asks in simulations."
_LARGE_BOUNDS: Final = "Stories of seconds do not fill what it bounds; tests of this room do."
_OLD_VERSIONS: Final = "It serves older versions than the brokers of one world speak to each other."
_DEFECTS: Final = "Only a defect of this code comes here; it ends the process, or is told."
_FEW_MEMBERS: Final = "A few members within seconds do not come to all of it; tests of groups do."
_LARGE_EPOCHS: Final = "No producer of a story comes to its last epoch; tests of transactions do."
_FEW_LOOKS: Final = (
    "Examiners list and describe few groups and transactions, and few of their states; tests do."
)
_DAYS: Final = "It waits for hours or days; stories last seconds, and tests set the time."
_RARE_CLEANING: Final = "Compaction seldom meets a transaction within seconds; tests of it do."
_REQUEST_FAULTS: Final = "Drawn faults of requests are of few kinds; a scenario and tests have all."
_NO_METRICS_TOPIC: Final = "Simulated brokers write no metrics topic; tests of brokers do."
_OLDER_LOGS: Final = "Only a log that older brokers wrote has such records; tests of this room do."
_NO_ZOOKEEPER: Final = "Simulated clusters have a journal; tests of controllers have a ZooKeeper."
_FEW_RIGHTS: Final = "Examiners have few sets of rights; tests ask each rule with and without."
_NO_LIMITS: Final = "No drawn order limits connections or changes of topics; tests of quotas do."
_NO_LOGINS: Final = (
    "Brokers of a story have no SASL listener: nobody has tokens or logs in; tests do."
)
_OTHER_CLIENTS: Final = "No client of a drawn plan asks for it; tests of requests do."

_OF_BROKERS: Final[Mapping[str, str]] = {
    "access": _FEW_RIGHTS,
    "access_answers": _FEW_RIGHTS,
    "access_rules": _FEW_RIGHTS,
    "answer_errors": _LARGE_BOUNDS,
    "append._check_fields": _WRONG_CLIENTS,
    "append._check_oldest": _WRONG_CLIENTS,
    "append._magic_error": _WRONG_CLIENTS,
    "append._read_only_batch": _WRONG_CLIENTS,
    "cleaned_transactions.CleanedTransactions": _RARE_CLEANING,
    "client_quotas": _NO_LIMITS,
    "coordination.in_batches": _LARGE_BOUNDS,
    "delayed.FetchWaiters.__len__": _TOLD,
    "delegation_tokens": _NO_LOGINS,
    "fetch_session.FetchSessions.__len__": _TOLD,
    "fetch_session.FetchSessions._checked": _WRONG_CLIENTS,
    "fetch_session.FetchSessions._new_id": _LARGE_BOUNDS,
    "fetch_session.FetchSessions.open": _LARGE_BOUNDS,
    "fetch_session.FetchSessions.partition_count": _TOLD,
    "fetch_session._next_epoch": _LARGE_BOUNDS,
    "first_metadata.FirstMetadata.__len__": _TOLD,
    "first_metadata.FirstMetadata.grow": _LARGE_BOUNDS,
    "first_metadata.FirstMetadata.take": _LARGE_BOUNDS,
    "groups.assignors": _FEW_MEMBERS,
    "groups.classic_groups.ClassicGroups.delete": _FEW_LOOKS,
    "groups.consumer": _FEW_MEMBERS,
    "groups.group_answers": _FEW_LOOKS,
    "groups.group_catalog": _FEW_LOOKS,
    "groups.group_members.GroupMembers._check_size": _FEW_MEMBERS,
    "groups.group_members.GroupMembers.expire": _FEW_MEMBERS,
    "groups.group_members.GroupMembers.replay": _FEW_MEMBERS,
    "groups.group_metadata._member": _OLDER_LOGS,
    "groups.group_metadata.stored_group": _OLDER_LOGS,
    "groups.group_shard.GroupShard._expired": _DAYS,
    "groups.group_shard.GroupShard.expire": _DAYS,
    "groups.joins.Joins._replace": _FEW_MEMBERS,
    "groups.joins.Joins.error": _WRONG_CLIENTS,
    "groups.topic_patterns": _FEW_MEMBERS,
    "hosted.HostedPartitions.offline_count": _TOLD,
    "hosted.HostedPartitions.partition_count": _TOLD,
    "internal_topics._metrics_topic": _NO_METRICS_TOPIC,
    "message_sets": _WRONG_CLIENTS,
    "metadata_answer.MetadataAnswers._leader_error": _OTHER_CLIENTS,
    "metadata_answer.MetadataAnswers._partition_row": _OTHER_CLIENTS,
    "metadata_answer.MetadataAnswers.answer": _OTHER_CLIENTS,
    "metadata_image._endpoints": _OLD_VERSIONS,
    "offset_map": _LARGE_BOUNDS,
    "partition.Partition.is_under_replicated": _TOLD,
    "produce_version": _WRONG_CLIENTS,
    "producers.ProducerStates._check_verified": _WRONG_CLIENTS,
    "producers.ProducerStates.expire": _DAYS,
    "producers.ProducerStates.forget": _DAYS,
    "producers.ProducerStates.has_late_transaction": _TOLD,
    "rebuild_throttle.RebuildThrottle.view": _TOLD,
    "record_errors": _WRONG_CLIENTS,
    "request_parts": _REQUEST_FAULTS,
    "request_rules": _REQUEST_FAULTS,
    "timers.Timers.__len__": _TOLD,
    "topic_partitions": _OTHER_CLIENTS,
    "transaction_state.end._next_id": _LARGE_EPOCHS,
    "transaction_state.listing": _FEW_LOOKS,
    "transaction_state.metadata.with_next_producer_id": _LARGE_BOUNDS,
    "transaction_state.shard.TransactionShard.add_partitions": _LARGE_BOUNDS,
    "transactions.EndedTransactions.add": _LARGE_BOUNDS,
    "verification.Verifications.expire": _DAYS,
    "verification.not_verified": _WRONG_CLIENTS,
}
_OF_THE_CONTROLLER: Final[Mapping[str, str]] = {
    "acl_records.AclsReplaced": _NO_ZOOKEEPER,
    "acls.acls_read": _NO_ZOOKEEPER,
    "alter_configs": _WRONG_CLIENTS,
    "alter_partition._content_error": _WRONG_CLIENTS,
    "alter_partition._epoch_error": _WRONG_CLIENTS,
    "alter_partition._is_eligible": _WRONG_CLIENTS,
    "alter_partition._members": _OLD_VERSIONS,
    "alter_partition._topic": _OLD_VERSIONS,
    "brokers._check_registration": _WRONG_CLIENTS,
    "create_partitions": _WRONG_CLIENTS,
    "create_topics._check_whole": _WRONG_CLIENTS,
    "create_topics._configs": _WRONG_CLIENTS,
    "create_topics.create_topics": _WRONG_CLIENTS,
    "delete_topics.delete_topics": _OTHER_CLIENTS,
    "describe._cluster_broker": _OTHER_CLIENTS,
    "describe._describe": _OTHER_CLIENTS,
    "describe._described": _OTHER_CLIENTS,
    "describe.describe_cluster": _OTHER_CLIENTS,
    "elect_leaders._answer": _OTHER_CLIENTS,
    "elect_leaders._wanted": _OTHER_CLIENTS,
    "elect_leaders.elect_leaders": _OTHER_CLIENTS,
    "config_records.ConfigsReplaced": _NO_ZOOKEEPER,
    "machine.Machine.step": _DEFECTS,
    "own_writes": _NO_ZOOKEEPER,
    "placement.check_total": _WRONG_CLIENTS,
    "quorum": _OTHER_CLIENTS,
    "registrations": _NO_ZOOKEEPER,
    "run_state.RunState.note_deleted": _LARGE_BOUNDS,
    "scram.described_to_brokers": _NO_LOGINS,
    "token_records": _NO_LOGINS,
    "tokens": _NO_LOGINS,
    "told_answers.answer_once_told": _OTHER_CLIENTS,
    "topics._create": _OTHER_CLIENTS,
    "topics.create_wanted_topics": _OTHER_CLIENTS,
    "znode_clients": _NO_ZOOKEEPER,
    "znode_state": _NO_ZOOKEEPER,
    "znode_writes": _NO_ZOOKEEPER,
}
REASONS: Final[Mapping[str, str]] = {
    f"{room}.core.{name}": reason
    for room, reasons in (("broker", _OF_BROKERS), ("controller", _OF_THE_CONTROLLER))
    for name, reason in reasons.items()
}
"""By names as they are in the repository, wherever it is installed."""
