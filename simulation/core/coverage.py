"""Which moves of the state machines a run has made, and which of the declared ones it never made.

It counts what it is told (``protocol.witness``); it makes nothing happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from broker.core.future_log import MOVE_TABLE, MoveEvent, MoveState
from broker.core.hosted import HostedState, Role
from broker.core.log_dirs import LogDirState
from controller.core.events import RequestAnswered, RequestArrived, Started, Tick
from controller.core.machine import SERVED
from controller.core.phases import (
    PARTITION_MOVES,
    REPLICA_MOVES,
    PartitionPhase,
    ReplicaPhase,
)
from protocol.messages.cluster import DescribeClusterRequest
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.witness import Mark


class Transition(NamedTuple):
    """One move of one machine."""

    machine: str
    """The class of the mark before it."""
    before: str
    after: str
    """For machines driven by a table of events, and for the controller's events: what came."""

    def __str__(self) -> str:
        return f"{self.machine} {self.before} -> {self.after}"


class Coverage:
    """Counts transitions; a ``Witness``."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[Transition, int] | None = None) -> None:
        self._counts = dict(counts or {})

    def __call__(self, before: Mark, after: Mark) -> None:
        """Count one move."""
        transition = transition_of(before, after)
        self._counts[transition] = self._counts.get(transition, 0) + 1

    @property
    def counts(self) -> dict[Transition, int]:
        """How often each one was seen."""
        return dict(self._counts)

    def add(self, other: Mapping[Transition, int]) -> None:
        """Take in what another run has seen."""
        for transition, count in other.items():
            self._counts[transition] = self._counts.get(transition, 0) + count

    @property
    def seen(self) -> list[Transition]:
        """The declared ones that were seen, as declared."""
        return [one for one in DECLARED if one in self._counts]

    @property
    def never_seen(self) -> list[Transition]:
        """The declared ones that were not seen, as declared."""
        return [one for one in DECLARED if one not in self._counts]

    @property
    def undeclared(self) -> list[Transition]:
        """What was seen though nobody declared it, in order."""
        return sorted(one for one in self._counts if one not in DECLARED)


def transition_of(before: Mark, after: Mark) -> Transition:
    """Name a move that a witness was told of."""
    if isinstance(before, type):
        return Transition("ControllerEvent", before.__name__, _name(after))
    return Transition(type(before).__name__, before.name, _name(after))


def _name(mark: Mark) -> str:
    return mark.__name__ if isinstance(mark, type) else mark.name


def _moves(table: Mapping[Any, Iterable[Any]]) -> list[Transition]:
    """Name the moves of a table from a target to the phases it may be reached from."""
    return [transition_of(before, after) for after, befores in table.items() for before in befores]


_REPLAYED: Final[tuple[tuple[Mark, Mark], ...]] = (
    (PartitionPhase.NON_EXISTENT, PartitionPhase.ONLINE),
    (PartitionPhase.NON_EXISTENT, PartitionPhase.OFFLINE),
    (ReplicaPhase.NON_EXISTENT, ReplicaPhase.ONLINE),
    (ReplicaPhase.NON_EXISTENT, ReplicaPhase.DELETION_INELIGIBLE),
    (ReplicaPhase.NON_EXISTENT, ReplicaPhase.OFFLINE),
    (ReplicaPhase.ONLINE, ReplicaPhase.NON_EXISTENT),
)
"""A controller that starts takes what its journal tells as it is, and later what brokers tell of
logs whose decisions a journal lost that was put back: the last two, where who has a log is away, or
who is live has none."""
_HOSTED: Final = (
    (HostedState.ABSENT, HostedState.ONLINE),
    (HostedState.ABSENT, HostedState.OFFLINE),
    (HostedState.ABSENT, HostedState.ABSENT),  # an idle log is deleted
    (HostedState.ONLINE, HostedState.OFFLINE),
    (HostedState.ONLINE, HostedState.ABSENT),
    (HostedState.OFFLINE, HostedState.OFFLINE),
    (HostedState.OFFLINE, HostedState.ONLINE),
    (HostedState.OFFLINE, HostedState.ABSENT),
)
_LOG_DIRS: Final = tuple(
    (before, after) for before in LogDirState for after in LogDirState if before is not after
)
_ROLES: Final = tuple((before, after) for before in Role for after in (Role.LEADER, Role.FOLLOWER))
_EVENTS: Final[tuple[tuple[Mark, Mark], ...]] = (
    (Started, Started),
    (Tick, Tick),
    *((RequestArrived, request) for request in SERVED),
    (RequestAnswered, LeaderAndIsrRequest),
    (RequestAnswered, StopReplicaRequest),
    (RequestAnswered, UpdateMetadataRequest),
)
_BROKER_STATES: Final = (
    ("STARTING", "RECOVERY"),
    ("RECOVERY", "RUNNING"),
    ("RUNNING", "PENDING_CONTROLLED_SHUTDOWN"),
    ("RUNNING", "SHUTTING_DOWN"),
    ("PENDING_CONTROLLED_SHUTDOWN", "SHUTTING_DOWN"),
    ("SHUTTING_DOWN", "NOT_RUNNING"),
)
"""By name: their class lies in a room that knows the event loop."""

_NOT_ALONE: Final = (transition_of(ReplicaPhase.NEW, ReplicaPhase.OFFLINE),)
"""Kafka's table has it; here a new replica is online before anything else is decided."""

DECLARED: Final[dict[Transition, None]] = dict.fromkeys(
    [
        *_moves(PARTITION_MOVES),
        *(move for move in _moves(REPLICA_MOVES) if move not in _NOT_ALONE),
        *(transition_of(*pair) for pair in (*_REPLAYED, *_HOSTED, *_LOG_DIRS, *_ROLES)),
        *(transition_of(*pair) for pair in MOVE_TABLE),
        *(transition_of(*pair) for pair in _EVENTS),
        *(Transition("BrokerState", *pair) for pair in _BROKER_STATES),
    ]
)
"""Every move that the machines of controller and broker can make, in a fixed order."""


class Rarity(NamedTuple):
    """Why sweeps of seeds hardly make a declared transition, and who makes it instead."""

    why: str
    shown_by: str | None = None
    """The scenario that comes with jbodlab and goes through it; its test holds it to that."""

    def __str__(self) -> str:
        return self.why if self.shown_by is None else f"{self.why}; see {self.shown_by}"


_FAILED: Final = Rarity(
    "a copy fails only over wrong bytes that no CRC covers",
    "move-fails-over-a-batch-that-is-out-of-order",
)
RARE: Final[dict[Transition, Rarity]] = {
    transition_of(RequestArrived, DescribeClusterRequest): Rarity(
        "brokers ask for it only when their client wants to see fenced brokers, too"
    ),
    transition_of(HostedState.OFFLINE, HostedState.OFFLINE): Rarity(
        "a topic is made anew while its old data and the log dir it belongs in are offline",
        "log-dir-of-a-wish-fails-before-the-topic-is-made-anew",
    ),
    transition_of(MoveState.COPYING, MoveEvent.CURRENT_TRUNCATED): Rarity(
        "a follower that copies again is cut by its new leader",
        "follower-begins-anew-while-it-moves",
    ),
    transition_of(MoveState.COPYING, MoveEvent.ERROR): _FAILED,
    transition_of(MoveState.SWAPPING, MoveEvent.FELL_BEHIND): Rarity(
        "the last copies go wrong, or the broker stops between them",
        "broker-stops-in-the-middle-of-a-swap",
    ),
    transition_of(MoveState.SWAPPING, MoveEvent.EPOCH_CHANGED): Rarity(
        "a leader is elected within the last copies",
        "leader-is-elected-in-the-middle-of-a-swap",
    ),
    transition_of(MoveState.SWAPPING, MoveEvent.CANCEL): Rarity(
        "a log dir fails within the last copies",
        "destination-fails-in-the-middle-of-a-swap",
    ),
    transition_of(MoveState.FAILED, MoveEvent.CURRENT_TRUNCATED): _FAILED,
    transition_of(MoveState.FAILED, MoveEvent.EPOCH_CHANGED): _FAILED,
    transition_of(MoveState.FAILED, MoveEvent.CANCEL): _FAILED,
}
"""By state and event; a sweep of a few hundred seeds makes all others."""
