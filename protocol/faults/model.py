"""What can be broken in a cluster, as values: faults of disks, of the network, of nodes.

One model for both worlds: real processes and the simulation put the same rules in force. It breaks
nothing itself and counts nothing; `fault_document` reads and writes these values.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

ANY_NODE: Final = "*"
"""As an end of a NetworkFault: every other node."""
CONTROLLER_NODE: Final = "controller"
CLIENT_NODE: Final = "client"
"""Whoever is no node of the cluster."""
RETRANSMIT_MS: Final = 200
"""How long TCP waits before it sends lost bytes again, unless a fault says otherwise."""
_BROKER_PREFIX: Final = "broker-"


class DiskMode(Enum):
    """What happens to an operation that a rule meets."""

    EIO = "eio"
    """Input/output error."""
    ENOSPC = "enospc"
    """No space left, for what writes; with ``capacity_bytes`` after that many more bytes."""
    READ_ONLY = "read_only"
    """Read-only file system, for what writes."""
    HANG = "hang"
    """No answer until the fault is cleared; then the operation goes on."""
    SLOW = "slow"
    """One operation after the other, each with its delay, its turn and the time of its bytes."""
    TORN_WRITE = "torn_write"
    """A part of the bytes is written, then an input/output error."""
    BIT_FLIP = "bit_flip"
    """One bit of what is read is wrong, and nobody is told."""
    SYNC_FAILURE = "sync_failure"
    """An error of fsync, and what was not durable is gone: a second fsync would succeed."""
    LOST_ENTRY = "lost_entry"
    """A name that was made or changed is durable for everybody to see, but not after a remount."""
    MISDIRECTED_WRITE = "misdirected_write"
    """The bytes go to another place of the log dir, and nobody is told."""
    SHORT_READ = "short_read"
    """Fewer bytes than there are, and nobody is told."""


class NetworkMode(Enum):
    """What happens to bytes on their way from one node to another."""

    LATENCY = "latency"
    """All arrive ``latency_ms`` later, and up to ``jitter_ms`` more; order is kept."""
    LOSS = "loss"
    """A piece is lost with ``probability``; it and all behind it arrive ``retransmit_ms`` later."""
    CUT = "cut"
    """Nothing arrives and nobody is told; what was sent meanwhile arrives when the cut ends.

    No connection is made while either way is cut.
    """
    HALF_OPEN = "half_open"
    """Connections of this moment are dead both ways and neither end is told; new ones work."""


class NodeMode(Enum):
    """What happens to a process, or to the machine that it stands for."""

    KILL = "kill"
    """The process ends at once; what it wrote stays. The end of the fault starts it again."""
    PAUSE = "pause"
    """No step is made until the fault ends."""
    RESTART = "restart"
    """A clean shutdown, then a start."""
    POWER_CUT = "power_cut"
    """As kill, and of its disks only that stays which was synced. Simulation only."""
    SLOW_CPU = "slow_cpu"
    """Every step takes ``factor`` times as long. Simulation only."""
    CLOCK_SKEW = "clock_skew"
    """The time of day is wrong by ``skew_ms``; durations are not. Simulation only."""


class Operation(Enum):
    """What a disk is asked for, as far as rules tell apart."""

    OPEN = "open"
    CREATE = "create"
    """Of a file that was not there, by opening or writing it; counted besides that."""
    READ = "read"
    APPEND = "append"
    WRITE = "write"
    """Of a small file as a whole; to replace one is write, perhaps sync, and rename."""
    TRUNCATE = "truncate"
    SYNC = "sync"
    MAKE_DIR = "make_dir"
    RENAME = "rename"
    REMOVE = "remove"
    LOOK = "look"
    """Names, sizes, space, the root: all that reads no content."""
    LOCK = "lock"


class FileClass(Enum):
    """What an operation is about."""

    LOG = "log"
    INDEX = "index"
    SNAPSHOT = "snapshot"
    LEADER_EPOCHS = "leader_epochs"
    PARTITION_METADATA = "partition_metadata"
    CHECKPOINT = "checkpoint"
    META_PROPERTIES = "meta_properties"
    OTHER = "other"
    """Directories too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFault:
    """Which operations of a node's disks are met, and how. None means any that the mode can meet.

    What is counted is counted per log dir.
    """

    mode: DiskMode
    node: str
    log_dir: str | None = None
    """Its path, as the cluster file writes it; None: each log dir of the node."""
    operations: tuple[Operation, ...] | None = None
    files: tuple[FileClass, ...] | None = None
    name: str | None = None
    """A pattern with ``*`` and ``?`` for names in the log dir, or for their partition directory."""
    nth: int | None = None
    """Only this match, counted from 1; None: every one."""
    from_nth: int = 1
    """This match and all later ones."""
    times: int | None = None
    """At most so many hits."""
    probability: float = 1.0
    delay_ms: int = 0
    """SLOW: before every operation."""
    operations_per_second: int | None = None
    """SLOW."""
    bytes_per_second: int | None = None
    """SLOW: of what is read and written."""
    capacity_bytes: int = 0
    """ENOSPC: how much may be written before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFault:
    """What happens to what ``source`` sends to ``target``; either may be ANY_NODE, not both."""

    mode: NetworkMode
    source: str
    target: str
    both_ways: bool = True
    """Also to what ``target`` sends to ``source``."""
    latency_ms: int = 0
    jitter_ms: int = 0
    probability: float = 1.0
    """LOSS only."""
    retransmit_ms: int = RETRANSMIT_MS
    """LOSS only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFault:
    """What happens to one node."""

    mode: NodeMode
    node: str
    factor: float = 1.0
    """SLOW_CPU only; more than 1."""
    skew_ms: int = 0
    """CLOCK_SKEW only; below 0 its clock is late."""


Fault: TypeAlias = DiskFault | NetworkFault | NodeFault

_WRITES: Final = frozenset(
    {Operation.APPEND, Operation.WRITE, Operation.CREATE, Operation.MAKE_DIR}
)
_CHANGES: Final = _WRITES | {
    Operation.TRUNCATE,
    Operation.RENAME,
    Operation.REMOVE,
    Operation.LOCK,
}
_ALL: Final = frozenset(Operation)
MET_BY: Final = {
    DiskMode.EIO: _ALL,
    DiskMode.ENOSPC: _WRITES,
    DiskMode.READ_ONLY: _CHANGES,
    DiskMode.HANG: _ALL,
    DiskMode.SLOW: _ALL,
    DiskMode.TORN_WRITE: frozenset({Operation.APPEND, Operation.WRITE}),
    DiskMode.BIT_FLIP: frozenset({Operation.READ}),
    DiskMode.SYNC_FAILURE: frozenset({Operation.SYNC}),
    DiskMode.LOST_ENTRY: frozenset({Operation.CREATE, Operation.MAKE_DIR, Operation.RENAME}),
    DiskMode.MISDIRECTED_WRITE: frozenset({Operation.APPEND, Operation.WRITE}),
    DiskMode.SHORT_READ: frozenset({Operation.READ}),
}
"""Which operations a mode can meet at all."""


def broker_node(broker_id: int) -> str:
    """Return the name of a broker's node."""
    return f"{_BROKER_PREFIX}{broker_id}"


def broker_id_of(node: str) -> int | None:
    """Return the id of the broker that a node is, None for any other node."""
    digits = node.removeprefix(_BROKER_PREFIX)
    return int(digits) if digits != node and digits.isdecimal() else None


def unknown_nodes(fault: DiskFault | NetworkFault, broker_ids: Collection[int]) -> list[str]:
    """Return the names of nodes that a fault is about and that this cluster does not have."""
    ends = (fault.source, fault.target) if isinstance(fault, NetworkFault) else (fault.node,)
    known = {ANY_NODE, CLIENT_NODE, CONTROLLER_NODE, *map(broker_node, broker_ids)}
    return [node for node in ends if node not in known]


def broker_in_charge(fault: DiskFault | NetworkFault) -> int | None:
    """Return the broker that puts a fault in force on itself; None when no broker is concerned.

    Of a network fault the sending one, where that is a broker: one end suffices.
    """
    nodes = (fault.source, fault.target) if isinstance(fault, NetworkFault) else (fault.node,)
    return next((each for each in map(broker_id_of, nodes) if each is not None), None)
