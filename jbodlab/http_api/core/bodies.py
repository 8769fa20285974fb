"""What the HTTP API takes and answers, as values, but for what a snapshot holds."""

from __future__ import annotations

from typing import Annotated

import msgspec

from jbodlab.asking.lab_values import NodeState
from jbodlab.http_api.core.changes import Change
from jbodlab.http_api.core.snapshot import Snapshot


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused."""

    error: str
    what_to_do: str


class ClusterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster in short."""

    cluster_id: str
    bootstrap_servers: tuple[str, ...]
    controller: NodeState
    brokers: dict[str, NodeState]
    """By the broker's id."""


class TopicInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One topic in short."""

    name: str
    partitions: int
    replication_factor: int


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What was done."""

    done: str


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """What was begun, and goes on."""

    begun: str
    look_at: str
    """The path that tells how far it is; if it fails, an `order_failed` event says why."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty object."""


class BrokerOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether to answer only when the order is carried out."""

    wait: bool = False


class FailOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to break a log dir: modes are those of docs/faults.md that a whole log dir can have."""

    mode: str = "eio"
    delay_ms: int | None = None
    """Of mode slow alone."""


class ReplaceOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to put an empty disk in the place of a log dir."""

    accept_loss: bool = False
    """Replicas that no other broker has in full may begin empty."""
    force: bool = False
    """Replace a log dir that works, too."""


class NewTopic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A topic to be created."""

    name: str
    partitions: int = 1
    replication_factor: int | None = None
    """None: as many as there are brokers, at most 3."""
    configs: dict[str, str] = {}
    assignment: dict[int, list[int]] = {}
    """Partition -> brokers, the preferred leader first; empty: they are drawn."""


class MoveOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A replica to be moved to another log dir of its broker."""

    topic: str
    partition: int
    broker: int
    log_dir: int
    """The number of the log dir at its broker, 1 for the first one."""


class NewFault(msgspec.Struct, frozen=True, kw_only=True):
    """Where a fault is that was put in force."""

    broker: int
    id: str


class ReleaseOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many requests of those that a fault holds are to go on."""

    count: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The first ones; None: all."""


class Released(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests went on."""

    released: int


class PassedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a client that passed an observer."""

    api: str
    version: int
    client_id: str
    connection: int
    """The broker counts its connections."""
    correlation_id: int
    parts: list[str]
    """The topics and partitions that it names, the first 100."""
    request_bytes: int
    answer_bytes: int
    """0: it got no answer, as with acks=0."""
    errors: list[str]
    """The names of the codes in its answer, each once."""


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """How a simulated cluster was at a moment, until the next one."""

    at_ms: float
    """Of virtual time; 0 is when the cluster was ready and its clients began."""
    snapshot: Snapshot


class ToldLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a run's story."""

    at_ms: float
    text: str


class RecordedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A simulated run, to be played."""

    name: str
    """Of its plan."""
    seed: int
    replay: str
    """The command that does the same again."""
    is_ok: bool
    """Whether the checkers found nothing."""
    frames: list[Frame]
    """In the order of time, at most some hundreds."""
    story: list[ToldLine]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the stream."""

    id: int
    """Grows by one; `Last-Event-ID` goes on behind it."""
    at_ms: int
    """When the lab saw it: milliseconds since the Unix epoch."""
    change: Change


class FaultOrder(msgspec.Struct, frozen=True):
    """An object with the keys that a fault has in the cluster file (docs/faults.md).

    One with `type` in the place of `mode` is a toxic of Toxiproxy, with `broker` for its proxy.
    """

    mode: str | None = None
    type: str | None = None


class ControlOrder(msgspec.Struct, frozen=True):
    """What the control endpoint takes for this request (docs/architecture.md)."""
