"""What a run sees of its cluster at one moment: plain values, however they were asked for.

Asks nobody and judges nothing (``simulation.core.judging`` does).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from protocol.ids import TopicPartition

NodeState: TypeAlias = Literal["running", "stopped", "paused"]
LogDirName: TypeAlias = tuple[int, str]
"""A broker and the name that its log dir has in the plan, such as ``(1, "d2")``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPartition:
    """One partition in the metadata of one broker."""

    leader: int
    """-1: nobody leads."""
    leader_epoch: int
    replicas: tuple[int, ...]
    """The preferred leader first."""
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedReplica:
    """One replica, current or future, in DescribeLogDirs."""

    size_bytes: int
    offset_lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedLogDir:
    """One log dir in DescribeLogDirs."""

    error: str
    """Kafka's name of the code, NONE for one that is online."""
    is_cordoned: bool = False
    replicas: Mapping[TopicPartition, ObservedReplica] = field(
        default_factory=dict[TopicPartition, ObservedReplica]
    )
    futures: Mapping[TopicPartition, ObservedReplica] = field(
        default_factory=dict[TopicPartition, ObservedReplica]
    )
    """Future replicas: what moves into this log dir."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedOffsets:
    """What ListOffsets answers for one partition."""

    earliest: int
    latest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedWorkload:
    """What one workload has done since it began."""

    acknowledged: int = 0
    """Records that were answered without an error."""
    read: int = 0
    """Records that came to a consumer."""
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """Kafka's name of the code (or of what befell the connection) -> how often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedNode:
    """One process of the cluster."""

    state: NodeState
    exit_code: int | None = None
    """Of the last end, if it ended by itself or was stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at all that was asked for; what was not asked for, or not answered, is absent."""

    now_ms: int
    metadata: Mapping[int, Mapping[TopicPartition, ObservedPartition]] = field(
        default_factory=dict[int, Mapping[TopicPartition, ObservedPartition]]
    )
    """By the broker that answered; brokers may disagree for a while."""
    log_dirs: Mapping[LogDirName, ObservedLogDir] = field(
        default_factory=dict[LogDirName, ObservedLogDir]
    )
    reassigning: tuple[TopicPartition, ...] | None = None
    """None: not asked, or nobody answered."""
    offsets: Mapping[TopicPartition, ObservedOffsets] = field(
        default_factory=dict[TopicPartition, ObservedOffsets]
    )
    workloads: Mapping[str, ObservedWorkload] = field(default_factory=dict[str, ObservedWorkload])
    files: Mapping[LogDirName, Mapping[str, str]] = field(
        default_factory=dict[LogDirName, Mapping[str, str]]
    )
    """Names of files and directories below a log dir -> text, "" for what is no small text."""
    nodes: Mapping[str, ObservedNode] = field(default_factory=dict[str, ObservedNode])
    metrics: Mapping[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    """(node, name of the metric with its labels as in the text that brokers serve) -> value."""
    fault_hits: Mapping[str, int] = field(default_factory=dict[str, int])
    """By the name that the plan gave the fault; cleared ones stay with what they had."""
