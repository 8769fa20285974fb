"""What happens to the controller: the events that ``Machine.step`` takes. They decide nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Started:
    """The journal is replayed; a new controller epoch begins."""


@dataclass(frozen=True, slots=True)
class RequestArrived:
    """A broker or a client asks."""

    token: int
    """Names the one who waits; the answer's effect carries it."""
    request: Any
    """One of Kafka's request classes; the machine looks its handler up by class."""
    version: int


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """A broker answered a request of ours."""

    broker_id: int
    broker_epoch: int
    """Of the channel: answers of an older incarnation are ignored."""
    sequence: int
    request: Any
    response: Any


@dataclass(frozen=True, slots=True)
class Tick:
    """The time that ``Machine.next_deadline_ms`` named has come."""

    due_ms: int
    """When it should have come: a late one tells that this process was stopped for a while."""


Event: TypeAlias = Started | RequestArrived | RequestAnswered | Tick
