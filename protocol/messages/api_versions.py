"""Messages of ApiVersions (18)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32, INT64


@message(18, "request", versions="0-4", flexible="3+")
class ApiVersionsRequest:
    """Source: ApiVersionsRequest.json."""

    client_software_name: str = field(STRING, "3+", ignorable=True)
    client_software_version: str = field(STRING, "3+", ignorable=True)


@struct
class ApiVersion:
    api_key: int = field(INT16)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


@struct
class SupportedFeatureKey:
    name: str = field(STRING, "3+")
    min_version: int = field(INT16, "3+")
    max_version: int = field(INT16, "3+")


@struct
class FinalizedFeatureKey:
    name: str = field(STRING, "3+")
    max_version_level: int = field(INT16, "3+")
    min_version_level: int = field(INT16, "3+")


@message(18, "response", versions="0-4", flexible="3+")
class ApiVersionsResponse:
    """Source: ApiVersionsResponse.json."""

    error_code: int = field(INT16)
    api_keys: Sequence[ApiVersion] = field(array(ApiVersion))
    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    supported_features: Sequence[SupportedFeatureKey] = field(
        array(SupportedFeatureKey), "3+", tag=0, ignorable=True
    )
    finalized_features_epoch: int = field(INT64, "3+", default=-1, tag=1, ignorable=True)
    """-1 when unknown."""
    finalized_features: Sequence[FinalizedFeatureKey] = field(
        array(FinalizedFeatureKey), "3+", tag=2, ignorable=True
    )
    zk_migration_ready: bool = field(BOOL, "3+", tag=3, ignorable=True)
    """Whether a KRaft controller is set up to take brokers over from ZooKeeper."""
