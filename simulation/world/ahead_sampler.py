"""Watches what one broker keeps for its next start: high watermarks, and how far it compacted.

Only what is larger than it may be by now is written down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from broker.engine.engine import Engine
from broker.engine.replica import Replica
from protocol.ids import TopicPartition
from simulation.core.samples import AheadSample, Samples
from simulation.world.node import BrokerNode


class AheadSampler:
    """What is known of one broker."""

    def __init__(self, node: BrokerNode, samples: Samples) -> None:
        self._node = node
        self._samples = samples
        self._written: dict[str, Mapping[TopicPartition, int]] = {}
        """Log dir -> the checkpoint that was looked at last."""
        self._compacted: dict[tuple[str, TopicPartition], int] = {}

    def look(self, now_us: int) -> None:
        """Look at what is new."""
        broker = self._node.broker
        engine = None if broker is None else broker.broker_control.engine
        if engine is not None:
            self._look_at_checkpoints(engine, now_us)
            self._look_at_compaction(engine, now_us)

    def _look_at_checkpoints(self, engine: Engine, now_us: int) -> None:
        for path in engine.state.log_dirs:
            written = engine.checkpoints.written_high_watermarks(path)
            if written is None or written is self._written.get(path):
                continue
            self._written[path] = written
            for tp, offset in written.items():
                replica = engine.state.hosted.online_replica(tp)
                if replica is not None and replica.log_dir == path:
                    bound = replica.partition.high_watermark
                    self._note(now_us, replica, "high watermark", offset, bound)

    def _look_at_compaction(self, engine: Engine, now_us: int) -> None:
        offsets = engine.state.cleaner_offsets
        for tp, replica in engine.state.hosted.iterate_online():
            path = replica.log_dir
            offset = offsets.get(path, tp)
            if offset is None or offset == self._compacted.get((path, tp)):
                continue
            self._compacted[path, tp] = offset
            bound = replica.partition.last_stable_offset
            self._note(now_us, replica, "compacted", offset, bound)

    def _note(
        self,
        now_us: int,
        replica: Replica,
        what: Literal["high watermark", "compacted"],
        offset: int,
        bound: int,
    ) -> None:
        if offset > bound:
            high_watermark = replica.partition.high_watermark
            self._samples.ahead.append(
                AheadSample(now_us, self._node.id, replica.tp, what, offset, bound, high_watermark)
            )
