"""What a broker tells a controller whose journal is behind: its online replicas, as it knows them.

It asks no disk.
"""

from __future__ import annotations

from broker.core.partition import Partition
from broker.engine.state import EngineState
from protocol.ids import TopicPartition
from protocol.messages.journal import ReportedReplica, ReportedTopic


def reported_topics(state: EngineState) -> list[ReportedTopic]:
    """Return every current log that is online, those too that no LeaderAndIsr has named yet."""
    replicas: dict[tuple[str, bytes], list[ReportedReplica]] = {}
    for tp, replica in state.hosted.iterate_online():
        reported = _reported(tp, replica.partition)
        replicas.setdefault((tp.topic, replica.topic_id), []).append(reported)
    for tp, idle in state.hosted.iterate_idle():
        reported = _reported(tp, idle.positions)
        replicas.setdefault((tp.topic, idle.topic_id), []).append(reported)
    return [
        ReportedTopic(name=name, topic_id=topic_id, replicas=rows)
        for (name, topic_id), rows in replicas.items()
    ]


def _reported(tp: TopicPartition, partition: Partition) -> ReportedReplica:
    return ReportedReplica(
        partition=tp.partition,
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr.isr),
        partition_epoch=partition.isr.partition_epoch,
        replicas=list(partition.replicas),
        adding_replicas=list(partition.adding_replicas),
        removing_replicas=list(partition.removing_replicas),
        log_epoch=partition.epochs.latest,
        log_end_offset=partition.log_end_offset,
    )
