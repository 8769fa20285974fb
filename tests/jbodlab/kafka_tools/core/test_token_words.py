"""Which options of kafka-delegation-tokens go together."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.core.failures import ToolFailure, UsageFailure
from jbodlab.kafka_tools.core.options import Words, read_words
from jbodlab.kafka_tools.core.token_words import OPTIONS, check_words, hmac_bytes, principals
from protocol.principal import Principal

WHERE = "--bootstrap-server b:1 --command-config f"


def words(text: str) -> Words:
    return read_words(text.split(), OPTIONS)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("--create --max-life-time-period -1 --owner-principal User:a", "create"),
        ("--renew --hmac aGk= --renew-time-period 5", "renew"),
        ("--expire --hmac aGk= --expiry-time-period -1", "expire"),
        ("--describe --owner-principal User:a", "describe"),
    ],
)
def test_an_action_with_what_it_needs_is_taken(text: str, action: str) -> None:
    assert check_words(words(f"{WHERE} {text}")) == action


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WHERE, "exactly one action: --create, --renew, --expire or --describe"),
        (f"{WHERE} --create --describe", "exactly one action"),
        ("--describe --command-config f", r"argument \"\[bootstrap-server\]\""),
        ("--describe --bootstrap-server b:1", r"argument \"\[command-config\]\""),
        (f"{WHERE} --create", r"argument \"\[max-life-time-period\]\""),
        (f"{WHERE} --renew --renew-time-period 1", r"argument \"\[hmac\]\""),
        (f"{WHERE} --expire --hmac aGk=", r"argument \"\[expiry-time-period\]\""),
        (f"{WHERE} --describe --hmac aGk=", r"\"\[describe\]\" can't be used .* \"\[hmac\]\""),
    ],
)
def test_what_is_missing_or_too_much_is_named(text: str, said: str) -> None:
    with pytest.raises(UsageFailure, match=said):
        check_words(words(text))


def test_principals_and_hmacs_are_read() -> None:
    given = words("--renewer-principal User:a --renewer-principal Group:b --hmac aGk=")
    assert principals(given, "renewer-principal") == [Principal("a"), Principal("b", "Group")]
    assert hmac_bytes(given) == b"hi"


def test_what_is_no_principal_or_no_base64_is_refused_without_the_hmac() -> None:
    given = words("--owner-principal alice --hmac s3cret!")
    with pytest.raises(ToolFailure, match="principalType:principalName but got alice"):
        principals(given, "owner-principal")
    with pytest.raises(ToolFailure) as raised:
        hmac_bytes(given)
    assert "s3cret" not in raised.value.message
