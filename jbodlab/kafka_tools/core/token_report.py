"""What ``kafka-delegation-tokens`` tells about tokens: Kafka's table, and a document without HMACs.

Source: DelegationTokenCommand.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from protocol.principal import Principal
from protocol.security.delegation_tokens import hmac_text

_COLUMNS: Final = (
    ("TOKENID", 15),
    ("HMAC", 30),
    ("OWNER", 15),
    ("REQUESTER", 15),
    ("RENEWERS", 25),
    ("ISSUEDATE", 15),
    ("EXPIRYDATE", 15),
    ("MAXDATE", 15),
)


class TokenView(NamedTuple):
    """A token as a broker tells it."""

    token_id: str
    hmac: bytes
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issued_ms: int
    expires_ms: int
    ends_ms: int
    """It cannot be renewed beyond that."""


def principals_text(found: Sequence[Principal]) -> str:
    """Return principals as Java shows a list."""
    return f"[{', '.join(map(str, found))}]"


def token_lines(found: Sequence[TokenView], date_of: Callable[[int], str]) -> Iterator[str]:
    """Return Kafka's table, with an empty line before each row; ``date_of`` shows a time in ms."""
    rows = [
        (
            *(each.token_id, hmac_text(each.hmac), str(each.owner), str(each.requester)),
            principals_text(each.renewers),
            *map(date_of, (each.issued_ms, each.expires_ms, each.ends_ms)),
        )
        for each in found
    ]
    for row in ([name for name, _ in _COLUMNS], *rows):
        yield ""
        widths = [width for _, width in _COLUMNS]
        yield " ".join(f"{word:<{width}}" for word, width in zip(row, widths, strict=True))


def token_document(found: TokenView) -> dict[str, Any]:
    """Return a token as a document, without its HMAC: by that one comes in."""
    return {
        "token_id": found.token_id,
        "owner": str(found.owner),
        "requester": str(found.requester),
        "renewers": [str(each) for each in found.renewers],
        "issued_ms": found.issued_ms,
        "expires_ms": found.expires_ms,
        "ends_ms": found.ends_ms,
    }
