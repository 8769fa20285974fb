"""The operations of the HTTP API, as a table: paths, bodies, answers. Nothing is carried out here.

The server's routes and the OpenAPI document are both made of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from jbodlab.asking.lab_values import ClusterPlaces, NodeStatus
from jbodlab.http_api.core.bodies import (
    Begun,
    BrokerOrder,
    ClusterInfo,
    ControlOrder,
    Done,
    Event,
    FailOrder,
    FaultOrder,
    MoveOrder,
    NewFault,
    NewTopic,
    Nothing,
    PassedRequest,
    RecordedRun,
    Released,
    ReleaseOrder,
    ReplaceOrder,
    TopicInfo,
)
from jbodlab.http_api.core.requests import RequestsOfApi
from jbodlab.http_api.core.snapshot import (
    BrokerInfo,
    FaultInfo,
    LogDirInfo,
    MoveInfo,
    PartitionInfo,
    Snapshot,
)


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
CONTROL: Final = f"{_BROKER}/control"
CONTROLLED: Final = (
    ("GET", "/status"),
    ("GET", "/log-dirs"),
    ("GET", "/replicas"),
    ("GET", "/faults"),
    ("GET", "/faults/passed"),
    ("POST", "/faults"),
    ("POST", "/faults/clear"),
    ("POST", "/faults/release"),
    ("POST", "/log-dirs/fail"),
    ("POST", "/log-dirs/heal"),
    ("POST", "/log-dirs/restart"),
    ("POST", "/log-dirs/replace"),
    ("POST", "/partitions/restart"),
)
"""Requests that are passed on to a broker's control endpoint, for the command line elsewhere."""
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
        name="get_places",
        method="GET",
        path="/places",
        summary="Where the brokers and their log dirs are: full paths, addresses for clients",
        answer=ClusterPlaces,
    ),
    Operation(
        name="get_nodes",
        method="GET",
        path="/nodes",
        summary="The processes of the cluster, and what brokers tell of themselves",
        answer=list[NodeStatus],
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
        name="get_requests",
        method="GET",
        path="/requests",
        summary="Rates and latencies by API, as brokers wrote them down last",
        answer=list[RequestsOfApi],
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
            body=Nothing if status == 200 else BrokerOrder,
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
    *(
        Operation(
            name=f"{method.lower()}_control{path.replace('/', '_').replace('-', '_')}",
            method=method,
            path=f"{CONTROL}{path}",
            summary=f"What the broker's control endpoint answers to {method} {path}",
            answer=Any,
            body=None if method == "GET" else ControlOrder,
        )
        for method, path in CONTROLLED
    ),
)
