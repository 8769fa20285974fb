"""Whose turn it is among restless clients: who waits for no answer, and is not silent."""

from __future__ import annotations

import asyncio

from protocol.admin.cluster import ClusterView
from protocol.errors import ErrorCode
from simulation.core.restless_members import KnownTopic


class Turn:
    """One client's; ``count`` is how many requests all of them have asked."""

    def __init__(self) -> None:
        self.asked: asyncio.Task[None] | None = None
        """What it asked last."""
        self.silent_until = 0

    @property
    def is_waiting(self) -> bool:
        """Whether it is yet to be answered."""
        return self.asked is not None and not self.asked.done()

    def is_free(self, count: int) -> bool:
        """Tell whether it may ask now."""
        return not self.is_waiting and self.silent_until <= count


def known_topics(view: ClusterView) -> dict[str, KnownTopic]:
    """Return the topics that metadata tell of, by name."""
    return {
        each.name: KnownTopic(each.topic_id, len(each.partitions))
        for each in view.topics
        if each.error is ErrorCode.NONE
    }
