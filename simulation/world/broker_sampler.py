"""Watches the engine of one simulated broker: its replicas, its log dirs, its queues.

It reads attributes and compares; only what changed costs more.
"""

from __future__ import annotations

from typing import Final

from broker.core.partition import Partition
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from protocol.ids import NO_EPOCH, NO_OFFSET
from simulation.core.samples import LogDirSample, ObeyedSample, ReplicaSample, Role, Samples
from simulation.sampling.sample_writer import SampleWriter
from simulation.world.ahead_sampler import AheadSampler
from simulation.world.node import BrokerNode
from simulation.world.process import Process

_GAUGES_EVERY: Final = 16
"""Looks at the queues are this many times as rare."""


class BrokerSampler:
    """What is known of one broker."""

    def __init__(self, node: BrokerNode, samples: Samples) -> None:
        self._node = node
        self._samples = samples
        self._writer = SampleWriter(node.id, samples)
        self._ahead = AheadSampler(node, samples)
        self._obeyed: ObeyedSample | None = None
        self._looks = 0
        self._seen: tuple[Process | None, int] = (None, 0)
        """Whose steps were looked at last, and when the last one of them was over."""

    def look(self, now_us: int) -> None:
        """Write down what changed."""
        state = self._state()
        if state is None:
            self._all_gone(now_us)
            return
        if self._has_made_steps():
            self._look_at_log_dirs(state, now_us)
            self._look_at_replicas(state, now_us)
            self._look_at_controller_epoch(state, now_us)
            self._ahead.look(now_us)
        self._looks += 1
        if self._looks % _GAUGES_EVERY == 0:
            self._look_at_gauges(state, now_us)

    def _has_made_steps(self) -> bool:
        """Tell whether its process did anything since it was asked last: else nothing changed."""
        process = self._node.process
        before, self._seen = self._seen, (process, 0 if process is None else process.free_at_us)
        return process is None or before != self._seen

    def _state(self) -> EngineState | None:
        broker = self._node.broker
        engine = None if broker is None else broker.broker_control.engine
        return None if engine is None else engine.state

    def _all_gone(self, now_us: int) -> None:
        for tp in list(self._writer.replicas):
            self._writer.replica_gone(tp, now_us)
        self._writer.log_dirs.clear()

    def _look_at_log_dirs(self, state: EngineState, now_us: int) -> None:
        written = self._writer.log_dirs
        for path, log_dir in state.log_dirs.items():
            is_online = log_dir.is_online or log_dir.is_closed
            is_cordoned = state.log_dir_states.is_cordoned(path)
            last = written.get(path)
            if last is None or (last.is_online, last.is_cordoned) != (is_online, is_cordoned):
                sample = LogDirSample(now_us, self._node.id, path, is_online, is_cordoned)
                self._writer.log_dir(sample)

    def _look_at_replicas(self, state: EngineState, now_us: int) -> None:
        writer = self._writer
        written = writer.replicas
        count = 0
        for tp, replica in state.hosted.iterate_online():
            count += 1
            last = written.get(tp)
            if last is None or not _is_as(last, replica):
                writer.replica(_sample(now_us, self._node, replica))
        for tp, offline in state.hosted.iterate_offline():
            count += 1
            last = written.get(tp)
            if last is None or last.role is not Role.OFFLINE:
                boot = self._node.starts_count
                writer.replica(writer.offline_replica(tp, offline.log_dir, boot, now_us))
        if count < len(written):
            self._note_gone(state, now_us)

    def _look_at_controller_epoch(self, state: EngineState, now_us: int) -> None:
        boot, epoch = self._node.starts_count, state.controller_epoch
        if self._obeyed is None or self._obeyed[2:] != (boot, epoch):
            self._obeyed = ObeyedSample(now_us, self._node.id, boot, epoch)
            self._samples.obeyed.append(self._obeyed)

    def _note_gone(self, state: EngineState, now_us: int) -> None:
        hosted = {tp: None for tp, _ in state.hosted.iterate_online()}
        hosted.update((tp, None) for tp, _ in state.hosted.iterate_offline())
        for tp in list(self._writer.replicas):
            if tp not in hosted:
                self._writer.replica_gone(tp, now_us)

    def _look_at_gauges(self, state: EngineState, now_us: int) -> None:
        for path, log_dir in state.log_dirs.items():
            queue = log_dir.queue
            self._writer.queue(
                path, queue.queue_depth, queue.queue_depth_max, queue.queued_bytes, now_us
            )
        tails = state.tails
        self._writer.gauge("bytes of tails", tails.size_bytes, tails.total_bytes_max, now_us)


def _is_as(last: ReplicaSample, replica: Replica) -> bool:
    partition = replica.partition
    return (
        last.high_watermark == partition.high_watermark
        and last.log_end_offset == partition.log_end_offset
        and last.leader_epoch == partition.leader_epoch
        and (last.role is Role.LEADER) == partition.is_leader
        and last.role is not Role.OFFLINE
        and last.log_dir == replica.log_dir
        and last.log_start_offset == partition.log_start_offset
        and last.isr == (partition.isr.isr if partition.is_leader else ())
        and last.topic_id == replica.topic_id
        and last.last_stable_offset == _stable_offset(partition)
    )


def _sample(now_us: int, node: BrokerNode, replica: Replica) -> ReplicaSample:
    partition = replica.partition
    return ReplicaSample(
        now_us,
        node.id,
        node.starts_count,
        replica.tp,
        Role.LEADER if partition.is_leader else Role.FOLLOWER,
        replica.topic_id,
        replica.log_dir,
        partition.leader_epoch,
        partition.log_start_offset,
        partition.log_end_offset,
        partition.high_watermark,
        partition.isr.isr if partition.is_leader else (),
        replica.log.files.size_bytes,
        partition.next_offset,
        _stable_offset(partition),
        partition.isr.partition_epoch if partition.is_leader else NO_EPOCH,
    )


def _stable_offset(partition: Partition) -> int:
    return partition.last_stable_offset if partition.is_leader else NO_OFFSET
