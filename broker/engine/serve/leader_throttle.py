"""The leader's replication quota: how much a follower may be given of a throttled partition.

Source: ReplicaManager.scala shouldLeaderThrottle, KIP-73.
"""

from __future__ import annotations

from broker.core.partition import Partition
from broker.engine.state import EngineState
from protocol.ids import BrokerId

WAITS = -1
"""Nothing may be given now."""


class LeaderThrottle:
    """Asks and feeds the quota of what this broker serves to followers."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._quota = state.quotas.leader

    def most_bytes(self, partition: Partition, replica_id: int, max_bytes: int) -> int:
        """Return how much a follower may get at most, or ``WAITS``.

        Replicas in the Isr count but never wait: they would leave it.
        """
        if BrokerId(replica_id) in partition.isr.isr or not self._quota.is_limited:
            return max_bytes
        if self._quota.is_exceeded(self._state.now_ms()):
            return WAITS
        return min(max_bytes, self._quota.burst_bytes)

    def count(self, size_bytes: int) -> None:
        """Count bytes given, or taken back when negative."""
        self._quota.record(size_bytes, self._state.now_ms())

    def wait_s(self) -> float:
        """Return after how long it is worth asking again."""
        return self._quota.wait_ms(self._state.now_ms()) / 1000
