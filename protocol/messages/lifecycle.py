"""Messages of BrokerRegistration (62), BrokerHeartbeat (63), ControlledShutdown (7)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32, INT64, UINT16, UUID


@struct
class Listener:
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)
    security_protocol: int = field(INT16)
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


@struct
class Feature:
    name: str = field(STRING)
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


@message(62, "request", versions="0-4", flexible="0+")
class BrokerRegistrationRequest:
    """Source: BrokerRegistrationRequest.json."""

    broker_id: int = field(INT32)
    cluster_id: str = field(STRING)
    incarnation_id: bytes = field(UUID)
    """Made anew by every start of the process."""
    listeners: Sequence[Listener] = field(array(Listener))
    features: Sequence[Feature] = field(array(Feature))
    rack: str | None = field(STRING, nullable="0+")
    is_migrating_zk_broker: bool = field(BOOL, "1+")
    log_dirs: Sequence[bytes] = field(array(UUID), "2+", ignorable=True)
    """Directory ids of the online log dirs."""
    previous_broker_epoch: int = field(INT64, "3+", default=-1, ignorable=True)
    """The epoch before a clean shutdown; -1 after any other."""


@message(62, "response", versions="0-4", flexible="0+")
class BrokerRegistrationResponse:
    """Source: BrokerRegistrationResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    broker_epoch: int = field(INT64, default=-1)
    """Names this registration in all that follows."""


@message(63, "request", versions="0-2", flexible="0+")
class BrokerHeartbeatRequest:
    """Source: BrokerHeartbeatRequest.json."""

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, default=-1)
    current_metadata_offset: int = field(INT64)
    """The last record of the metadata log that the broker has."""
    want_fence: bool = field(BOOL)
    """True while the broker recovers its logs."""
    want_shut_down: bool = field(BOOL)
    """True from the start of a controlled shutdown on."""
    offline_log_dirs: Sequence[bytes] = field(array(UUID), "1+", tag=0)
    """Directory ids of all log dirs that failed since the registration."""
    cordoned_log_dirs: Sequence[bytes] | None = field(
        array(UUID), "2+", default=None, nullable="2+", tag=1
    )
    """Directory ids that take no new replicas (KIP-1066); None for no change."""


@message(63, "response", versions="0-2", flexible="0+")
class BrokerHeartbeatResponse:
    """Source: BrokerHeartbeatResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    is_caught_up: bool = field(BOOL)
    is_fenced: bool = field(BOOL, default=True)
    """While true no partition is led by the broker."""
    should_shut_down: bool = field(BOOL)
    """Its partitions are led by others now."""


@message(7, "request", versions="0-3", flexible="3+")
class ControlledShutdownRequest:
    """Source: ControlledShutdownRequest.json."""

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, "2+", default=-1, ignorable=True)


@struct
class RemainingPartition:
    topic_name: str = field(STRING)
    partition_index: int = field(INT32)


@message(7, "response", versions="0-3", flexible="3+")
class ControlledShutdownResponse:
    """Source: ControlledShutdownResponse.json."""

    error_code: int = field(INT16)
    remaining_partitions: Sequence[RemainingPartition] = field(array(RemainingPartition))
    """Those that the broker still leads."""
