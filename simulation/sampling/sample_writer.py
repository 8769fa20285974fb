"""Writes the samples of one broker, in both worlds: what changed, and the most of each gauge.

It looks at nothing: who does hands over what was seen.
"""

from __future__ import annotations

from broker.storage.disk_queue import QUEUED_BYTES_MAX
from protocol.faults.model import broker_node
from protocol.framing import FRAME_SIZE_BYTES_MAX
from protocol.ids import TopicPartition
from simulation.core.samples import GaugeSample, LogDirSample, ReplicaSample, Role, Samples


class SampleWriter:
    """What was written of one broker."""

    def __init__(self, broker: int, samples: Samples) -> None:
        self.replicas: dict[TopicPartition, ReplicaSample] = {}
        """Those that are not gone, as they were written last."""
        self.log_dirs: dict[str, LogDirSample] = {}
        """By path, as they were written last."""
        self._broker = broker
        self._node = broker_node(broker)
        self._samples = samples
        self._gauges: dict[str, int] = {}
        """Name -> where it is in the samples."""

    def replica(self, sample: ReplicaSample) -> None:
        """Write how a replica is now."""
        self.replicas[sample.tp] = sample
        self._samples.replicas.append(sample)

    def replica_gone(self, tp: TopicPartition, now_us: int) -> None:
        """Write that a replica which was written is not there any more."""
        last = self.replicas.pop(tp)
        self._samples.replicas.append(last._replace(at_us=now_us, role=Role.GONE, isr=()))

    def offline_replica(
        self, tp: TopicPartition, log_dir: str | None, boot: int, now_us: int
    ) -> ReplicaSample:
        """Return an offline replica with what else was written of it; it is not written here."""
        before = self.replicas.get(tp) or ReplicaSample(
            now_us, self._broker, boot, tp, Role.OFFLINE
        )
        return before._replace(
            at_us=now_us, boot=boot, role=Role.OFFLINE, log_dir=log_dir or before.log_dir, isr=()
        )

    def log_dir(self, sample: LogDirSample) -> None:
        """Write how a log dir is now, unless that is known."""
        last = self.log_dirs.get(sample.path)
        if last is None or last._replace(at_us=sample.at_us) != sample:
            self.log_dirs[sample.path] = sample
            self._samples.log_dirs.append(sample)

    def queue(
        self, path: str, jobs_count: int, jobs_max: int, queued_bytes: int, now_us: int
    ) -> None:
        """Keep the most of what waits for a log dir.

        Its queue is asked before a request is read, so that the last one may pass its bounds.
        """
        self.gauge(f"jobs queued for {path}", jobs_count, 2 * jobs_max, now_us)
        bytes_max = QUEUED_BYTES_MAX + FRAME_SIZE_BYTES_MAX
        self.gauge(f"bytes queued for {path}", queued_bytes, bytes_max, now_us)

    def gauge(self, name: str, value: int, bound: int, now_us: int) -> None:
        """Keep the most of a gauge."""
        gauges = self._samples.gauges
        at = self._gauges.setdefault(name, len(gauges))
        if at == len(gauges):
            gauges.append(GaugeSample(now_us, self._node, name, value, bound))
        elif value > gauges[at].value:
            gauges[at] = GaugeSample(now_us, self._node, name, value, bound)
