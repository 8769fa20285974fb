"""Tokens as Kafka's tool shows them, and as a document that nobody comes in with."""

from __future__ import annotations

from jbodlab.kafka_tools.core.token_report import (
    TokenView,
    principals_text,
    token_document,
    token_lines,
)
from protocol.principal import Principal

ALICE, BOB = Principal("alice"), Principal("bob")
TOKEN = TokenView("id", b"secret", ALICE, BOB, (BOB, ALICE), 1, 2, 3)


def test_the_table_is_kafkas() -> None:
    lines = list(token_lines([TOKEN], lambda at_ms: f"day {at_ms}"))
    assert lines == [
        "",
        "TOKENID         HMAC                           OWNER           REQUESTER       "
        "RENEWERS                  ISSUEDATE       EXPIRYDATE      MAXDATE        ",
        "",
        "id              c2VjcmV0                       User:alice      User:bob        "
        "[User:bob, User:alice]    day 1           day 2           day 3          ",
    ]


def test_a_document_has_no_hmac() -> None:
    assert token_document(TOKEN) == {
        "token_id": "id",
        "owner": "User:alice",
        "requester": "User:bob",
        "renewers": ["User:bob", "User:alice"],
        "issued_ms": 1,
        "expires_ms": 2,
        "ends_ms": 3,
    }
    assert principals_text([]) == "[]"
