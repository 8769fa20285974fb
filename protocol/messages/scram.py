"""Messages of DescribeUserScramCredentials (50), AlterUserScramCredentials (51)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32


@struct
class UserName:
    name: str = field(STRING)


@message(50, "request", versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest:
    """Source: DescribeUserScramCredentialsRequest.json."""

    users: Sequence[UserName] | None = field(array(UserName), nullable="0+")


@struct
class CredentialInfo:
    mechanism: int = field(INT8)
    iterations: int = field(INT32)


@struct
class DescribeUserScramCredentialsResult:
    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    credential_infos: Sequence[CredentialInfo] = field(array(CredentialInfo))


@message(50, "response", versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse:
    """Source: DescribeUserScramCredentialsResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    results: Sequence[DescribeUserScramCredentialsResult] = field(
        array(DescribeUserScramCredentialsResult)
    )


@struct
class ScramCredentialDeletion:
    name: str = field(STRING)
    mechanism: int = field(INT8)


@struct
class ScramCredentialUpsertion:
    name: str = field(STRING)
    mechanism: int = field(INT8)
    iterations: int = field(INT32)
    salt: Buffer = field(BYTES)
    salted_password: Buffer = field(BYTES)


@message(51, "request", versions="0", flexible="0+")
class AlterUserScramCredentialsRequest:
    """Source: AlterUserScramCredentialsRequest.json."""

    deletions: Sequence[ScramCredentialDeletion] = field(array(ScramCredentialDeletion))
    upsertions: Sequence[ScramCredentialUpsertion] = field(array(ScramCredentialUpsertion))


@struct
class AlterUserScramCredentialsResult:
    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


@message(51, "response", versions="0", flexible="0+")
class AlterUserScramCredentialsResponse:
    """Source: AlterUserScramCredentialsResponse.json."""

    throttle_time_ms: int = field(INT32)
    results: Sequence[AlterUserScramCredentialsResult] = field(
        array(AlterUserScramCredentialsResult)
    )
