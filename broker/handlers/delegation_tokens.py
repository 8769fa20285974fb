"""Serves: delegation tokens, with a handler for each of four APIs.

CreateDelegationToken (38), RenewDelegationToken (39), ExpireDelegationToken (40),
DescribeDelegationToken (41).
Differs from Kafka: the broker that is asked decides, as Kafka's do with ZooKeeper; a change is
answered once every reachable broker goes by it.
Versions: all.
"""

from __future__ import annotations

from uuid import UUID

from broker.context import Context
from broker.core.delegation_tokens import TokensPort
from broker.handlers import Client, handles_client
from protocol.acls.model import AclOperation, AclResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import uuid_text
from protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from protocol.principal import ANONYMOUS, Principal
from protocol.security.delegation_tokens import DelegationToken

_NEVER = -1
"""The time in answers that have none."""
_REQUESTER_SINCE = 3
"""Version of the answers that tell who asked for a token."""


def refuse_create(
    request: CreateDelegationTokenRequest, _version: int, error: KafkaError
) -> CreateDelegationTokenResponse:
    """Name nobody but the owner that was asked for."""
    return CreateDelegationTokenResponse(
        error_code=error.code,
        principal_type=request.owner_principal_type or "",
        principal_name=request.owner_principal_name or "",
        issue_timestamp_ms=_NEVER,
        expiry_timestamp_ms=_NEVER,
        max_timestamp_ms=_NEVER,
        token_id="",
        hmac=b"",
    )


def refuse_renew(
    _request: RenewDelegationTokenRequest, _version: int, error: KafkaError
) -> RenewDelegationTokenResponse:
    """Put the code at the top."""
    return RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=_NEVER)


def refuse_expire(
    _request: ExpireDelegationTokenRequest, _version: int, error: KafkaError
) -> ExpireDelegationTokenResponse:
    """Put the code at the top."""
    return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=_NEVER)


def refuse_describe(
    _request: DescribeDelegationTokenRequest, _version: int, error: KafkaError
) -> DescribeDelegationTokenResponse:
    """Put the code at the top."""
    return DescribeDelegationTokenResponse(error_code=error.code, tokens=[])


@handles_client(CreateDelegationTokenRequest, "0-3", refuse=refuse_create)
async def create(
    context: Context, request: CreateDelegationTokenRequest, version: int, client: Client
) -> CreateDelegationTokenResponse:
    """Source: KafkaApis.handleCreateTokenRequest."""
    requester = client.principal
    kind, name = request.owner_principal_type, request.owner_principal_name
    owner = Principal(name, kind or requester.kind) if name else requester
    try:
        tokens = _tokens_for(context, client)
        _check_owner(client, owner)
        token = tokens.tokens.new(
            uuid_text(UUID(context.new_uuid()).bytes),
            owner,
            requester,
            tuple(Principal(each.principal_name, each.principal_type) for each in request.renewers),
            request.max_lifetime_ms,
            context.wall_ms(),
        )
        await tokens.put(token)
    except KafkaError as error:
        response = refuse_create(request, version, error)
    else:
        response = CreateDelegationTokenResponse(
            issue_timestamp_ms=token.issue_ms,
            expiry_timestamp_ms=token.expiry_ms,
            max_timestamp_ms=token.max_ms,
            token_id=token.token_id,
            hmac=tokens.tokens.hmac_of(token),
        )
    response.principal_type, response.principal_name = owner.kind, owner.name
    _name_requester(response, requester, version)
    return response


@handles_client(RenewDelegationTokenRequest, "0-2", refuse=refuse_renew)
async def renew(
    context: Context, request: RenewDelegationTokenRequest, _version: int, client: Client
) -> RenewDelegationTokenResponse:
    """Source: KafkaApis.handleRenewTokenRequest."""
    tokens = _tokens_for(context, client)
    hmac, period_ms = bytes(request.hmac), request.renew_period_ms
    token = tokens.tokens.renewed(hmac, client.principal, period_ms, context.wall_ms())
    await tokens.put(token)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=token.expiry_ms)


@handles_client(ExpireDelegationTokenRequest, "0-2", refuse=refuse_expire)
async def expire(
    context: Context, request: ExpireDelegationTokenRequest, _version: int, client: Client
) -> ExpireDelegationTokenResponse:
    """Source: KafkaApis.handleExpireTokenRequest."""
    tokens = _tokens_for(context, client)
    hmac, period_ms, now_ms = bytes(request.hmac), request.expiry_time_period_ms, context.wall_ms()
    token, is_gone = tokens.tokens.expired(hmac, client.principal, period_ms, now_ms)
    if is_gone:
        await tokens.remove(token.token_id)
        return ExpireDelegationTokenResponse(expiry_timestamp_ms=now_ms)
    await tokens.put(token)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=token.expiry_ms)


@handles_client(DescribeDelegationTokenRequest, "0-3", refuse=refuse_describe)
async def describe(
    context: Context, request: DescribeDelegationTokenRequest, version: int, client: Client
) -> DescribeDelegationTokenResponse:
    """Source: KafkaApis.handleDescribeTokensRequest."""
    tokens = _tokens_for(context, client).tokens
    owners = request.owners
    wanted = None
    if owners is not None:
        wanted = [Principal(each.principal_name, each.principal_type) for each in owners]

    def may_see(token: DelegationToken) -> bool:
        access, kind = client.access, AclResourceType.DELEGATION_TOKEN
        if access is None or access.may(AclOperation.DESCRIBE, kind, token.token_id):
            return True
        return _may_user(client, AclOperation.DESCRIBE_TOKENS, token.owner)

    found = tokens.described(client.principal, wanted, may_see)
    return DescribeDelegationTokenResponse(
        tokens=[_described(token, tokens.hmac_of(token), version) for token in found]
    )


def _tokens_for(context: Context, client: Client) -> TokensPort:
    """Return the tokens.

    Raises:
        KafkaError: the client may not ask for any: it has no name, or came in by a token itself.
    """
    if client.is_by_token or client.principal == ANONYMOUS:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if context.delegation_tokens is None:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    return context.delegation_tokens


def _check_owner(client: Client, owner: Principal) -> None:
    if owner != client.principal and not _may_user(client, AclOperation.CREATE_TOKENS, owner):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)


def _may_user(client: Client, operation: AclOperation, owner: Principal) -> bool:
    return client.access is None or client.access.may(operation, AclResourceType.USER, str(owner))


def _name_requester(
    answer: CreateDelegationTokenResponse | DescribedDelegationToken,
    requester: Principal,
    version: int,
) -> None:
    """Say who asked for a token, to clients of versions that have a place for it."""
    if version >= _REQUESTER_SINCE:
        answer.token_requester_principal_type = requester.kind
        answer.token_requester_principal_name = requester.name


def _described(token: DelegationToken, hmac: bytes, version: int) -> DescribedDelegationToken:
    described = DescribedDelegationToken(
        principal_type=token.owner.kind,
        principal_name=token.owner.name,
        issue_timestamp=token.issue_ms,
        expiry_timestamp=token.expiry_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=hmac,
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=each.kind, principal_name=each.name)
            for each in token.renewers
        ],
    )
    _name_requester(described, token.requester, version)
    return described
