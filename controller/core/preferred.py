"""Gives leadership back to preferred replicas from time to time, where too much of it is elsewhere.

Source: KafkaController.processAutoPreferredReplicaLeaderElection.
"""

from __future__ import annotations

from typing import Final

from controller.core.election import Strategy
from controller.core.partition_moves import bring_online
from controller.core.step import Step
from protocol.ids import TopicPartition

FIRST_BALANCE_AFTER_MS: Final = 5_000


def schedule_first_balance(step: Step) -> None:
    """Plan the first look after a start."""
    if step.defaults.auto_leader_rebalance_enable:
        step.run.balance_at_ms = step.now_ms + FIRST_BALANCE_AFTER_MS


def balance_when_due(step: Step) -> None:
    """Elect preferred leaders for brokers that lack more than the tolerated share; plan ahead."""
    due_ms = step.run.balance_at_ms
    if due_ms is None or step.now_ms < due_ms:
        return
    defaults = step.defaults
    step.run.balance_at_ms = step.now_ms + defaults.leader_imbalance_check_interval_seconds * 1000
    tolerated = defaults.leader_imbalance_per_broker_percentage / 100
    for broker_id, tps in _by_preferred(step).items():
        led_elsewhere = [tp for tp in tps if step.state.partition(tp).leader != broker_id]
        if len(led_elsewhere) / len(tps) > tolerated and step.state.is_live(broker_id):
            electable = [tp for tp in led_elsewhere if _can_lead(step, tp, broker_id)]
            bring_online(step, electable, Strategy.PREFERRED)


def _by_preferred(step: Step) -> dict[int, list[TopicPartition]]:
    by_broker: dict[int, list[TopicPartition]] = {}
    for tp in step.state.led_partitions():
        by_broker.setdefault(step.state.partition(tp).replicas[0], []).append(tp)
    return by_broker


def _can_lead(step: Step, tp: TopicPartition, broker_id: int) -> bool:
    partition = step.state.partition(tp)
    return (
        not partition.is_reassigning
        and broker_id in partition.isr
        and step.state.is_replica_online(tp, broker_id)
    )
