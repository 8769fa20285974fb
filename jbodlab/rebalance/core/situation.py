"""What a plan is made from: log dirs and where the replicas of each partition lie.

Values only; it asks no cluster and weighs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from protocol.ids import TopicPartition

UNKNOWN_PATH: Final = ""


class LogDirId(NamedTuple):
    """One log dir of the cluster."""

    broker: int
    path: str
    """UNKNOWN_PATH for a replica of which no log dir is told, as when its broker is down."""

    def __str__(self) -> str:
        return f"{self.broker}:{self.path or '(unknown)'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """One log dir and whether it can take replicas."""

    id: LogDirId
    rack: str = ""
    """Of its broker; "" when there is none."""
    is_online: bool = True
    is_cordoned: bool = False
    total_bytes: int = -1
    """Of its disk; -1 unknown."""
    usable_bytes: int = -1
    """Free on its disk; -1 unknown."""

    @property
    def accepts(self) -> bool:
        """Whether Kafka would put a replica there."""
        return self.is_online and not self.is_cordoned


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One replica: where it lies and how large it is there."""

    at: LogDirId
    size_bytes: int
    is_online: bool = True
    coming_bytes: int = 0
    """What of it is still to be copied to there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition with its replicas, the preferred leader first."""

    tp: TopicPartition
    replicas: tuple[Replica, ...]
    leader: int = -1
    write_rate: float = 0.0
    """Bytes per second that each replica takes; 0 when nobody measured."""
    becoming: tuple[Replica, ...] = ()
    """What its replicas will be, when it is being reassigned or one of them is being moved."""

    @property
    def is_changing(self) -> bool:
        """Whether it is being reassigned or a replica of it is being moved."""
        return bool(self.becoming)

    @property
    def is_whole(self) -> bool:
        """Whether every replica is online and somebody leads."""
        return self.leader >= 0 and all(replica.is_online for replica in self.replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A cluster at one moment."""

    log_dirs: tuple[LogDir, ...]
    partitions: tuple[Partition, ...]

    def settled(self) -> Situation:
        """Return it with replicas where they will be when what is under way is complete."""
        return replace(
            self,
            partitions=tuple(
                replace(each, replicas=each.becoming or each.replicas) for each in self.partitions
            ),
        )

    def log_dirs_of(self, broker: int) -> tuple[LogDir, ...]:
        """Return the log dirs of one broker, in their order."""
        return tuple(each for each in self.log_dirs if each.id.broker == broker)
