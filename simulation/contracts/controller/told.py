"""What an event's work has decided and told so far, for promises about it. It has none itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controller.core.effects import Answer
from controller.core.records import Leadership, LeadershipChanged, Record
from controller.core.step import Step
from protocol.ids import TopicPartition


# Any: one of Kafka's responses.
def answer_of(step: Step, token: int) -> Any:
    """Return what is answered to the one who waits under this token, now or later; None: nothing.

    If brokers that are not told in time make another answer, this is the one in time.
    """
    held = (each.done for each in step.run.waiting)
    for each in (*step.effects, *held):
        if isinstance(each, Answer) and each.token == token:
            return each.response
    return None


def led_changes(records: Iterable[Record]) -> dict[TopicPartition, Leadership]:
    """Return the leaderships that records decide."""
    return {
        TopicPartition(change.topic, change.partition): change
        for record in records
        if isinstance(record, LeadershipChanged)
        for change in record.changes
    }
