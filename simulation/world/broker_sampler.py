"""Watches the engine of one simulated broker: its replicas, its log dirs, its queues.

It reads attributes and compares; only what changed costs more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.storage.disk_queue import QUEUED_BYTES_MAX
from protocol.framing import FRAME_SIZE_BYTES_MAX
from protocol.ids import TopicPartition
from simulation.core.samples import GaugeSample, LogDirSample, ReplicaSample, Role, Samples
from simulation.world.node import BrokerNode

_GAUGES_EVERY: Final = 16
"""Looks at the queues are this many times as rare."""


class BrokerSampler:
    """What is known of one broker."""

    def __init__(self, node: BrokerNode, samples: Samples) -> None:
        self._node = node
        self._samples = samples
        self._seen: dict[TopicPartition, ReplicaSample] = {}
        self._log_dirs: dict[str, tuple[bool, bool]] = {}
        """Path -> whether it is online, and cordoned."""
        self._gauges: dict[str, GaugeSample] = {}
        self._looks = 0

    def look(self, now_us: int) -> None:
        """Write down what changed."""
        state = self._state()
        if state is None:
            self._all_gone(now_us)
            return
        self._look_at_log_dirs(state, now_us)
        self._look_at_replicas(state, now_us)
        self._looks += 1
        if self._looks % _GAUGES_EVERY == 0:
            self._look_at_gauges(state, now_us)

    def _state(self) -> EngineState | None:
        broker = self._node.broker
        engine = None if broker is None else broker.broker_control.engine
        return None if engine is None else engine.state

    def _all_gone(self, now_us: int) -> None:
        for tp, last in list(self._seen.items()):
            self._write(last._replace(at_us=now_us, role=Role.GONE, isr=()))
            del self._seen[tp]
        self._log_dirs.clear()

    def _look_at_log_dirs(self, state: EngineState, now_us: int) -> None:
        for path, log_dir in state.log_dirs.items():
            is_online = log_dir.is_online or log_dir.is_closed
            seen = (is_online, state.log_dir_states.is_cordoned(path))
            if self._log_dirs.get(path) != seen:
                self._log_dirs[path] = seen
                self._samples.log_dirs.append(LogDirSample(now_us, self._node.id, path, *seen))

    def _look_at_replicas(self, state: EngineState, now_us: int) -> None:
        seen = self._seen
        count = 0
        for tp, replica in state.hosted.iterate_online():
            count += 1
            last = seen.get(tp)
            if last is None or not _is_as(last, replica):
                self._write(_sample(now_us, self._node, replica))
        for tp, offline in state.hosted.iterate_offline():
            count += 1
            last = seen.get(tp)
            if last is None or last.role is not Role.OFFLINE:
                before = last or ReplicaSample(now_us, self._node.id, 0, tp, Role.OFFLINE)
                self._write(
                    before._replace(
                        at_us=now_us,
                        boot=self._node.starts_count,
                        role=Role.OFFLINE,
                        log_dir=offline.log_dir or before.log_dir,
                        isr=(),
                    )
                )
        if count < len(seen):
            self._note_gone(state, now_us)

    def _note_gone(self, state: EngineState, now_us: int) -> None:
        hosted = {tp: None for tp, _ in state.hosted.iterate_online()}
        hosted.update((tp, None) for tp, _ in state.hosted.iterate_offline())
        for tp, last in list(self._seen.items()):
            if tp not in hosted:
                self._write(last._replace(at_us=now_us, role=Role.GONE, isr=()))
                del self._seen[tp]

    def _write(self, sample: ReplicaSample) -> None:
        self._seen[sample.tp] = sample
        self._samples.replicas.append(sample)

    def _look_at_gauges(self, state: EngineState, now_us: int) -> None:
        for name, value, bound in _gauges(state):
            most = self._gauges.get(name)
            if most is None:
                most = GaugeSample(now_us, self._node.name, name, value, bound)
                self._gauges[name] = most
                self._samples.gauges.append(most)
            elif value > most.value:
                at = self._samples.gauges.index(most)
                self._gauges[name] = most._replace(at_us=now_us, value=value)
                self._samples.gauges[at] = self._gauges[name]


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
    )


def _gauges(state: EngineState) -> Iterator[tuple[str, int, int]]:
    """Give name, value and bound.

    A log dir's queue is asked before a request is read, so that the last one may pass its bounds.
    """
    for path, log_dir in state.log_dirs.items():
        yield (
            f"jobs queued for {path}",
            log_dir.queue.queue_depth,
            2 * log_dir.queue.queue_depth_max,
        )
        bytes_max = QUEUED_BYTES_MAX + FRAME_SIZE_BYTES_MAX
        yield f"bytes queued for {path}", log_dir.queue.queued_bytes, bytes_max
    yield "bytes of tails", state.tails.size_bytes, state.tails.total_bytes_max
