"""What can be broken in a cluster, as values: faults of disks, the network, nodes, requests.

One model for both worlds: real processes and the simulation put the same rules in force. It breaks
nothing itself and counts nothing; `fault_document` reads and writes these values.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from protocol.faults.requests import RequestFault

ANY_NODE: Final = "*"
"""As an end of a NetworkFault: every other node."""
CONTROLLER_NODE: Final = "controller"
CLIENT_NODE: Final = "client"
"""Whoever is no node of the cluster."""
RETRANSMIT_MS: Final = 200
"""How long TCP waits before it sends lost bytes again, unless a fault says otherwise."""
_BROKER_PREFIX: Final = "broker-"


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


class DamageLasts(Enum):
    """Until when a replica may be without what its disk was given."""

    UNTIL_IN_SYNC = "until_in_sync"
    """Until it has fetched the end of its log anew, which is where something is missing."""
    UNTIL_REPLACED = "until_replaced"
    """Until the disk is another one: something else may stand in the middle of its logs."""


_ALL: Final = frozenset(Operation)
_WRITES: Final = frozenset(
    {Operation.APPEND, Operation.WRITE, Operation.CREATE, Operation.MAKE_DIR}
)
_CHANGES: Final = _WRITES | {
    Operation.TRUNCATE,
    Operation.RENAME,
    Operation.REMOVE,
    Operation.LOCK,
}
_CONTENT_WRITES: Final = frozenset({Operation.APPEND, Operation.WRITE})
_NAMES: Final = frozenset({Operation.CREATE, Operation.MAKE_DIR, Operation.RENAME})
_READS: Final = frozenset({Operation.READ})


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskModeRow:
    """What is true of one disk mode, for everybody who has to know it."""

    told: str
    """What it does, as docs/faults.md tells people."""
    meets: frozenset[Operation]
    """Which operations it can meet at all."""
    keys: tuple[str, ...] = ()
    """Fields of DiskFault that belong to this mode alone."""
    needs_a_key: bool = False
    """Whether it does nothing without one of ``keys``."""
    holds_back: bool = False
    """Whether operations wait in it."""
    fails_every_write: bool = False
    """Whether no write succeeds under it, so that one small write makes it noticed at once."""
    tracks_unsynced: bool = False
    """Whether it has to be known what was not synced, from the begin of the fault on."""
    damage: DamageLasts | None = None
    """None: it loses and changes nothing, or tells of it: what failed is not acknowledged.

    What was read wrongly counts as damage: a broker that starts cuts its logs there.
    """
    refusal: str | None = None
    """Why a real disk cannot do it; None: it can."""

    @property
    def needs_delay(self) -> bool:
        """Whether a whole log dir cannot be broken with it unless ``delay_ms`` is given."""
        return self.needs_a_key and "delay_ms" in self.keys


class DiskMode(Enum):
    """What happens to an operation that a rule meets: the word for it, and its row."""

    _value_: str
    row: DiskModeRow

    def __new__(cls, word: str, row: DiskModeRow) -> DiskMode:
        """Make the member whose value is the word alone."""
        made = object.__new__(cls)
        made._value_ = word
        made.row = row
        return made

    EIO = (
        "eio",
        DiskModeRow(told="an error in place of the operation", meets=_ALL, fails_every_write=True),
    )
    ENOSPC = (
        "enospc",
        DiskModeRow(
            told="ENOSPC, for what needs space; after `capacity_bytes` more",
            meets=_WRITES,
            keys=("capacity_bytes",),
            fails_every_write=True,
        ),
    )
    READ_ONLY = (
        "read_only",
        DiskModeRow(
            told="EROFS, for what changes something", meets=_CHANGES, fails_every_write=True
        ),
    )
    HANG = (
        "hang",
        DiskModeRow(
            told="no answer until it is cleared",
            meets=_ALL,
            holds_back=True,
            fails_every_write=True,
        ),
    )
    SLOW = (
        "slow",
        DiskModeRow(
            told="one operation after the other, each `delay_ms`, 1/`operations_per_second` and "
            "its bytes / `bytes_per_second` later",
            meets=_ALL,
            keys=("delay_ms", "operations_per_second", "bytes_per_second"),
            needs_a_key=True,
            holds_back=True,
        ),
    )
    TORN_WRITE = (
        "torn_write",
        DiskModeRow(
            told="a part of the bytes, then EIO", meets=_CONTENT_WRITES, fails_every_write=True
        ),
    )
    BIT_FLIP = (
        "bit_flip",
        DiskModeRow(
            told="one bit of what is read is wrong",
            meets=_READS,
            damage=DamageLasts.UNTIL_IN_SYNC,
        ),
    )
    SYNC_FAILURE = (
        "sync_failure",
        DiskModeRow(
            told="fsync fails, and what was written since the fault began and was not synced is "
            "cut off, small files to nothing; names stay",
            meets=frozenset({Operation.SYNC}),
            fails_every_write=True,
            tracks_unsynced=True,
            damage=DamageLasts.UNTIL_IN_SYNC,
        ),
    )
    LOST_ENTRY = (
        "lost_entry",
        DiskModeRow(
            told="create, make_dir or rename is undone by the next power cut, whatever was synced",
            meets=_NAMES,
            damage=DamageLasts.UNTIL_IN_SYNC,
            refusal="a real file system cannot be told to forget a name that it made durable",
        ),
    )
    MISDIRECTED_WRITE = (
        "misdirected_write",
        DiskModeRow(
            told="zeros where the bytes should be, the bytes over another file of the same class",
            meets=_CONTENT_WRITES,
            damage=DamageLasts.UNTIL_REPLACED,
        ),
    )
    SHORT_READ = (
        "short_read",
        DiskModeRow(
            told="fewer bytes than there are",
            meets=_READS,
            damage=DamageLasts.UNTIL_IN_SYNC,
        ),
    )


DISK_MODE_NAMES: Final = tuple(mode.value for mode in DiskMode)


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


BrokerFault: TypeAlias = DiskFault | NetworkFault | RequestFault
"""What a broker does to itself."""
Fault: TypeAlias = BrokerFault | NodeFault


def broker_node(broker_id: int) -> str:
    """Return the name of a broker's node."""
    return f"{_BROKER_PREFIX}{broker_id}"


def broker_id_of(node: str) -> int | None:
    """Return the id of the broker that a node is, None for any other node."""
    digits = node.removeprefix(_BROKER_PREFIX)
    return int(digits) if digits != node and digits.isdecimal() else None


def unknown_nodes(fault: BrokerFault, broker_ids: Collection[int]) -> list[str]:
    """Return the names of nodes that a fault is about and that this cluster does not have."""
    ends = (fault.source, fault.target) if isinstance(fault, NetworkFault) else (fault.node,)
    known = {ANY_NODE, CLIENT_NODE, CONTROLLER_NODE, *map(broker_node, broker_ids)}
    return [node for node in ends if node not in known]


def broker_in_charge(fault: BrokerFault) -> int | None:
    """Return the broker that puts a fault in force on itself; None when no broker is concerned.

    Of a network fault the sending one, where that is a broker: one end suffices.
    """
    nodes = (fault.source, fault.target) if isinstance(fault, NetworkFault) else (fault.node,)
    return next((each for each in map(broker_id_of, nodes) if each is not None), None)
