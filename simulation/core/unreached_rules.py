"""Why sweeps leave some rules, or outcomes in them, unreached: a reason for each.

By the name of a module, or of a class or function in it; a reason holds for all within. Rules that
no sweep reached and that are not here want a draw or a reason; ``simulate --rules`` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NO_TRANSACTIONS: Final = "No client of a drawn plan has transactions."
_WRONG_CLIENTS: Final = "Only clients that break the protocol come here; tests of requests do."
_TOLD: Final = "Told on control endpoints and in metrics, which nobody asks in simulations."
_LARGE_BOUNDS: Final = "Stories of seconds do not fill what it bounds; tests of this room do."
_OLD_VERSIONS: Final = "It serves older versions than the brokers of one world speak to each other."
_DEFECTS: Final = "Only a defect of this code comes here; it ends the process, or is told."
_NO_GROUPS: Final = "No client of a drawn plan has groups."
_OTHER_CLIENTS: Final = "No client of a drawn plan asks for it; tests of requests do."

_OF_BROKERS: Final[Mapping[str, str]] = {
    "answer_errors._never": _DEFECTS,
    "append._check_fields": _WRONG_CLIENTS,
    "append._check_oldest": _WRONG_CLIENTS,
    "append._invalid_record": _WRONG_CLIENTS,
    "append._magic_error": _WRONG_CLIENTS,
    "append._read_only_batch": _WRONG_CLIENTS,
    "batch_cleaning.BatchCleaning._clean_marker": _NO_TRANSACTIONS,
    "batch_cleaning.BatchCleaning.clean": _NO_TRANSACTIONS,
    "batch_cleaning.control_of": _NO_TRANSACTIONS,
    "cleaned_transactions": _NO_TRANSACTIONS,
    "cleaner_offsets.CleanerOffsets.uncleanable": _TOLD,
    "closest_replica": _OTHER_CLIENTS,
    "compaction.Dirtiness.is_due": _LARGE_BOUNDS,
    "compaction._overdue_ms": _LARGE_BOUNDS,
    "coordination": _NO_GROUPS,
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
    "hosted.HostedPartitions.offline_count": _TOLD,
    "hosted.HostedPartitions.partition_count": _TOLD,
    "log_dirs.LogDirStates.configured": _TOLD,
    "log_dirs.LogDirStates.online_paths": _TOLD,
    "markers": _NO_TRANSACTIONS,
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
    "offset_map": _LARGE_BOUNDS,
    "partition.Partition.is_under_replicated": _TOLD,
    "produce_version": _WRONG_CLIENTS,
    "producer_entry.Producer.truncate_from_end": _NO_TRANSACTIONS,
    "producers.ProducerStates.__len__": _TOLD,
    "producers.ProducerStates.check_marker": _NO_TRANSACTIONS,
    "producers.ProducerStates.end_transaction": _NO_TRANSACTIONS,
    "producers.ProducerStates.has_late_transaction": _NO_TRANSACTIONS,
    "producers.ProducerStates.note": _NO_TRANSACTIONS,
    "record_errors": _WRONG_CLIENTS,
    "topic_partitions": _OTHER_CLIENTS,
    "transactions": _NO_TRANSACTIONS,
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
    "config_changes": _WRONG_CLIENTS,
    "create_partitions": _WRONG_CLIENTS,
    "create_topics._check_known": _WRONG_CLIENTS,
    "create_topics._check_whole": _WRONG_CLIENTS,
    "create_topics._configs": _WRONG_CLIENTS,
    "create_topics.create_topics": _WRONG_CLIENTS,
    "delete_topics._look_up": _OLD_VERSIONS,
    "delete_topics._wanted": _OLD_VERSIONS,
    "delete_topics.delete_topics": _OTHER_CLIENTS,
    "describe._cluster_broker": _OTHER_CLIENTS,
    "describe._described": _OTHER_CLIENTS,
    "describe.describe_cluster": _OTHER_CLIENTS,
    "elect_leaders._answer": _OTHER_CLIENTS,
    "elect_leaders._wanted": _OTHER_CLIENTS,
    "elect_leaders.elect_leaders": _OTHER_CLIENTS,
    "machine.Machine.step": _DEFECTS,
    "placement.check_counts": _WRONG_CLIENTS,
    "placement.check_room": _LARGE_BOUNDS,
    "placement.check_total": _WRONG_CLIENTS,
    "reassignment_rules._check_list": _WRONG_CLIENTS,
    "reconfiguration": _OTHER_CLIENTS,
    "told_answers.answer_once_told": _OTHER_CLIENTS,
    "topic_rules": _WRONG_CLIENTS,
    "topics._create": _OTHER_CLIENTS,
    "topics.create_wanted_topics": _OTHER_CLIENTS,
}
REASONS: Final[Mapping[str, str]] = {
    f"{room}.core.{name}": reason
    for room, reasons in (("broker", _OF_BROKERS), ("controller", _OF_THE_CONTROLLER))
    for name, reason in reasons.items()
}
"""By names as they are in the repository, wherever it is installed."""
