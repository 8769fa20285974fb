"""What the questions are about, and what one is."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

TOPIC, OTHER_TOPIC, MISSING = "orders", "orders-old", "missing"
"""The first two are there."""
GROUP, OTHER_GROUP, TRANSACTION = "readers", "others", "transfers"
OWNER: Final = "bob"
"""For whom tokens are wanted."""
TOPICS: Final = (TOPIC, MISSING)
"""Of which most questions ask."""


class Question(NamedTuple):
    """One request."""

    name: str
    request: Any
    version: int
