# kafka-python has types in part only.
# pyright: reportMissingTypeStubs=false
"""A token of OAUTHBEARER as kafka-python takes it; it is not renewed."""

from __future__ import annotations

from typing import Any

from kafka.net.sasl.oauth import AbstractTokenProvider


class BearerToken(AbstractTokenProvider):
    """Hands out one token, as long as the command runs."""

    def __init__(self, token: str) -> None:
        self._token = token

    # Any: kafka-python's own returns nothing.
    def token(self) -> Any:
        """Return the token."""
        return self._token
