"""Brokers that refuse a topic for the log that they have of an older one of its name.

A journal that was restored from a copy has lost topics, and one that it lost is made anew by name.
A broker that was away then, or whose controller ended before it was told, leads or stands in the
Isr of the new one, and has a log of the old one. It does not set that aside by itself: of a topic
that was deleted, and made anew, behind what the journal has, its log is the newer one. Kafka has no
such case: its journal is replicated, and a broker's logs of topics that it lacks are strays.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.core.events import RequestAnswered
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition, listed
from protocol.messages.control import LeaderAndIsrResponse


def tell_as_new(step: Step, event: RequestAnswered) -> None:
    """Tell a broker that what it refused is new, where no lost decision can have deleted it.

    It keeps the older log as a stray, and makes the new one. Told once: what it was asked before
    it hears so it refuses, too.
    """
    told = step.run.told_as_new
    broker_id, broker_epoch = event.broker_id, event.broker_epoch
    tps = [tp for tp in _refused(step, event) if (broker_id, broker_epoch, tp) not in told]
    if not tps:
        return
    step.warn(
        f"broker {broker_id} has logs of older topics of the same names, which the journal lost: "
        f"{listed(tps)}; they stay as strays, and new ones are made"
    )
    told.update(((broker_id, broker_epoch, tp), None) for tp in tps)
    batch = step.new_batch()
    for tp in tps:
        batch.add_leader_and_isr((broker_id,), tp, is_new=True)
    step.send_batch(batch)


def _refused(step: Step, event: RequestAnswered) -> Iterator[TopicPartition]:
    response: LeaderAndIsrResponse = event.response
    hosted = step.state.hosted.get(event.broker_id, {})
    for answered in response.topics:
        name = step.state.topic_names.get(bytes(answered.topic_id))
        if name is None or not _is_newest(step, name):
            continue
        for error in answered.partition_errors:
            tp = TopicPartition(name, error.partition_index)
            if error.error_code == ErrorCode.INCONSISTENT_TOPIC_ID and tp in hosted:
                yield tp


def _is_newest(step: Step, name: str) -> bool:
    """Tell whether no lost decision can have deleted a topic, and made another one of its name."""
    is_behind = step.state.topics[name].decision > step.state.lost_after
    return is_behind and not step.state.is_being_deleted(name)
