"""Delegation tokens as text and as HMAC."""

from __future__ import annotations

import pytest

from protocol.principal import Principal
from protocol.security.delegation_tokens import (
    DelegationToken,
    MalformedToken,
    hmac_text,
    principal_from_text,
    token_credential,
    token_from_text,
    token_hmac,
    token_text,
)
from protocol.security.scram import ITERATIONS_MIN

OWNER, RENEWER = Principal("al*i ce~"), Principal("bob")
TOKEN = DelegationToken("id", OWNER, Principal("admin"), (RENEWER,), 1, 3, 2)


def test_a_token_is_kept_as_kafka_writes_it_and_read_again() -> None:
    assert token_text(TOKEN) == (
        '{"version":3,"owner":"User%3Aal%2Ai%20ce%7E","tokenRequester":"User%3Aadmin",'
        '"renewers":["User%3Abob"],"issueTimestamp":1,"maxTimestamp":3,"expiryTimestamp":2,'
        '"tokenId":"id"}'
    )
    assert token_from_text(token_text(TOKEN)) == TOKEN


def test_who_owns_a_token_of_an_older_version_had_asked_for_it() -> None:
    text = token_text(TOKEN).replace('"version":3', '"version":2')
    assert token_from_text(text).requester == OWNER


@pytest.mark.parametrize(
    "text",
    ["", "{}", token_text(TOKEN).replace(":3,", ":4,", 1), token_text(TOKEN).replace("%3A", "%20")],
)
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(MalformedToken, match="token"):
        token_from_text(text)


def test_an_hmac_is_sha512_of_the_id_and_its_text_the_password() -> None:
    text = hmac_text(token_hmac("id", "key"))
    assert text == (
        "aSA7IkWyB8Yvd5QD6kFnqpTOWxStWVN2+Jx9S1KGvERNr7Vtzbym26dQs3UQ858IduHslsBkS5g2QsF591iFjA=="
    )
    assert token_credential("SCRAM-SHA-256", text, b"salt").iterations == ITERATIONS_MIN


def test_a_token_is_over_at_the_first_of_its_ends_and_of_all_that_it_names() -> None:
    assert [TOKEN.is_over(now_ms) for now_ms in (2, 3)] == [False, True]
    assert all(TOKEN.is_of(each) for each in (OWNER, RENEWER, TOKEN.requester))
    assert not TOKEN.is_of(Principal("carol"))


def test_a_principal_has_a_type_and_a_name() -> None:
    assert principal_from_text("User:a:b") == Principal("a:b")
    with pytest.raises(ValueError, match="principalType:principalName but got alice"):
        principal_from_text("alice")
