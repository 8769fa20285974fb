"""What a plan does to a cluster, one value per kind of step. Does nothing by itself.

Actions that Kafka answers with an error code carry ``answers``: the code's name that each part of
the request must be answered with; any other ends the run as failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from protocol.faults.model import BrokerFault
from simulation.core.conditions import Condition
from simulation.core.journal_edits import JournalEdit
from simulation.core.references import (
    BrokerRef,
    CodeName,
    FaultRef,
    FileRef,
    LogDirRef,
    NewName,
    NewTopic,
    NodeRef,
    PartitionsRef,
    TopicRef,
    WorkloadRef,
)

FaultRule: TypeAlias = BrokerFault
"""What happens to a node is a kind of step of its own: Kill, Pause, SlowCpu, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Set a fault. It must meet something before the run ends."""

    name: NewName
    """Its ``id`` in a file."""
    rule: FaultRule
    """Where it meets what, and what it does; nodes and log dirs are named as in any step."""


@dataclass(frozen=True, slots=True)
class Clear:
    """Take a fault off; ``"*"`` takes off all."""

    fault: FaultRef
    once_met: bool = False
    """Not before it has met something; until then it stays, and the steps go on."""


@dataclass(frozen=True, slots=True)
class Kill:
    """End a process at once, as ``kill -9``: what the disk was given stays."""

    node: NodeRef


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop a process cleanly and wait for its end."""

    node: NodeRef


@dataclass(frozen=True, slots=True)
class Start:
    """Start a process that is down, and go on at once."""

    node: NodeRef


@dataclass(frozen=True, slots=True)
class PowerCut:
    """End a process and lose what it had not synced."""

    node: NodeRef


@dataclass(frozen=True, slots=True)
class Pause:
    """Let a process stand still, as SIGSTOP does."""

    node: NodeRef


@dataclass(frozen=True, slots=True)
class Resume:
    """Let a paused process go on."""

    node: NodeRef


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowCpu:
    """Let a process take so many times as long for everything; 1 ends it."""

    node: NodeRef
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewClock:
    """Put a process's wall clock this much ahead of the others', or behind."""

    node: NodeRef
    by_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    """Create a topic."""

    name: NewTopic
    partitions: int = 1
    replication_factor: int = 1
    assignment: tuple[tuple[int, ...], ...] = ()
    """The brokers of each partition, the preferred leader first; it replaces the two numbers."""
    log_dir: LogDirRef | None = None
    """Where every broker puts its replicas of it; None: where Kafka puts them."""
    configs: Mapping[str, str] = field(default_factory=dict[str, str])
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """Delete a topic."""

    name: TopicRef
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions:
    """Raise a topic's number of partitions."""

    topic: TopicRef
    to: int
    assignment: tuple[tuple[int, ...], ...] = ()
    """The brokers of each new partition."""
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReplica:
    """Order a broker to keep its replicas in this log dir (AlterReplicaLogDirs)."""

    of: PartitionsRef
    broker: BrokerRef
    to: LogDirRef
    """Also any absolute path, to see it refused."""
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassign:
    """Give partitions these replicas, the preferred leader first."""

    of: PartitionsRef
    to: tuple[int, ...]
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True)
class CancelReassignment:
    """Take a reassignment back."""

    of: PartitionsRef
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """Ask for an election."""

    of: PartitionsRef
    kind: Literal["preferred", "unclean"] = "preferred"
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigs:
    """Set configurations of a topic, a broker, or all brokers (neither named); null deletes one."""

    set: Mapping[str, str | None]
    topic: TopicRef | None = None
    broker: BrokerRef | None = None
    alone: bool = False
    """In place of all that were set before (AlterConfigs); false: besides them."""
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cordon:
    """Let no new replica come to these log dirs of a broker, and to all others again."""

    broker: BrokerRef
    log_dirs: tuple[LogDirRef, ...]
    """``"*"`` stands for all; an empty list takes every cordon off."""
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords:
    """Raise the log start to this offset."""

    of: PartitionsRef
    before: int
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Send one request about partitions to one broker, to see what it answers."""

    api: Literal[
        "Produce",
        "Fetch",
        "ListOffsets",
        "OffsetForLeaderEpoch",
        "DeleteRecords",
        "DescribeProducers",
        "Metadata",
    ]
    of: PartitionsRef
    broker: BrokerRef
    version: int | None = None
    """None: the newest that names topics, not their ids."""
    offset: int = 0
    """Of a Fetch; before it a DeleteRecords deletes."""
    time_ms: int | None = None
    """A ListOffsets asks for the first record from then on, since 1970; None: for the end."""
    answers: CodeName = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLogDir:
    """Bring a repaired log dir back with its data, in the running broker."""

    broker: BrokerRef
    log_dir: LogDirRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceLogDir:
    """Put an empty disk in the place of a log dir, in the running broker."""

    broker: BrokerRef
    log_dir: LogDirRef
    accept_loss: bool = False
    throttle_bytes_per_second: int | None = None
    """For all replicas that are made anew there together; None: as fast as can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPartition:
    """Bring one offline replica back (KIP-18)."""

    of: PartitionsRef
    broker: BrokerRef


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile:
    """Put a text file into a log dir by hand, with the directories above it; it is durable."""

    broker: BrokerRef
    log_dir: LogDirRef
    file: FileRef
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveFile:
    """Take a file, or a directory with all that is in it, out of a log dir by hand."""

    broker: BrokerRef
    log_dir: LogDirRef
    file: FileRef
    """``.`` is the log dir itself; of a simulated disk an empty one stays."""


@dataclass(frozen=True, slots=True)
class EditJournal:
    """Change the file of the controller's journal by hand; but for a copy that must be down."""

    edit: JournalEdit
    """The first copies it, the second puts the copy back. ``cut`` takes its last record off,
    ``tear`` adds half a one, ``damage`` changes it, ``damage_middle`` an earlier, durable one."""


@dataclass(frozen=True, slots=True)
class StartWorkload:
    """Let a workload begin that did not begin by itself, or was stopped."""

    workload: WorkloadRef


@dataclass(frozen=True, slots=True)
class StopWorkload:
    """End a workload; what it has sent is waited for."""

    workload: WorkloadRef


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass."""

    for_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """Wait until a condition holds; the run fails if it does not in time."""

    condition: Condition
    within_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Expect:
    """The condition holds now; the run fails if not."""

    condition: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """The condition holds now and for a time; the run fails at the first look that denies it."""

    condition: Condition
    for_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Do these steps once, beside what follows, as soon as a condition holds.

    The run fails if it never does.
    """

    condition: Condition
    steps: tuple[Step, ...]


Action: TypeAlias = (
    Fault
    | Clear
    | Kill
    | Stop
    | Start
    | PowerCut
    | Pause
    | Resume
    | SlowCpu
    | SkewClock
    | CreateTopic
    | DeleteTopic
    | AddPartitions
    | MoveReplica
    | Reassign
    | CancelReassignment
    | ElectLeaders
    | AlterConfigs
    | Cordon
    | DeleteRecords
    | Ask
    | RestartLogDir
    | ReplaceLogDir
    | RestartPartition
    | WriteFile
    | RemoveFile
    | EditJournal
    | StartWorkload
    | StopWorkload
    | Wait
    | Until
    | Expect
    | Holds
    | When
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One action and when it may begin: after the step before it, and not before ``at_ms``."""

    action: Action
    at_ms: int | None = None
    """Since the cluster was ready and the workloads began."""
    says: str | None = None
    """A sentence for the story."""
    may_fail: bool = False
    """What comes of it is told and does not end the run: a node that chance kills may be down. A
    fault that was set must meet something all the same."""
    crashes_begin: bool = False
    """From this step on ``swap-matrix`` crashes nodes; without it: from the first one on."""
