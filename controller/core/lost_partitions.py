"""Partitions that a journal lost with its end, and that somebody adds anew: their logs are there.

Brokers hold their replicas, and what those have was acknowledged. New, empty logs would have them
cut. So nobody leads until all brokers have told of their logs; who has the longest one goes on.
Kafka has no such case: its journal is replicated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.core import catch_up, startup
from controller.core.partition_moves import elect_leaderless, write_leaderships
from controller.core.state import INITIAL_PARTITION_EPOCH
from controller.core.step import Step
from controller.core.topics import start_partitions
from controller.core.unknown_replicas import first_leader_epoch
from protocol.ids import TopicPartition


def start_added(step: Step, tps: Sequence[TopicPartition]) -> None:
    """Bring partitions to life that were added to topics, those that were there before with it."""
    held = [tp for tp in tps if _is_held(step, tp)]
    start_partitions(step, [tp for tp in tps if tp not in held])
    if held:
        _go_on(step, held)


def _is_held(step: Step, tp: TopicPartition) -> bool:
    topic_id = step.state.topics[tp.topic].topic_id
    told = [found[tp] for found in step.state.unknown_replicas.values() if tp in found]
    return any(one.topic_id == topic_id for one in told)


def _go_on(step: Step, tps: Sequence[TopicPartition]) -> None:
    awaiting = {
        tp: replace(
            step.state.partition(tp),
            leader_epoch=first_leader_epoch(step, tp),
            partition_epoch=INITIAL_PARTITION_EPOCH - 1,
        )
        for tp in tps
    }
    write_leaderships(step, awaiting)
    catch_up.settle(step)
    startup.set_phases(step, tps)
    elect_leaderless(step)
    batch = step.new_batch()
    for tp in tps:
        batch.add_leader_and_isr(step.state.partition(tp).replicas, tp, is_new=False)
    step.send_batch(batch)
