"""Who is on a connection, as Kafka names it: a type, nearly always ``User``, and a name.

Source: KafkaPrincipal.java.
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
