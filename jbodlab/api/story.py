"""What was done to a cluster and what it told, in order: shown with a test that failed.

It asks nobody anything.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

LOUD: Final = (" WARNING ", " ERROR ", " CRITICAL ")
LINES_MAX: Final = 20
"""Of each node's log: its last ones that are more than news."""


class Story:
    """The orders that were given to a cluster since it was started or reset."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._orders: list[str] = []

    def add(self, order: str) -> None:
        """Note an order, with the time since the beginning."""
        self._orders.append(f"{time.monotonic() - self._began_s:9.3f} s  {order}")

    def begin_anew(self) -> None:
        """Forget what was before: another test begins."""
        self._began_s = time.monotonic()
        self._orders.clear()

    def text(self, troubles: Sequence[str], log_files: Sequence[Path]) -> str:
        """Return orders, troubles and the last loud lines of the logs, each under its heading."""
        parts = [_section("orders to the cluster", self._orders or ["none"])]
        parts.append(_section("what is wrong with it now", troubles or ["nothing"]))
        parts += [_section(f"warnings in {file}", _loud(file)) for file in log_files if _loud(file)]
        return "\n".join(parts)


def _section(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{heading}:", *(f"  {line}" for line in lines)])


def _loud(file: Path) -> list[str]:
    if not file.exists():
        return []
    lines = file.read_text(errors="replace").splitlines()
    return [line for line in lines if any(mark in line for mark in LOUD)][-LINES_MAX:]
