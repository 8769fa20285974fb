"""Which replica a consumer should read from: one in its own rack, if it has what is asked.

The leader is asked first and answers with the choice; it reads no log then.
Source: ReplicaManager.scala findPreferredReadReplica, RackAwareReplicaSelector.java, KIP-392.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from broker.core.partition import Partition

NO_PREFERENCE: Final = -1
"""Read from the leader."""


def closest_replica(
    partition: Partition,
    *,
    client_rack: str,
    fetch_offset: int,
    rack_of: Callable[[int], str | None],
) -> int:
    """Return the replica to read from, or ``NO_PREFERENCE``.

    It is in the Isr, has ``fetch_offset`` in its log as of its last fetch, and is the most caught
    up of those in ``client_rack``. The leader wins when it is there itself. ``rack_of`` knows live
    brokers only: others have no rack.
    """
    if not client_rack or not partition.is_leader or rack_of(partition.broker_id) == client_rack:
        return NO_PREFERENCE
    candidates = [
        (follower.log_end_offset, follower.last_caught_up_ms, replica_id)
        for replica_id, follower in partition.followers.items()
        if replica_id in partition.isr.isr
        and follower.log_start_offset <= fetch_offset <= follower.log_end_offset
        and rack_of(replica_id) == client_rack
    ]
    return max(candidates)[2] if candidates else NO_PREFERENCE
