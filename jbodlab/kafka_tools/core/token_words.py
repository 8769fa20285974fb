"""The command line of ``kafka-delegation-tokens``: its options, and which go together.

Source: DelegationTokenCommand.java.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

from jbodlab.kafka_tools.core.failures import ILLEGAL_ARGUMENT, ToolFailure, UsageFailure
from jbodlab.kafka_tools.core.options import Option, Words, check_forbidden, check_required
from protocol.principal import Principal
from protocol.security.delegation_tokens import principal_from_text

OPTIONS: Final = (
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("command-config", "REQUIRED: properties file for the connection.", "file"),
    Option("create", "Create a token, with --max-life-time-period."),
    Option("describe", "Show the tokens of --owner-principal."),
    Option("expire", "End a token, with --hmac and --expiry-time-period."),
    Option("expiry-time-period", "In ms from now until it ends; -1 is at once.", "ms"),
    Option("hmac", "Of the token that is meant, in base64.", "hmac"),
    Option("max-life-time-period", "In ms; -1 is what brokers are configured to.", "ms"),
    Option("owner-principal", "Whose token, as User:alice.", "principal"),
    Option("renew", "Renew a token, with --hmac and --renew-time-period."),
    Option("renew-time-period", "In ms from now; -1 is what brokers are configured to.", "ms"),
    Option("renewer-principal", "Who may renew it beside its owner, as User:bob.", "principal"),
)
ACTIONS: Final = ("create", "renew", "expire", "describe")
_NEEDED: Final = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}
_FORBIDDEN: Final = {
    "create": ("hmac", "renew-time-period", "expiry-time-period"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("renewer-principal", "max-life-time-period", "renew-time-period", "owner-principal"),
    "describe": ("renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}


def check_words(words: Words) -> str:
    """Check which options go together, and return the action.

    Raises:
        UsageFailure: one is missing or one too many.
    """
    given = words.given(ACTIONS)
    if len(given) != 1:
        raise UsageFailure(
            "Command must include exactly one action: --create, --renew, --expire or --describe"
        )
    (action,) = given
    check_required(words, ("bootstrap-server", "command-config", *_NEEDED[action]))
    check_forbidden(words, action, _FORBIDDEN[action])
    return action


def principals(words: Words, option: str) -> list[Principal]:
    """Return the principals that follow an option.

    Raises:
        ToolFailure: one has no type or no name.
    """
    try:
        return [principal_from_text(each.strip()) for each in words.values(option)]
    except ValueError as error:
        raise ToolFailure(ILLEGAL_ARGUMENT, str(error)) from error


def hmac_bytes(words: Words) -> bytes:
    """Return the HMAC of the token that is meant.

    Raises:
        ToolFailure: it is no base64; the text is not repeated.
    """
    try:
        return base64.b64decode(words.value("hmac"), validate=True)
    except binascii.Error as error:
        text = "the HMAC is no base64; give it as it was printed when the token was created"
        raise ToolFailure(ILLEGAL_ARGUMENT, text) from error
