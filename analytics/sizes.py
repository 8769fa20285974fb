"""Sizes, times and counts as people read them.

It imports nothing: commands without Spark may use it.
"""

from __future__ import annotations


def size_text(size_bytes: float) -> str:
    """Return a size with the unit that leaves at most four digits before the point."""
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def count_text(count: int, name: str) -> str:
    """Return "1 leader" or "2 leaders"; ``name`` is a noun whose plural ends in s."""
    return f"{count} {name}{'' if count == 1 else 's'}"


def duration_text(duration_ms: float) -> str:
    """Return a time with the unit that leaves at most four digits before the point."""
    if duration_ms < 1:
        return f"{duration_ms * 1000:.0f} us"
    if duration_ms < 1000:
        return f"{duration_ms:.1f} ms" if duration_ms < 10 else f"{duration_ms:.0f} ms"
    seconds = duration_ms / 1000
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"
