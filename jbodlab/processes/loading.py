"""Watches brokers load their log dirs while they are waited for: asks each control endpoint.

It waits for nothing itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from jbodlab.asking.control import ControlClient
from jbodlab.errors import LabError

ASK_EVERY_MS: Final = 500
Remaining = Mapping[str, Mapping[str, int]]


class LoadingWatch:
    """Tells what is still to be loaded; call it as often as you like."""

    def __init__(
        self, clients: Sequence[ControlClient], show: Callable[[str], None], *, every_ms: int
    ) -> None:
        """``show`` gets a line whenever something is being loaded and was not said already."""
        self._clients = clients
        self._show = show
        self._every_s = every_ms / 1000
        self._asked_s = time.monotonic()
        self._shown = ""

    def __call__(self) -> bool:
        """Ask, when it is time; tell whether the loading got on since the last time."""
        now_s = time.monotonic()
        if now_s - self._asked_s < self._every_s:
            return False
        self._asked_s = now_s
        words = "; ".join(filter(None, map(self._words, self._clients)))
        if words in {"", self._shown}:
            return False
        self._shown = words
        self._show(words)
        return True

    @staticmethod
    def _words(client: ControlClient) -> str:
        try:
            remaining: Remaining = client.status().get("loading", {})
        except LabError:
            return ""  # Not up yet, or ended: who waits for it will say so.
        words = loading_words(remaining)
        return f"broker {client.broker_id} loads {words}" if words else ""


def loading_words(remaining: Remaining) -> str:
    """Return what is still to be loaded in each log dir; empty when that is nothing."""
    return ", ".join(
        f"{path}: {_count(left['logs'], 'log')}"
        + (f" and {_count(left['segments'], 'segment')} of one" if left["segments"] else "")
        for path, left in remaining.items()
        if left["logs"]
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
