"""Delegation tokens as clients ask for them."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from broker.core.delegation_tokens import DelegationTokens, TokenSettings
from protocol.acls.model import AclBinding, AclOperation, AclResourceType
from protocol.connection import Peer
from protocol.errors import ErrorCode
from protocol.messages.delegation_tokens import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from protocol.principal import ANONYMOUS, Principal
from protocol.security.delegation_tokens import DelegationToken
from tests.broker.fakes import WALL_MS, FakeBroker
from tests.broker.secured import ADMIN, ALICE, allow, secured

BOB = Peer("10.0.0.1", 40_002, principal=Principal("bob"))
CREATE = CreateDelegationTokenRequest(
    renewers=[CreatableRenewers(principal_type="User", principal_name="bob")], max_lifetime_ms=-1
)
FOR_BOB = replace(CREATE, owner_principal_type="User", owner_principal_name="bob")
DESCRIBE = DescribeDelegationTokenRequest(owners=None)


class Kept:
    """A ``TokensPort`` of one broker."""

    def __init__(self, secret_key: str | None) -> None:
        self.tokens = DelegationTokens(TokenSettings(secret_key, 7000, 1000), lambda: b"salt")

    async def put(self, token: DelegationToken) -> None:
        self.tokens.keep(token)

    async def remove(self, token_id: str) -> None:
        self.tokens.forget(token_id)


def broker_with(*acls: AclBinding, secret_key: str | None = "secret") -> FakeBroker:
    broker = secured(*acls)
    broker.context.delegation_tokens = Kept(secret_key)
    numbers = count(1)
    broker.context.new_uuid = lambda: str(UUID(int=next(numbers)))
    return broker


async def asked(broker: FakeBroker, request: Any, peer: Peer = ALICE) -> Any:
    return await broker.ask(request, 3, peer=peer)


async def test_a_token_is_created_renewed_described_and_expired() -> None:
    broker = broker_with()
    created = await asked(broker, CREATE)
    assert (created.error_code, created.principal_name) == (0, "alice")
    assert created.token_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert created.max_timestamp_ms == WALL_MS + 7000
    hmac = bytes(created.hmac)
    renewal = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=10)
    renewed = await broker.ask(renewal, 2, peer=BOB)
    assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, WALL_MS + 10)
    (described,) = (await asked(broker, DESCRIBE)).tokens
    assert (described.token_id, bytes(described.hmac)) == (created.token_id, hmac)
    assert described.expiry_timestamp == WALL_MS + 10
    assert [each.principal_name for each in described.renewers] == ["bob"]
    kept = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=5)
    assert (await broker.ask(kept, 2, peer=ALICE)).expiry_timestamp_ms == WALL_MS + 5
    gone = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1)
    assert (await broker.ask(gone, 2, peer=ALICE)).error_code == 0
    missing = await broker.ask(gone, 2, peer=ALICE)
    assert missing.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert not (await asked(broker, DESCRIBE)).tokens


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("secret_key", ["secret", None])
async def test_every_version_is_answered_and_who_asked_is_told_from_the_third_on(
    version: int, secret_key: str | None
) -> None:
    broker = broker_with(secret_key=secret_key)
    requester = "alice" if version >= 3 else ""
    created = await broker.ask(CREATE, version, peer=ALICE)
    assert (created.principal_name, created.token_requester_principal_name) == ("alice", requester)
    described = await broker.ask(DESCRIBE, version, peer=ALICE)
    told = [each.token_requester_principal_name for each in described.tokens]
    assert told == ([requester] if secret_key else [])


@pytest.mark.parametrize(
    "peer", [ALICE._replace(principal=ANONYMOUS), ALICE._replace(is_by_token=True)]
)
async def test_who_has_no_name_or_came_in_by_a_token_may_not_ask(peer: Peer) -> None:
    broker = broker_with()
    for request, version in (
        (CREATE, 3),
        (DESCRIBE, 3),
        (RenewDelegationTokenRequest(hmac=b"", renew_period_ms=1), 2),
        (ExpireDelegationTokenRequest(hmac=b"", expiry_time_period_ms=1), 2),
    ):
        answer = await broker.ask(request, version, peer=peer)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


async def test_without_a_secret_key_it_says_so() -> None:
    broker = broker_with(secret_key=None)
    disabled = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    created = await asked(broker, CREATE)
    assert (created.error_code, created.issue_timestamp_ms) == (disabled, -1)
    assert (created.principal_name, created.token_requester_principal_name) == ("alice", "alice")
    broker.context.delegation_tokens = None
    assert (await asked(broker, DESCRIBE)).error_code == disabled


async def test_a_token_for_another_owner_needs_create_tokens_on_that_user() -> None:
    broker = broker_with()
    refused = await asked(broker, FOR_BOB)
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (refused.principal_name, refused.token_requester_principal_name) == ("bob", "alice")
    broker = broker_with(allow(AclOperation.CREATE_TOKENS, AclResourceType.USER, "User:bob"))
    created = await asked(broker, FOR_BOB)
    assert (created.error_code, created.principal_name) == (0, "bob")


async def test_tokens_of_others_are_described_to_those_who_may() -> None:
    of_token = allow(AclOperation.DESCRIBE, AclResourceType.DELEGATION_TOKEN, "A" * 21 + "Q")
    of_owner = allow(AclOperation.DESCRIBE_TOKENS, AclResourceType.USER, "User:admin")
    for acls, count_seen in (((), 0), ((of_token,), 1), ((of_owner,), 1)):
        broker = broker_with(*acls)
        await asked(broker, CREATE, ADMIN)
        assert len((await asked(broker, DESCRIBE)).tokens) == count_seen
    owner = DescribeDelegationTokenOwner(principal_type="User", principal_name="carol")
    asks = DescribeDelegationTokenRequest(owners=[owner])
    assert not (await asked(broker, asks, ADMIN)).tokens
