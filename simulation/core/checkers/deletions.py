"""Which records were meant to go: by DeleteRecords, with their topic, by retention or cleaning.

Whether more than those are gone is for `durability`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from protocol.ids import TopicPartition
from protocol.messages.topics import TO_HIGH_WATERMARK
from simulation.core.checkers.evidence import Evidence
from simulation.core.history import Function, Kind, Order
from simulation.core.samples import PartitionSample

_RETENTION: Final = ("retention.ms", "retention.minutes", "retention.hours", "retention.bytes")
EVERYTHING: Final = 2**63 - 1


@dataclass(slots=True)
class OrderedDeletions:
    """What orders and configurations allowed to go."""

    before: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    """Offsets below this one were to be deleted."""
    topics: dict[str, int] = field(default_factory=dict[str, int])
    """When the topic was last deleted, in us: what was written before is gone with it."""
    compacted: dict[str, None] = field(default_factory=dict[str, None])
    """Topics whose records may have been superseded by later ones of their key (`compaction`)."""
    retained: dict[str, None] = field(default_factory=dict[str, None])
    """Topics from which retention may have taken whatever is below the log's start."""

    def takes(self, tp: TopicPartition, offset: int, at_us: int) -> bool:
        """Tell whether a record at ``offset``, there since ``at_us``, may be below the start."""
        return (
            tp.topic in self.retained
            or offset < self.before.get(tp, 0)
            or self.took_topic(tp.topic, at_us)
        )

    def took_topic(self, topic: str, at_us: int) -> bool:
        """Tell whether the topic was deleted after ``at_us``."""
        return at_us <= self.topics.get(topic, -1)


def deletions_of(evidence: Evidence) -> OrderedDeletions:
    """Read orders that were carried out, or may have been, and the configurations of topics."""
    found = OrderedDeletions()
    for operation in evidence.history:
        order = operation.value
        if not isinstance(order, Order) or operation.kind in (Kind.INVOKE, Kind.FAIL):
            continue
        if operation.function is Function.DELETE_TOPIC:
            # Unknown: it may happen at any later time.
            found.topics[order.topic] = operation.at_us if operation.kind is Kind.OK else EVERYTHING
        elif operation.function is Function.DELETE_RECORDS:
            tp = TopicPartition(order.topic, order.partition)
            before = EVERYTHING if order.offset == TO_HIGH_WATERMARK else order.offset
            found.before[tp] = max(before, found.before.get(tp, 0))
    _note_when_gone(found, evidence)
    for sample in evidence.samples.topics:
        if "compact" in sample.configs.get("cleanup.policy", ""):
            found.compacted[sample.topic] = None
        if any(name in sample.configs for name in _RETENTION):
            found.retained[sample.topic] = None
    return found


def _note_when_gone(found: OrderedDeletions, evidence: Evidence) -> None:
    """Note until when topics were served that were deleted, or lost with a journal's end."""
    samples = evidence.samples
    for sample in samples.partitions:
        # A journal from before the order makes it anew, empty and by the same id (seed 1065562).
        if sample.is_gone and sample.tp.topic in found.topics:
            known_us = found.topics[sample.tp.topic]
            found.topics[sample.tp.topic] = max(sample.at_us, known_us)
    for topic, gone_us in renewals(samples.partitions):
        was_lost = any(edited_us <= gone_us for edited_us in samples.journal_edits_us)
        if topic in found.topics or was_lost:
            found.topics[topic] = max(gone_us, found.topics.get(topic, 0))


def renewals(samples: Sequence[PartitionSample]) -> Iterator[tuple[str, int]]:
    """Give (topic, when) where another one of its name was seen first.

    The order is answered when it is queued; until a reassignment has ended, clients may go on.
    """
    ids: dict[str, bytes] = {}
    for sample in samples:
        if ids.get(sample.tp.topic, sample.topic_id) != sample.topic_id:
            yield sample.tp.topic, sample.at_us
        ids[sample.tp.topic] = sample.topic_id
