"""Which replicas copied what another disk wrote to a wrong place, and get no further with it.

No CRC covers a batch's offset or leader epoch, and a whole batch of another log has a good one: who
fetches from a leader whose disk wrote elsewhere takes it along. Under the next leader, which has
other batches at these offsets, such a follower stays out of the Isr for good, as Kafka's does
(``UnexpectedAppendOffsetException``: the partition is marked as failed). It may not cut itself
off what it has, for its leader may be the one whose disk is wrong. Only an empty disk helps.
"""

from __future__ import annotations

from protocol.ids import TopicPartition
from simulation.core.health import left_behind
from simulation.core.observation import LogDirName, Observation


class Copies:
    """What to look at where disks that wrote to wrong places were replaced."""

    def __init__(self, patience_ms: int) -> None:
        """Give followers ``patience_ms`` to come into the Isr, after each replacement."""
        self._patience_ms = patience_ms
        self._struck: dict[TopicPartition, None] = {}
        """Partitions with a replica on a disk that was replaced: what is copied is theirs."""
        self._renewed: dict[LogDirName, None] = {}
        """Once each: who stays behind with an empty disk has no copy that would be why."""
        self._waits_from_ms = 0

    def note_replaced(self, log_dir: LogDirName, seen: Observation, now_ms: int) -> None:
        """Note that a disk is another one now; ``seen`` is from before."""
        self._renewed[log_dir] = None
        self._waits_from_ms = now_ms
        held = seen.log_dirs.get(log_dir)
        if held is not None:
            self._struck |= dict.fromkeys(held.replicas)

    def due(self, seen: Observation, now_ms: int) -> tuple[LogDirName, ...]:
        """Return the log dirs of such copies that are to be replaced, too."""
        if now_ms - self._waits_from_ms <= self._patience_ms:
            return ()
        behind = [(broker, tp) for broker, tp in left_behind(seen) if tp in self._struck]
        return tuple(
            log_dir
            for log_dir, held in seen.log_dirs.items()
            if log_dir not in self._renewed
            and any(log_dir[0] == broker and tp in held.replicas for broker, tp in behind)
        )
