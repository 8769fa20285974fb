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
_CLASSIC_MEMBERS: Final = (
    "Drawn members speak the classic protocol, tests of groups that of KIP-848."
)
_OLDER_TRANSACTIONS: Final = (
    "Drawn clients have transactions as before KIP-890; tests have newer ones."
)
_NO_INSTANCES: Final = "No drawn member has a group.instance.id; members of tests have one."
_NOBODY_LOOKS: Final = "No drawn plan lists, describes or deletes groups or transactions; tests do."
_DAYS: Final = "It waits for hours or days; stories last seconds, and tests set the time."
_RARE_CLEANING: Final = "Compaction seldom meets a transaction within seconds; tests of it do."
_REQUEST_FAULTS: Final = "Drawn plans have no faults of requests; a scenario and tests have them."
_NO_METRICS_TOPIC: Final = "Simulated brokers write no metrics topic; tests of brokers do."
_TOPICS_ARE_THERE: Final = "Plans make internal topics before their clients begin; tests do not."
_SMALL_JOURNAL: Final = "Only a compacted journal has it, and drawn ones are short; tests compact."
_NO_TAKEN_LOGS: Final = "Drawn plans take no log out of a log dir; scenarios of logs taken away do."
_OLDER_LOGS: Final = "Only a log that older brokers wrote has such records; tests of this room do."
_NO_ZOOKEEPER: Final = "Simulated clusters have a journal; tests of controllers have a ZooKeeper."
_OTHER_CLIENTS: Final = "No client of a drawn plan asks for it; tests of requests do."

_OF_BROKERS: Final[Mapping[str, str]] = {
    "append._check_fields": _WRONG_CLIENTS,
    "append._check_oldest": _WRONG_CLIENTS,
    "append._invalid_record": _WRONG_CLIENTS,
    "append._magic_error": _WRONG_CLIENTS,
    "append._read_only_batch": _WRONG_CLIENTS,
    "cleaned_transactions.CleanedTransactions": _RARE_CLEANING,
    "cleaner_offsets.CleanerOffsets.uncleanable": _TOLD,
    "closest_replica": _OTHER_CLIENTS,
    "compaction.Dirtiness.is_due": _LARGE_BOUNDS,
    "compaction._overdue_ms": _LARGE_BOUNDS,
    "coordination.in_batches": _LARGE_BOUNDS,
    "delayed.FetchWaiters.__len__": _TOLD,
    "fetch_session.FetchContext.is_incremental": _TOLD,
    "fetch_session.FetchSessions.__len__": _TOLD,
    "fetch_session.FetchSessions._checked": _WRONG_CLIENTS,
    "fetch_session.FetchSessions._make_room": _LARGE_BOUNDS,
    "fetch_session.FetchSessions._new_id": _LARGE_BOUNDS,
    "fetch_session.FetchSessions._stale": _LARGE_BOUNDS,
    "fetch_session.FetchSessions._weakest": _LARGE_BOUNDS,
    "fetch_session.FetchSessions.create": _LARGE_BOUNDS,
    "fetch_session.FetchSessions.open": _LARGE_BOUNDS,
    "fetch_session.FetchSessions.partition_count": _TOLD,
    "fetch_session._next_epoch": _LARGE_BOUNDS,
    "fetch_session._rank": _LARGE_BOUNDS,
    "first_metadata.FirstMetadata.__len__": _TOLD,
    "first_metadata.FirstMetadata.grow": _LARGE_BOUNDS,
    "first_metadata.FirstMetadata.take": _LARGE_BOUNDS,
    "groups.assignors": _CLASSIC_MEMBERS,
    "groups.classic_group.ClassicGroup.replace_id": _NO_INSTANCES,
    "groups.classic_groups.ClassicGroups.adopt": _CLASSIC_MEMBERS,
    "groups.classic_groups.ClassicGroups.delete": _NOBODY_LOOKS,
    "groups.classic_groups.ClassicGroups.deletion_error": _NOBODY_LOOKS,
    "groups.classic_groups.ClassicGroups.dissolve": _CLASSIC_MEMBERS,
    "groups.consumer": _CLASSIC_MEMBERS,
    "groups.group_answers": _NOBODY_LOOKS,
    "groups.group_catalog": _NOBODY_LOOKS,
    "groups.group_members.GroupMembers._check_size": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers._downgrade": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers._upgrade": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers.beat": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers.delete": _NOBODY_LOOKS,
    "groups.group_members.GroupMembers.deletion_error": _NOBODY_LOOKS,
    "groups.group_members.GroupMembers.expire": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers.heartbeat": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers.join": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers.leave": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers.replay": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers.sync": _CLASSIC_MEMBERS,
    "groups.group_members.GroupMembers.validate_commit": _CLASSIC_MEMBERS,
    "groups.group_metadata._member": _OLDER_LOGS,
    "groups.group_metadata.stored_group": _OLDER_LOGS,
    "groups.group_offsets.GroupOffsets.delete_all": _NOBODY_LOOKS,
    "groups.group_offsets.GroupOffsets.expire": _DAYS,
    "groups.group_offsets.GroupOffsets.is_unstable": _OTHER_CLIENTS,
    "groups.group_offsets._is_expired": _DAYS,
    "groups.group_offsets.offset_value": _OTHER_CLIENTS,
    "groups.group_shard.GroupShard._check": _LARGE_BOUNDS,
    "groups.group_shard.GroupShard._check_size": _LARGE_BOUNDS,
    "groups.group_shard.GroupShard._expired": _DAYS,
    "groups.group_shard.GroupShard._fetched": _OTHER_CLIENTS,
    "groups.group_shard.GroupShard.delete_offsets": _NOBODY_LOOKS,
    "groups.group_shard.GroupShard.expire": _DAYS,
    "groups.group_shard.GroupShard.fetch": _OTHER_CLIENTS,
    "groups.group_shard._committed": _OTHER_CLIENTS,
    "groups.joins.Joining.rebalance_timeout_ms": _OTHER_CLIENTS,
    "groups.joins.Joins._go_on_with_replaced": _NO_INSTANCES,
    "groups.joins.Joins._replace": _NO_INSTANCES,
    "groups.joins.Joins.error": _WRONG_CLIENTS,
    "groups.joins._back": _NO_INSTANCES,
    "groups.rebalances.Rebalances.fence": _NO_INSTANCES,
    "groups.rebalances.Rebalances.send_away": _CLASSIC_MEMBERS,
    "groups.subscription.assignment_of": _CLASSIC_MEMBERS,
    "groups.subscription.encoded_assignment": _CLASSIC_MEMBERS,
    "groups.subscription.subscription_of": _CLASSIC_MEMBERS,
    "groups.topic_patterns": _CLASSIC_MEMBERS,
    "hosted.HostedPartitions.offline_count": _TOLD,
    "hosted.HostedPartitions.partition_count": _TOLD,
    "hosted.HostedPartitions.put_lost": _NO_TAKEN_LOGS,
    "internal_topics._metrics_topic": _NO_METRICS_TOPIC,
    "internal_topics._transaction_topic": _TOPICS_ARE_THERE,
    "isolation_level.check_isolation_level": _WRONG_CLIENTS,
    "log_dirs.LogDirStates.configured": _TOLD,
    "message_sets": _WRONG_CLIENTS,
    "metadata_answer.MetadataAnswers._leader_error": _OTHER_CLIENTS,
    "metadata_answer.MetadataAnswers._partition_row": _OTHER_CLIENTS,
    "metadata_answer.MetadataAnswers._row_by_name": _WRONG_CLIENTS,
    "metadata_answer.MetadataAnswers._rows_by_id": _OTHER_CLIENTS,
    "metadata_answer.MetadataAnswers._topic_rows": _OTHER_CLIENTS,
    "metadata_answer.MetadataAnswers.answer": _OTHER_CLIENTS,
    "metadata_answer.MetadataAnswers.unknown_topics": _OTHER_CLIENTS,
    "metadata_answer._layout_of": _OLD_VERSIONS,
    "metadata_answer.check_names": _OTHER_CLIENTS,
    "metadata_image._endpoints": _OLD_VERSIONS,
    "metric_records": _NO_METRICS_TOPIC,
    "offset_map": _LARGE_BOUNDS,
    "partition.Partition.is_under_replicated": _TOLD,
    "produce_version": _WRONG_CLIENTS,
    "producers.ProducerStates.__len__": _TOLD,
    "producers.ProducerStates._check_verified": _WRONG_CLIENTS,
    "producers.ProducerStates.expire": _DAYS,
    "producers.ProducerStates.forget": _DAYS,
    "producers.ProducerStates.has_late_transaction": _TOLD,
    "rebuild_throttle.RebuildThrottle.view": _TOLD,
    "record_errors": _WRONG_CLIENTS,
    "regular_expressions": _CLASSIC_MEMBERS,
    "request_parts": _REQUEST_FAULTS,
    "request_rules": _REQUEST_FAULTS,
    "topic_partitions": _OTHER_CLIENTS,
    "transaction_state.begin._may_go_on": _OTHER_CLIENTS,
    "transaction_state.end._ended_with_epoch_raised": _OLDER_TRANSACTIONS,
    "transaction_state.end._is_epoch_of_now": _OLDER_TRANSACTIONS,
    "transaction_state.end._next_id": _OLDER_TRANSACTIONS,
    "transaction_state.end._repeated": _OLDER_TRANSACTIONS,
    "transaction_state.listing": _NOBODY_LOOKS,
    "transaction_state.metadata.TransactionState.kafka_name": _NOBODY_LOOKS,
    "transaction_state.metadata.with_epoch_raised": _OTHER_CLIENTS,
    "transaction_state.metadata.with_next_producer_id": _LARGE_BOUNDS,
    "transaction_state.old_clients.client_transaction_version": _OLDER_TRANSACTIONS,
    "transaction_state.shard.TransactionShard._unused": _DAYS,
    "transaction_state.shard.TransactionShard.add_partitions": _LARGE_BOUNDS,
    "transaction_state.shard.TransactionShard.get": _NOBODY_LOOKS,
    "transaction_state.shard.TransactionShard.transactions": _NOBODY_LOOKS,
    "transaction_state.verifying._verifying": _OLDER_TRANSACTIONS,
    "transactions.EndedTransactions.add": _LARGE_BOUNDS,
    "verification.Verifications.expire": _DAYS,
    "verification.not_verified": _WRONG_CLIENTS,
}
_OF_THE_CONTROLLER: Final[Mapping[str, str]] = {
    "alter_configs": _WRONG_CLIENTS,
    "alter_partition._content_error": _WRONG_CLIENTS,
    "alter_partition._epoch_error": _WRONG_CLIENTS,
    "alter_partition._is_eligible": _WRONG_CLIENTS,
    "alter_partition._members": _OLD_VERSIONS,
    "alter_partition._topic": _OLD_VERSIONS,
    "alter_reassignments._asked": _OTHER_CLIENTS,
    "brokers._check_registration": _WRONG_CLIENTS,
    "create_partitions": _WRONG_CLIENTS,
    "create_topics._check_known": _WRONG_CLIENTS,
    "create_topics._check_whole": _WRONG_CLIENTS,
    "create_topics._configs": _WRONG_CLIENTS,
    "create_topics.create_topics": _WRONG_CLIENTS,
    "delete_topics._look_up": _OLD_VERSIONS,
    "delete_topics._wanted": _OLD_VERSIONS,
    "delete_topics.delete_topics": _OTHER_CLIENTS,
    "describe._cluster_broker": _OTHER_CLIENTS,
    "describe._describe": _OTHER_CLIENTS,
    "describe._described": _OTHER_CLIENTS,
    "describe.describe_cluster": _OTHER_CLIENTS,
    "describe.list_config_resources": _OTHER_CLIENTS,
    "elect_leaders._answer": _OTHER_CLIENTS,
    "elect_leaders._wanted": _OTHER_CLIENTS,
    "elect_leaders.elect_leaders": _OTHER_CLIENTS,
    "config_records.ConfigsReplaced": _NO_ZOOKEEPER,
    "config_records.GroupConfigsChanged.apply": _OTHER_CLIENTS,
    "journal_records.EpochsRecalled.apply": _SMALL_JOURNAL,
    "machine.Machine.step": _DEFECTS,
    "placement.check_counts": _WRONG_CLIENTS,
    "placement.check_total": _WRONG_CLIENTS,
    "reassignment_records.RemovalsPending.apply": _SMALL_JOURNAL,
    "reassignment_rules._check_list": _WRONG_CLIENTS,
    "quorum": _OTHER_CLIENTS,
    "registrations": _NO_ZOOKEEPER,
    "run_state.RunState.note_deleted": _LARGE_BOUNDS,
    "told_answers.answer_once_told": _OTHER_CLIENTS,
    "topic_rules": _WRONG_CLIENTS,
    "topics._create": _OTHER_CLIENTS,
    "topics.create_wanted_topics": _OTHER_CLIENTS,
    "znode_state": _NO_ZOOKEEPER,
    "znode_writes": _NO_ZOOKEEPER,
}
REASONS: Final[Mapping[str, str]] = {
    f"{room}.core.{name}": reason
    for room, reasons in (("broker", _OF_BROKERS), ("controller", _OF_THE_CONTROLLER))
    for name, reason in reasons.items()
}
"""By names as they are in the repository, wherever it is installed."""
