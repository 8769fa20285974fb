"""What a topic may be called, and which names are Kafka's own. It knows no topics.

Source: Topic.java.
"""

from __future__ import annotations

import re
from typing import Final

NAME_LENGTH_MAX: Final = 249
CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
CLUSTER_METADATA: Final = "__cluster_metadata"
INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})
"""The last is one since 3.9; emulated older releases have it, too, as nobody has such a topic."""

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_problem(name: str) -> str:
    """Tell what is wrong with a topic's name; "" when nothing is."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_LENGTH_MAX:
        return f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    if not _LEGAL.fullmatch(name):
        return (
            f"'{name}' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'"
        )
    return ""


def is_topic_name(name: str) -> bool:
    """Tell whether Kafka allows the name: 1 to 249 of ``[a-zA-Z0-9._-]``, not ``.``, not ``..``."""
    return not topic_name_problem(name)
