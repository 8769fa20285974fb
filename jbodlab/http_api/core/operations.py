"""The operations of the HTTP API, as a table: paths, bodies, answers. Nothing is carried out here.

The server's routes and the OpenAPI document are both made of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from jbodlab.http_api.core.changes import Change
from jbodlab.http_api.core.snapshot import (
    BrokerInfo,
    FaultInfo,
    LogDirInfo,
    MoveInfo,
    NodeState,
    PartitionInfo,
    Snapshot,
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One row."""

    name: str
    method: str
    path: str
    summary: str
    answer: Any
    body: type[msgspec.Struct] | None = None
    status: int = 200


_BROKER: Final = "/brokers/{broker_id}"
_LOG_DIR: Final = "/brokers/{broker_id}/log-dirs/{number}"
OPERATIONS: Final = (
    Operation(
        name="get_snapshot",
        method="GET",
        path="/snapshot",
        summary="Everything at once, as of one look",
        answer=Snapshot,
    ),
    Operation(
        name="get_cluster",
        method="GET",
        path="/cluster",
        summary="The cluster in short: bootstrap servers, and who runs",
        answer=ClusterInfo,
    ),
    Operation(
        name="get_brokers",
        method="GET",
        path="/brokers",
        summary="All brokers with their log dirs",
        answer=list[BrokerInfo],
    ),
    Operation(
        name="get_log_dirs",
        method="GET",
        path=f"{_BROKER}/log-dirs",
        summary="The log dirs of a broker with their replicas",
        answer=list[LogDirInfo],
    ),
    Operation(
        name="get_topics",
        method="GET",
        path="/topics",
        summary="All topics",
        answer=list[TopicInfo],
    ),
    Operation(
        name="get_partitions",
        method="GET",
        path="/topics/{topic}/partitions",
        summary="The partitions of a topic: leader, replicas, Isr",
        answer=list[PartitionInfo],
    ),
    Operation(
        name="get_moves",
        method="GET",
        path="/moves",
        summary="Moves under way between the log dirs of a broker",
        answer=list[MoveInfo],
    ),
    Operation(
        name="get_faults",
        method="GET",
        path="/faults",
        summary="All faults, what they matched and hit; those that are over, too",
        answer=list[FaultInfo],
    ),
    Operation(
        name="get_events",
        method="GET",
        path="/events",
        summary="A stream of events (server-sent events); `Last-Event-ID` goes on behind one",
        answer=Event,
    ),
    *(
        Operation(
            name=f"{verb}_broker",
            method="POST",
            path=f"{_BROKER}/{verb}",
            summary=summary,
            answer=Done if status == 200 else Begun,
            body=Nothing,
            status=status,
        )
        for verb, summary, status in (
            ("kill", "End a broker with SIGKILL", 200),
            ("pause", "Let a broker stand still (SIGSTOP)", 200),
            ("resume", "Let a broker that stands still go on", 200),
            ("stop", "Stop a broker cleanly: it hands over its leaderships first", 202),
            ("start", "Start a broker that does not run", 202),
            ("restart", "Stop a broker cleanly and start it again", 202),
        )
    ),
    Operation(
        name="fail_log_dir",
        method="POST",
        path=f"{_LOG_DIR}/fail",
        summary="Break a log dir from now on",
        answer=Done,
        body=FailOrder,
    ),
    Operation(
        name="heal_log_dir",
        method="POST",
        path=f"{_LOG_DIR}/heal",
        summary="Take all faults off a log dir; `restart` brings it back",
        answer=Done,
        body=Nothing,
    ),
    Operation(
        name="restart_log_dir",
        method="POST",
        path=f"{_LOG_DIR}/restart",
        summary="Bring a repaired log dir back with its data, the broker up",
        answer=Begun,
        body=Nothing,
        status=202,
    ),
    Operation(
        name="replace_log_dir",
        method="POST",
        path=f"{_LOG_DIR}/replace",
        summary="Put an empty disk in the place of a log dir; replicas are copied again",
        answer=Begun,
        body=ReplaceOrder,
        status=202,
    ),
    Operation(
        name="create_topic",
        method="POST",
        path="/topics",
        summary="Create a topic",
        answer=Done,
        body=NewTopic,
        status=201,
    ),
    Operation(
        name="delete_topic",
        method="DELETE",
        path="/topics/{topic}",
        summary="Delete a topic and its records",
        answer=Done,
    ),
    Operation(
        name="move_replica",
        method="POST",
        path="/moves",
        summary="Move a replica to another log dir of its broker",
        answer=Begun,
        body=MoveOrder,
        status=202,
    ),
    Operation(
        name="add_fault",
        method="POST",
        path="/faults",
        summary="Put a fault by rule in force, on disks, the network or requests of clients",
        answer=NewFault,
        body=FaultOrder,
        status=201,
    ),
    Operation(
        name="clear_faults",
        method="DELETE",
        path="/faults",
        summary="Take all faults off",
        answer=Done,
    ),
    Operation(
        name="clear_fault",
        method="DELETE",
        path="/faults/{broker_id}/{fault_id}",
        summary="Take one fault off",
        answer=Done,
    ),
    Operation(
        name="release_held",
        method="POST",
        path="/faults/{broker_id}/{fault_id}/release",
        summary="Let requests go on that a fault of mode hold holds, all or the first `count`",
        answer=Released,
        body=ReleaseOrder,
    ),
    Operation(
        name="get_passed",
        method="GET",
        path="/faults/{broker_id}/{fault_id}/passed",
        summary="The newest requests of clients that a fault of mode observe saw",
        answer=list[PassedRequest],
    ),
    Operation(
        name="get_run",
        method="GET",
        path="/runs/{plan}/{seed}",
        summary="Simulate a scenario (or `drawn`: what the seed draws) and return it to be played",
        answer=RecordedRun,
    ),
)
