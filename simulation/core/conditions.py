"""What can hold in a cluster, as values: conditions of ``until``, ``when``, ``expect``, ``holds``.

What is said of several partitions must hold for each. Judges nothing: ``simulation.core.judging``
does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from simulation.core.observation import NodeState
from simulation.core.references import (
    BrokerRef,
    CodeName,
    FaultRef,
    FileRef,
    LogDirRef,
    NodeRef,
    PartitionsRef,
    TopicRef,
    WorkloadRef,
)


@dataclass(frozen=True, slots=True)
class Led:
    """Somebody leads."""

    of: PartitionsRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """This broker leads."""

    of: PartitionsRef
    is_: BrokerRef


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderEpoch:
    """The leader epoch is this number, or lies between two."""

    of: PartitionsRef
    is_: int | None = None
    at_least: int | None = None
    at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Isr:
    """The Isr is exactly these brokers, in any order."""

    of: PartitionsRef
    are: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FullIsr:
    """Somebody leads, and every replica is in the Isr."""

    of: PartitionsRef


@dataclass(frozen=True, slots=True, kw_only=True)
class InIsr:
    """This broker is in the Isr."""

    of: PartitionsRef
    broker: BrokerRef


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineReplicas:
    """The offline replicas are exactly these brokers, in any order."""

    of: PartitionsRef
    are: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """The replicas are these brokers, in this order."""

    of: PartitionsRef
    are: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicExists:
    """The metadata has this topic."""

    topic: TopicRef


@dataclass(frozen=True, slots=True)
class Reassigning:
    """A reassignment is under way, of at least one of these partitions."""

    of: PartitionsRef


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirIs:
    """DescribeLogDirs shows this log dir so."""

    broker: BrokerRef
    log_dir: LogDirRef
    state: Literal["online", "offline", "cordoned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaIn:
    """The broker's current replica lies in this log dir; without ``log_dir``: in any."""

    of: PartitionsRef
    broker: BrokerRef
    log_dir: LogDirRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FutureReplica:
    """The broker has a future replica in this log dir; without ``log_dir``: in any.

    Its lag, in offsets behind the current replica, is this number, or lies between two.
    """

    of: PartitionsRef
    broker: BrokerRef
    log_dir: LogDirRef | None = None
    lag: int | None = None
    """-1: there is no current replica to compare with."""
    lag_at_least: int | None = None
    lag_at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """ListOffsets answers these for the leader's log."""

    of: PartitionsRef
    earliest: int | None = None
    earliest_at_least: int | None = None
    latest: int | None = None
    latest_at_least: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A workload's number of records is this, or lies between two.

    ``more`` counts from when the step began to look.
    """

    workload: WorkloadRef
    what: Literal["acknowledged", "read", "errors"] = "acknowledged"
    is_: int | None = None
    at_least: int | None = None
    at_most: int | None = None
    more: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSeen:
    """A workload was answered with this code."""

    workload: WorkloadRef
    code: CodeName


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIs:
    """A process is in this state; ``exit_code`` is that of its last end."""

    node: NodeRef
    state: NodeState
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of a broker, named as in ``GET /metrics``, is this, or lies between two."""

    broker: BrokerRef
    name: str
    is_: float | None = None
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultHits:
    """A fault has changed so many operations."""

    fault: FaultRef
    at_least: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIn:
    """A log dir holds such a file or directory, whether or not its broker runs."""

    broker: BrokerRef
    log_dir: LogDirRef
    name: FileRef
    """It may be a pattern with ``*`` and ``?``; ``*`` stands for slashes too."""
    text: str | None = None
    """A part of what it holds; for small text files."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """Each of these holds."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of these holds."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """This does not hold."""

    condition: Condition


Condition: TypeAlias = (
    Led
    | Leader
    | LeaderEpoch
    | Isr
    | FullIsr
    | InIsr
    | OfflineReplicas
    | Replicas
    | TopicExists
    | Reassigning
    | LogDirIs
    | ReplicaIn
    | FutureReplica
    | Offsets
    | Count
    | ErrorSeen
    | NodeIs
    | Metric
    | FaultHits
    | FileIn
    | AllOf
    | AnyOf
    | Not
)
