"""Keys and values of control records: markers of transactions, and those of the KRaft log.

A key is a ControlRecordTypeSchema after an int16 version; ``protocol.records`` builds the batches.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT16, INT32, INT64, UINT16, UUID


@message(None, "data", versions="0")
class ControlRecordTypeSchema:
    """Source: ControlRecordTypeSchema.json."""

    type: int = field(INT16)
    """0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 KRaft version,
    6 KRaft voters.
    """


@message(None, "data", versions="0")
class EndTxnMarker:
    """Source: EndTxnMarker.json. The value of an abort or commit marker, after an int16 version."""

    coordinator_epoch: int = field(INT32)


@struct
class Voter:
    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID, "1+")


@message(None, "data", versions="0-1", flexible="0+")
class LeaderChangeMessage:
    """Source: LeaderChangeMessage.json."""

    version: int = field(INT16)
    leader_id: int = field(INT32)
    voters: Sequence[Voter] = field(array(Voter))
    granting_voters: Sequence[Voter] = field(array(Voter))


@message(None, "data", versions="0", flexible="0+")
class SnapshotHeaderRecord:
    """Source: SnapshotHeaderRecord.json."""

    version: int = field(INT16)
    last_contained_log_timestamp: int = field(INT64)


@message(None, "data", versions="0", flexible="0+")
class SnapshotFooterRecord:
    """Source: SnapshotFooterRecord.json."""

    version: int = field(INT16)


@message(None, "data", versions="0", flexible="0+")
class KRaftVersionRecord:
    """Source: KRaftVersionRecord.json."""

    version: int = field(INT16)
    k_raft_version: int = field(INT16)


@struct
class Endpoint:
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


@struct
class KRaftVersionFeature:
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


@struct
class VotersRecordVoter:
    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID)
    endpoints: Sequence[Endpoint] = field(array(Endpoint))
    k_raft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature)


@message(None, "data", versions="0", flexible="0+")
class VotersRecord:
    """Source: VotersRecord.json."""

    version: int = field(INT16)
    voters: Sequence[VotersRecordVoter] = field(array(VotersRecordVoter))
