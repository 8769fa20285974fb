"""Messages of the delegation tokens' APIs: Create (38), Renew (39), Expire (40), Describe (41)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message, struct
from protocol.wire.types import INT16, INT32, INT64


@struct
class CreatableRenewers:
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)


@message(38, "request", versions="0-3", flexible="2+")
class CreateDelegationTokenRequest:
    """Source: CreateDelegationTokenRequest.json."""

    owner_principal_type: str | None = field(STRING, "3+", nullable="3+")
    owner_principal_name: str | None = field(STRING, "3+", nullable="3+")
    """None or "": who asks."""
    renewers: Sequence[CreatableRenewers] = field(array(CreatableRenewers))
    max_lifetime_ms: int = field(INT64)
    """-1: the broker's."""


@message(38, "response", versions="0-3", flexible="2+")
class CreateDelegationTokenResponse:
    """Source: CreateDelegationTokenResponse.json."""

    error_code: int = field(INT16)
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)
    token_requester_principal_type: str = field(STRING, "3+")
    token_requester_principal_name: str = field(STRING, "3+")
    issue_timestamp_ms: int = field(INT64)
    expiry_timestamp_ms: int = field(INT64)
    max_timestamp_ms: int = field(INT64)
    token_id: str = field(STRING)
    hmac: Buffer = field(BYTES)
    throttle_time_ms: int = field(INT32)


@message(39, "request", versions="0-2", flexible="2+")
class RenewDelegationTokenRequest:
    """Source: RenewDelegationTokenRequest.json."""

    hmac: Buffer = field(BYTES)
    renew_period_ms: int = field(INT64)
    """-1: the broker's."""


@message(39, "response", versions="0-2", flexible="2+")
class RenewDelegationTokenResponse:
    """Source: RenewDelegationTokenResponse.json."""

    error_code: int = field(INT16)
    expiry_timestamp_ms: int = field(INT64)
    throttle_time_ms: int = field(INT32)


@message(40, "request", versions="0-2", flexible="2+")
class ExpireDelegationTokenRequest:
    """Source: ExpireDelegationTokenRequest.json."""

    hmac: Buffer = field(BYTES)
    expiry_time_period_ms: int = field(INT64)
    """-1: at once."""


@message(40, "response", versions="0-2", flexible="2+")
class ExpireDelegationTokenResponse:
    """Source: ExpireDelegationTokenResponse.json."""

    error_code: int = field(INT16)
    expiry_timestamp_ms: int = field(INT64)
    throttle_time_ms: int = field(INT32)


@struct
class DescribeDelegationTokenOwner:
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)


@message(41, "request", versions="0-3", flexible="2+")
class DescribeDelegationTokenRequest:
    """Source: DescribeDelegationTokenRequest.json."""

    owners: Sequence[DescribeDelegationTokenOwner] | None = field(
        array(DescribeDelegationTokenOwner), nullable="0+"
    )
    """None: of everybody."""


@struct
class DescribedDelegationTokenRenewer:
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)


@struct
class DescribedDelegationToken:
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)
    token_requester_principal_type: str = field(STRING, "3+")
    token_requester_principal_name: str = field(STRING, "3+")
    issue_timestamp: int = field(INT64)
    expiry_timestamp: int = field(INT64)
    max_timestamp: int = field(INT64)
    token_id: str = field(STRING)
    hmac: Buffer = field(BYTES)
    renewers: Sequence[DescribedDelegationTokenRenewer] = field(
        array(DescribedDelegationTokenRenewer)
    )


@message(41, "response", versions="0-3", flexible="2+")
class DescribeDelegationTokenResponse:
    """Source: DescribeDelegationTokenResponse.json."""

    error_code: int = field(INT16)
    tokens: Sequence[DescribedDelegationToken] = field(array(DescribedDelegationToken))
    throttle_time_ms: int = field(INT32)
