"""Reads the logs on the disks of a simulated cluster, as they lie there, without taking time."""

from __future__ import annotations

from collections.abc import Iterator

from broker.engine.replica import Replica
from protocol.ids import TopicPartition
from simulation.core.samples import EpochBegin, LogSample, ProducerSample
from simulation.sampling.logs import Holding, logs_below
from simulation.world.cluster import SimCluster
from simulation.world.node import BrokerNode


def sample_logs(cluster: SimCluster) -> list[LogSample]:
    """Return every current and future log; records only of those whose broker leads."""
    return [log for node in cluster.brokers.values() for log in _logs(node)]


def _logs(node: BrokerNode) -> Iterator[LogSample]:
    engine = None if node.broker is None else node.broker.broker_control.engine
    state = None if engine is None else engine.state
    holdings: dict[TopicPartition, Holding] = {}
    if state is not None:
        for tp, replica in state.hosted.iterate_online():
            partition = replica.partition
            holdings[tp] = Holding(
                replica.log_dir,
                partition.is_leader,
                partition.high_watermark,
                partition.log_start_offset,
                _producers(replica),
                tuple(EpochBegin(*entry) for entry in partition.epochs.entries),
            )
    for path, drive in node.drives.items():
        is_online = state is not None and state.log_dirs[path].is_online
        yield from logs_below(node.id, path, drive.disk.memory, holdings if is_online else None)


def _producers(replica: Replica) -> tuple[ProducerSample, ...]:
    return tuple(
        ProducerSample(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.transaction_first_offset,
        )
        for entry in replica.partition.producers.states.snapshot_entries()
    )
