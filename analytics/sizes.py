"""Sizes as a person reads them. It imports nothing, so that commands without Spark may use it."""

from __future__ import annotations


def size_text(size_bytes: float) -> str:
    """Return a size with the unit that leaves at most four digits before the point."""
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
