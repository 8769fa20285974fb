"""Who is on a connection, as Kafka names it: a type, nearly always ``User``, and a name.

Source: KafkaPrincipal.java, SecurityUtils.parseKafkaPrincipal.
"""

from __future__ import annotations

from typing import Final, NamedTuple

USER: Final = "User"
"""The type of all principals that Kafka's own builders make."""


class Principal(NamedTuple):
    """A type and a name; equal when both are."""

    name: str
    kind: str = USER

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS: Final = Principal("ANONYMOUS")
"""Who did not authenticate: every client of PLAINTEXT, and of SSL without a certificate."""


def parse_principal(text: str) -> Principal:
    """Return the principal that ``text`` names, such as ``User:alice``; its name may hold colons.

    Raises:
        ValueError: one sentence: it has no colon, or nothing before it.
    """
    kind, colon, name = text.partition(":")
    if not (kind and colon):
        raise ValueError(f"expected a principal such as User:alice, got {text!r}")
    return Principal(name, kind)
