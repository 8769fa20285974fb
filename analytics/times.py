"""Times as the tables' JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from analytics import columns as c


def bucket_begin_ms(row: Mapping[str, Any]) -> int:
    """Return the begin of a fact's bucket, in ms since the epoch."""
    begin = datetime.fromisoformat(row[c.BUCKET].replace("Z", "+00:00"))
    return round(begin.timestamp() * 1000)


def utc_text(at_ms: int) -> str:
    """Return a time in UTC, to the second."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
