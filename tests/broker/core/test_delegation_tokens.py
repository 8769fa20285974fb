"""What a broker decides about delegation tokens."""

from __future__ import annotations

import pytest

from broker.core.delegation_tokens import DelegationTokens, TokenSettings
from protocol.errors import ErrorCode, KafkaError
from protocol.principal import Principal
from protocol.security.delegation_tokens import DelegationToken

ALICE, BOB, CAROL = Principal("alice"), Principal("bob"), Principal("carol")
NOW_MS, LIFETIME_MS, EXPIRY_MS = 1_000_000, 7_000, 1_000


def made(secret_key: str | None = "secret") -> DelegationTokens:
    return DelegationTokens(TokenSettings(secret_key, LIFETIME_MS, EXPIRY_MS), lambda: b"salt")


def kept(tokens: DelegationTokens, token_id: str = "t") -> tuple[DelegationToken, bytes]:
    token = tokens.new(token_id, ALICE, ALICE, (BOB,), -1, NOW_MS)
    tokens.keep(token)
    return token, tokens.hmac_of(token)


@pytest.mark.parametrize(
    ("asked_ms", "max_ms", "expiry_ms"),
    [
        (-1, LIFETIME_MS, EXPIRY_MS),
        (0, LIFETIME_MS, EXPIRY_MS),
        (1, 1, 1),
        (500, 500, 500),
        (9_999, LIFETIME_MS, EXPIRY_MS),
    ],
)
def test_a_token_lives_as_long_as_asked_but_not_longer_than_configured(
    asked_ms: int, max_ms: int, expiry_ms: int
) -> None:
    token = made().new("t", ALICE, BOB, (), asked_ms, NOW_MS)
    assert (token.max_ms - NOW_MS, token.expiry_ms - NOW_MS) == (max_ms, expiry_ms)
    assert (token.owner, token.requester) == (ALICE, BOB)


def test_renewers_are_users_and_without_a_secret_key_there_are_no_tokens() -> None:
    with pytest.raises(KafkaError) as refused:
        made().new("t", ALICE, ALICE, (Principal("g", "Group"),), -1, NOW_MS)
    assert refused.value.code == ErrorCode.INVALID_PRINCIPAL_TYPE
    tokens = made(None)
    assert not tokens.is_enabled
    for decide in (
        lambda: tokens.new("t", ALICE, ALICE, (), -1, NOW_MS),
        lambda: tokens.renewed(b"", ALICE, -1, NOW_MS),
        lambda: tokens.expired(b"", ALICE, -1, NOW_MS),
        lambda: tokens.described(ALICE, None, lambda _token: True),
    ):
        with pytest.raises(KafkaError) as refused:
            decide()
        assert refused.value.code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.parametrize("principal", [ALICE, BOB])
def test_owner_and_renewers_renew_up_to_the_end_of_the_lifetime(principal: Principal) -> None:
    tokens = made()
    token, hmac = kept(tokens)
    later_ms = NOW_MS + 900
    assert tokens.renewed(hmac, principal, -1, later_ms).expiry_ms == later_ms + EXPIRY_MS
    assert tokens.renewed(hmac, principal, 10, later_ms).expiry_ms == later_ms + 10
    tokens.keep(token._replace(expiry_ms=token.max_ms))
    end_ms = token.max_ms - 1
    assert tokens.renewed(hmac, principal, -1, end_ms).expiry_ms == token.max_ms


def test_a_token_is_not_renewed_or_expired_by_others_when_over_or_unknown() -> None:
    tokens = made()
    token, hmac = kept(tokens)
    for decide in (tokens.renewed, tokens.expired):
        for given, principal, now_ms, code in (
            (b"other", ALICE, NOW_MS, ErrorCode.DELEGATION_TOKEN_NOT_FOUND),
            (hmac, CAROL, NOW_MS, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
            (hmac, ALICE, token.expiry_ms + 1, ErrorCode.DELEGATION_TOKEN_EXPIRED),
        ):
            with pytest.raises(KafkaError) as refused:
                decide(given, principal, -1, now_ms)
            assert refused.value.code == code


def test_who_asked_for_a_token_of_somebody_else_sees_it_but_may_not_renew_it() -> None:
    tokens = made()
    token = tokens.new("t", ALICE, CAROL, (), -1, NOW_MS)
    tokens.keep(token)
    assert tokens.described(CAROL, None, lambda _token: False) == [token]
    for decide in (tokens.renewed, tokens.expired):
        with pytest.raises(KafkaError) as refused:
            decide(tokens.hmac_of(token), CAROL, -1, NOW_MS)
        assert refused.value.code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


def test_a_token_expires_at_once_or_after_the_period() -> None:
    tokens = made()
    token, hmac = kept(tokens)
    assert tokens.expired(hmac, ALICE, -1, NOW_MS) == (token, True)
    assert tokens.expired(hmac, ALICE, 5, NOW_MS) == (
        token._replace(expiry_ms=NOW_MS + 5),
        False,
    )


def test_described_are_ones_own_and_what_one_may_see_of_those_asked_for() -> None:
    tokens = made()
    token, _ = kept(tokens)

    def seen(principal: Principal, owners: list[Principal] | None, *, may: bool) -> int:
        return len(tokens.described(principal, owners, lambda each: may and each == token))

    assert [seen(ALICE, None, may=False), seen(BOB, [ALICE], may=False)] == [1, 1]
    assert [seen(CAROL, None, may=False), seen(CAROL, None, may=True)] == [0, 1]
    assert [seen(ALICE, [CAROL], may=True), seen(ALICE, [], may=True)] == [0, 0]


def test_a_credential_is_there_until_the_token_is_over_or_gone() -> None:
    tokens = made()
    token, hmac = kept(tokens)
    found = tokens.credential("SCRAM-SHA-256", "t", NOW_MS)
    assert found is not None
    assert (found.owner, found.lifetime_ms) == ("alice", EXPIRY_MS)
    again = tokens.credential("SCRAM-SHA-256", "t", NOW_MS)
    assert again is not None
    assert again.credential is found.credential
    assert tokens.credential("SCRAM-SHA-256", "t", token.expiry_ms + 1) is None
    assert tokens.overdue(token.expiry_ms) == []
    assert tokens.overdue(token.expiry_ms + 1) == [token]
    other = token._replace(token_id="u")
    tokens.replace([token, other])
    still = tokens.credential("SCRAM-SHA-256", "t", NOW_MS)
    assert still is not None
    assert still.credential is found.credential, "a token that stays keeps what was made of it"
    tokens.replace([other])
    assert tokens.credential("SCRAM-SHA-256", "t", NOW_MS) is None
    with pytest.raises(KafkaError):
        tokens.renewed(hmac, ALICE, -1, NOW_MS)
    assert tokens.described(ALICE, None, lambda _token: False) == [other]


def test_a_renewal_takes_the_configured_period_unless_a_shorter_one_is_asked_for() -> None:
    tokens = made()
    _, hmac = kept(tokens)
    for period_ms, taken_ms in ((0, EXPIRY_MS), (1, 1), (EXPIRY_MS + 1, EXPIRY_MS)):
        assert tokens.renewed(hmac, ALICE, period_ms, NOW_MS).expiry_ms == NOW_MS + taken_ms


def test_an_expiry_of_0_is_now_and_none_is_later_than_the_lifetime() -> None:
    tokens = made()
    token, hmac = kept(tokens)
    for period_ms, end_ms in ((0, NOW_MS), (LIFETIME_MS + 5, token.max_ms)):
        ended, goes = tokens.expired(hmac, ALICE, period_ms, NOW_MS)
        assert (ended.expiry_ms, goes) == (end_ms, False)


def test_a_credential_lives_a_millisecond_at_the_end_of_its_token() -> None:
    tokens = made()
    token, _ = kept(tokens)
    for now_ms, lifetime_ms in ((token.expiry_ms - 5, 5), (token.expiry_ms, 1)):
        found = tokens.credential("SCRAM-SHA-256", "t", now_ms)
        assert found is not None
        assert found.lifetime_ms == lifetime_ms
    tokens.keep(token._replace(max_ms=NOW_MS + 3))
    found = tokens.credential("SCRAM-SHA-256", "t", NOW_MS)
    assert found is not None
    assert found.lifetime_ms == 3


def test_a_token_that_is_gone_leaves_neither_its_hmac_nor_its_credential() -> None:
    tokens = made()
    token, hmac = kept(tokens)
    other, _ = kept(tokens, "u")
    first = tokens.credential("SCRAM-SHA-256", "t", NOW_MS)
    second = tokens.credential("SCRAM-SHA-256", "u", NOW_MS)
    assert first is not None
    assert second is not None
    tokens.forget("t")
    tokens.forget("t")
    with pytest.raises(KafkaError, match="DELEGATION_TOKEN_NOT_FOUND"):
        tokens.renewed(hmac, ALICE, -1, NOW_MS)
    tokens.keep(token)
    anew = tokens.credential("SCRAM-SHA-256", "t", NOW_MS)
    still = tokens.credential("SCRAM-SHA-256", "u", NOW_MS)
    assert anew is not None
    assert still is not None
    assert anew.credential is not first.credential
    assert still.credential is second.credential
    assert tokens.described(ALICE, None, lambda _token: False) == [other, token]
