"""Records of KRaft's metadata log, ``__cluster_metadata-0``: what a quorum's brokers are told by.

The number of each is the type in its frame; what a frame is says ``protocol.metadata_log``.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.messages.lifecycle import Feature, Listener
from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message, struct
from protocol.wire.types import BOOL, FLOAT64, INT8, INT16, INT32, INT64, UUID


@message(0, "metadata", versions="0-4", flexible="0+")
class RegisterBrokerRecord:
    """Source: RegisterBrokerRecord.json."""

    broker_id: int = field(INT32)
    is_migrating_zk_broker: bool = field(BOOL, "2+")
    incarnation_id: bytes = field(UUID)
    broker_epoch: int = field(INT64)
    """The offset of this record."""
    end_points: Sequence[Listener] = field(array(Listener))
    features: Sequence[Feature] = field(array(Feature))
    rack: str | None = field(STRING, nullable="0+")
    fenced: bool = field(BOOL, default=True)
    in_controlled_shutdown: bool = field(BOOL, "1+")
    log_dirs: Sequence[bytes] = field(array(UUID), "3+", tag=0)
    """Directory ids of the online log dirs (KIP-858)."""
    cordoned_log_dirs: Sequence[bytes] | None = field(
        array(UUID), "4+", default=None, nullable="4+", tag=1
    )
    """KIP-1066; None until the broker has told."""


@message(1, "metadata", versions="0", flexible="0+")
class UnregisterBrokerRecord:
    """Source: UnregisterBrokerRecord.json."""

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)


@message(2, "metadata", versions="0", flexible="0+")
class TopicRecord:
    """Source: TopicRecord.json."""

    name: str = field(STRING)
    topic_id: bytes = field(UUID)


@message(3, "metadata", versions="0-2", flexible="0+")
class PartitionRecord:
    """Source: PartitionRecord.json."""

    partition_id: int = field(INT32, default=-1)
    topic_id: bytes = field(UUID)
    replicas: Sequence[int] = field(array(INT32))
    isr: Sequence[int] = field(array(INT32))
    removing_replicas: Sequence[int] = field(array(INT32))
    adding_replicas: Sequence[int] = field(array(INT32))
    leader: int = field(INT32, default=-1)
    leader_recovery_state: int = field(INT8, tag=0)
    """1 after an unclean election until the leader has recovered."""
    leader_epoch: int = field(INT32, default=-1)
    partition_epoch: int = field(INT32, default=-1)
    directories: Sequence[bytes] = field(array(UUID), "1+")
    """The log dir of each replica, in the order of ``replicas``. The ids 0 to 2 name none:
    migrating, not assigned, lost (Kafka's DirectoryId).
    """
    eligible_leader_replicas: Sequence[int] | None = field(
        array(INT32), "2+", default=None, nullable="2+", tag=1
    )
    last_known_elr: Sequence[int] | None = field(
        array(INT32), "2+", default=None, nullable="2+", tag=2
    )


@message(4, "metadata", versions="0", flexible="0+")
class ConfigRecord:
    """Source: ConfigRecord.json."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")
    """None deletes it."""


@message(5, "metadata", versions="0-2", flexible="0+")
class PartitionChangeRecord:
    """Source: PartitionChangeRecord.json. What is None, or -1 or -2 as a number, did not change."""

    partition_id: int = field(INT32, default=-1)
    topic_id: bytes = field(UUID)
    isr: Sequence[int] | None = field(array(INT32), default=None, nullable="0+", tag=0)
    leader: int = field(INT32, default=-2, tag=1)
    """-1: nobody leads now; -2: as before."""
    replicas: Sequence[int] | None = field(array(INT32), default=None, nullable="0+", tag=2)
    removing_replicas: Sequence[int] | None = field(
        array(INT32), default=None, nullable="0+", tag=3
    )
    adding_replicas: Sequence[int] | None = field(array(INT32), default=None, nullable="0+", tag=4)
    leader_recovery_state: int = field(INT8, default=-1, tag=5)
    directories: Sequence[bytes] | None = field(
        array(UUID), "1+", default=None, nullable="1+", tag=8
    )
    eligible_leader_replicas: Sequence[int] | None = field(
        array(INT32), "2+", default=None, nullable="2+", tag=6
    )
    last_known_elr: Sequence[int] | None = field(
        array(INT32), "2+", default=None, nullable="2+", tag=7
    )


@message(7, "metadata", versions="0", flexible="0+")
class FenceBrokerRecord:
    """Source: FenceBrokerRecord.json. Of registrations before BrokerRegistrationChangeRecord."""

    id: int = field(INT32)
    epoch: int = field(INT64)


@message(8, "metadata", versions="0", flexible="0+")
class UnfenceBrokerRecord:
    """Source: UnfenceBrokerRecord.json."""

    id: int = field(INT32)
    epoch: int = field(INT64)


@message(9, "metadata", versions="0", flexible="0+")
class RemoveTopicRecord:
    """Source: RemoveTopicRecord.json. Its partitions go with it."""

    topic_id: bytes = field(UUID)


@message(10, "metadata", versions="0", flexible="0+")
class DelegationTokenRecord:
    """Source: DelegationTokenRecord.json."""

    owner: str = field(STRING)
    requester: str = field(STRING)
    renewers: Sequence[str] = field(array(STRING))
    issue_timestamp: int = field(INT64)
    max_timestamp: int = field(INT64)
    expiration_timestamp: int = field(INT64)
    token_id: str = field(STRING)


@message(11, "metadata", versions="0", flexible="0+")
class UserScramCredentialRecord:
    """Source: UserScramCredentialRecord.json."""

    name: str = field(STRING)
    mechanism: int = field(INT8)
    """1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""
    salt: Buffer = field(BYTES)
    stored_key: Buffer = field(BYTES)
    server_key: Buffer = field(BYTES)
    iterations: int = field(INT32)


@message(12, "metadata", versions="0", flexible="0+")
class FeatureLevelRecord:
    """Source: FeatureLevelRecord.json."""

    name: str = field(STRING)
    feature_level: int = field(INT16)
    """0 deletes it."""


@struct
class QuotaEntity:
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")
    """None is the default of its type."""


@message(14, "metadata", versions="0", flexible="0+")
class ClientQuotaRecord:
    """Source: ClientQuotaRecord.json."""

    entity: Sequence[QuotaEntity] = field(array(QuotaEntity))
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)


@message(15, "metadata", versions="0", flexible="0+")
class ProducerIdsRecord:
    """Source: ProducerIdsRecord.json."""

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, default=-1)
    next_producer_id: int = field(INT64)
    """The first behind the block that was given."""


@message(17, "metadata", versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord:
    """Source: BrokerRegistrationChangeRecord.json. 0, empty or None: as before."""

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)
    fenced: int = field(INT8, tag=0)
    """-1 unfenced, 1 fenced."""
    in_controlled_shutdown: int = field(INT8, "1+", tag=1)
    log_dirs: Sequence[bytes] = field(array(UUID), "2+", tag=2)
    cordoned_log_dirs: Sequence[bytes] | None = field(
        array(UUID), "3+", default=None, nullable="3+", tag=3
    )


@message(18, "metadata", versions="0", flexible="0+")
class AccessControlEntryRecord:
    """Source: AccessControlEntryRecord.json."""

    id: bytes = field(UUID)
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@message(19, "metadata", versions="0", flexible="0+")
class RemoveAccessControlEntryRecord:
    """Source: RemoveAccessControlEntryRecord.json."""

    id: bytes = field(UUID)


@message(20, "metadata", versions="0", flexible="0+")
class NoOpRecord:
    """Source: NoOpRecord.json. Written twice a second, so that the log's end is seen to move."""


@message(21, "metadata", versions="0", flexible="0+")
class ZkMigrationStateRecord:
    """Source: ZkMigrationRecord.json."""

    zk_migration_state: int = field(INT8)


@message(22, "metadata", versions="0", flexible="0+")
class RemoveUserScramCredentialRecord:
    """Source: RemoveUserScramCredentialRecord.json."""

    name: str = field(STRING)
    mechanism: int = field(INT8)


@message(23, "metadata", versions="0", flexible="0+")
class BeginTransactionRecord:
    """Source: BeginTransactionRecord.json. What follows counts once it has ended (KIP-868)."""

    name: str | None = field(STRING, default=None, nullable="0+", tag=0)


@message(24, "metadata", versions="0", flexible="0+")
class EndTransactionRecord:
    """Source: EndTransactionRecord.json."""


@message(25, "metadata", versions="0", flexible="0+")
class AbortTransactionRecord:
    """Source: AbortTransactionRecord.json."""

    reason: str | None = field(STRING, default=None, nullable="0+", tag=0)


@message(26, "metadata", versions="0", flexible="0+")
class RemoveDelegationTokenRecord:
    """Source: RemoveDelegationTokenRecord.json."""

    token_id: str = field(STRING)


@message(27, "metadata", versions="0", flexible="0+")
class RegisterControllerRecord:
    """Source: RegisterControllerRecord.json."""

    controller_id: int = field(INT32)
    incarnation_id: bytes = field(UUID)
    zk_migration_ready: bool = field(BOOL)
    end_points: Sequence[Listener] = field(array(Listener))
    features: Sequence[Feature] = field(array(Feature))


@message(28, "metadata", versions="0", flexible="0+")
class ClearElrRecord:
    """Source: ClearElrRecord.json."""

    topic_name: str = field(STRING)
    """"": of all topics."""
