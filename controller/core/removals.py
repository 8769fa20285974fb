"""Sees that replicas which a reassignment took from a broker are deleted there, however late.

A broker that was dead, or whose log dir was broken, is told again when it starts or registers the
log dir again. Differs from Kafka, where such a replica stays on the disk for ever (KAFKA-10548,
KAFKA-13198). It deletes no topics (``deletion``).
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.core.events import RequestAnswered
from controller.core.hosting import drop
from controller.core.reassignment_records import RemovalsConfirmed
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import StopReplicaResponse


def note_begun(step: Step, tp: TopicPartition, broker_id: int) -> None:
    """Note what the broker was sent before a replica was taken from it.

    A replica that is added, taken away, added and taken away again has two StopReplicas under way;
    the answer to the first one says nothing of what the broker made between them.
    """
    progress = step.run.channels.get(broker_id)
    if progress is not None:
        step.run.asked_before_removal.setdefault(broker_id, {})[tp] = progress.sent


def tell_again(step: Step, broker_ids: Iterable[int]) -> None:
    """Have brokers delete what they have not confirmed to be gone."""
    batch = step.new_batch()
    for broker_id in broker_ids:
        for tp in step.state.removed.get(broker_id, ()):
            batch.add_stop_replica(broker_id, tp, delete=True)
    step.send_batch(batch)


def stop_replica_answered(step: Step, event: RequestAnswered) -> None:
    """Note the removals that the broker confirms."""
    removed = step.state.removed.get(event.broker_id)
    if not removed:
        return
    before = step.run.asked_before_removal.get(event.broker_id, {})
    due = {tp: None for tp in removed if tp not in before or event.sequence > before[tp]}
    gone = tuple(tp for tp in _deleted(event) if tp in due)
    if gone:
        step.change(RemovalsConfirmed(event.broker_id, gone))
    for tp in gone:
        drop(step.run.asked_before_removal, event.broker_id, tp)
    _insist(step, event.broker_id, [tp for tp in _fenced(event) if tp in due])


def _insist(step: Step, broker_id: int, fenced: Iterable[TopicPartition]) -> None:
    """Have replicas deleted whatever their leader epoch is.

    They are of a topic that was deleted while their broker was away: the one that was made anew
    under its name has lower leader epochs.
    """
    batch = step.new_batch()
    for tp in fenced:
        batch.add_stop_replica(broker_id, tp, delete=True, of_any_epoch=True)
    step.send_batch(batch)


def _fenced(event: RequestAnswered) -> list[TopicPartition]:
    """Return what was not stopped, as the broker knows a newer leader epoch of it."""
    response: StopReplicaResponse = event.response
    return [
        TopicPartition(error.topic_name, error.partition_index)
        for error in response.partition_errors
        if error.error_code == ErrorCode.FENCED_LEADER_EPOCH
    ]


def _deleted(event: RequestAnswered) -> list[TopicPartition]:
    """Return what was to be deleted and is."""
    response: StopReplicaResponse = event.response
    if response.error_code != ErrorCode.NONE:
        return []
    kept = {
        TopicPartition(error.topic_name, error.partition_index): None
        for error in response.partition_errors
        if error.error_code != ErrorCode.NONE
    }
    asked = (
        (TopicPartition(topic.topic_name, state.partition_index), state)
        for topic in event.request.topic_states
        for state in topic.partition_states
    )
    return [tp for tp, state in asked if state.delete_partition and tp not in kept]
