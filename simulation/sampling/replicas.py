"""Writes down what a broker says it holds, as it changes: replicas, log dirs, queues.

What it reads is an answer of the control endpoint (``GET /replicas``), each of one moment. Answers
of several brokers are not of one moment; how they are written lets them be compared all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from protocol.ids import TopicPartition, uuid_from_text
from simulation.core.samples import LogDirSample, ReplicaSample, Role, Samples
from simulation.sampling.logs import Holding
from simulation.sampling.sample_writer import SampleWriter


class ReplicaSampler:
    """What is known of one broker."""

    def __init__(self, broker: int, samples: Samples) -> None:
        self.holdings: dict[TopicPartition, Holding] = {}
        """Its online current logs, as of the last look."""
        self.online_log_dirs: dict[str, None] = {}
        """As of the last look."""
        self.led: dict[TopicPartition, tuple[int, tuple[int, ...]]] = {}
        """Leader epoch and Isr of what it leads, as of the last look."""
        self._broker = broker
        self._writer = SampleWriter(broker, samples)
        self._high_watermarks: dict[TopicPartition, int] = {}
        """As of the last look, which is one later than what is written."""
        self._looked_us = 0

    # Any: JSON.
    def look(self, answer: Mapping[str, Any], now_us: int, answered: Collection[int]) -> None:
        """Write down what changed.

        Args:
            answer: what the broker says.
            now_us: after every broker was asked.
            answered: the brokers that have answered since the look before.
        """
        self._look_at_log_dirs(answer["log_dirs"], now_us)
        self._look_at_gauges(answer, now_us)
        found = [self._online_sample(row, answer["pid"], now_us) for row in answer["replicas"]]
        self.holdings = {
            sample.tp: Holding(
                sample.log_dir,
                sample.role is Role.LEADER,
                sample.high_watermark,
                sample.log_start_offset,
            )
            for sample in found
        }
        self.led = {
            sample.tp: (sample.leader_epoch, sample.isr)
            for sample in found
            if sample.role is Role.LEADER
        }
        hosted = {sample.tp: self._lagging(sample, answered) for sample in found}
        for row in answer["offline_replicas"]:
            tp = _tp(row)
            hosted[tp] = self._writer.offline_replica(tp, row["log_dir"], answer["pid"], now_us)
        self._high_watermarks = {tp: held.high_watermark for tp, held in self.holdings.items()}
        self._write(hosted, now_us)
        self._looked_us = now_us

    def gone(self, now_us: int) -> None:
        """Write down that its process has ended."""
        self.holdings = {}
        self.online_log_dirs = {}
        self.led = {}
        self._high_watermarks = {}
        self._write({}, now_us)

    def _write(self, hosted: Mapping[TopicPartition, ReplicaSample], now_us: int) -> None:
        for tp, sample in hosted.items():
            before = self._writer.replicas.get(tp)
            if before is None or before._replace(at_us=now_us) != sample:
                self._writer.replica(sample)
        for tp in list(self._writer.replicas):
            if tp not in hosted:
                self._writer.replica_gone(tp, now_us)

    def _online_sample(self, row: Mapping[str, Any], boot: int, now_us: int) -> ReplicaSample:
        return ReplicaSample(
            now_us,
            self._broker,
            boot,
            _tp(row),
            Role.LEADER if row["role"] == "leader" else Role.FOLLOWER,
            uuid_from_text(row["topic_id"]),
            row["log_dir"],
            row["leader_epoch"],
            row["log_start_offset"],
            row["log_end_offset"],
            row["high_watermark"],
            tuple(row["isr"]),
        )

    def _lagging(self, sample: ReplicaSample, answered: Collection[int]) -> ReplicaSample:
        """Let a leader's high watermark be one look older than the logs it is compared with.

        It does not rise in the samples while a member of the Isr does not say where its log ends.
        """
        if sample.role is not Role.LEADER:
            return sample
        before = self._writer.replicas.get(sample.tp)
        is_same = (
            before is not None
            and before.role is Role.LEADER
            and (before.boot, before.leader_epoch, before.topic_id)
            == (sample.boot, sample.leader_epoch, sample.topic_id)
        )
        if before is None or not is_same:
            return sample._replace(high_watermark=0)
        latest = self._high_watermarks.get(sample.tp, 0)
        if not all(member in answered for member in sample.isr):
            latest = before.high_watermark
        return sample._replace(high_watermark=latest)

    def _look_at_log_dirs(self, rows: Collection[Mapping[str, Any]], now_us: int) -> None:
        """Begin an outage when it was seen, and end it when it was seen last."""
        self.online_log_dirs = {row["path"]: None for row in rows if row["is_online"]}
        for row in rows:
            path, is_online = row["path"], row["is_online"]
            seen = LogDirSample(now_us, self._broker, path, is_online, row["is_cordoned"])
            before = self._writer.log_dirs.get(path)
            is_back = is_online and before is not None and not before.is_online
            self._writer.log_dir(seen._replace(at_us=self._looked_us) if is_back else seen)

    def _look_at_gauges(self, answer: Mapping[str, Any], now_us: int) -> None:
        for row in answer["log_dirs"]:
            depth, depth_max = row["queue_depth"], row["queue_depth_max"]
            self._writer.queue(row["path"], depth, depth_max, row["queued_bytes"], now_us)
        tail_bytes, tail_bytes_max = answer["tail_bytes"], answer["tail_bytes_max"]
        self._writer.gauge("bytes of tails", tail_bytes, tail_bytes_max, now_us)


def _tp(row: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])
