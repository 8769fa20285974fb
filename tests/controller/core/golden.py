"""What Apache Kafka's controller sent, and what ours sends, in one form that can be compared.

Left out, as values of one run: uuids, broker epochs, endpoints, and the orders that Kafka takes
from hash maps.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from controller.core.records import Record
from controller.core.state import Partition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tests.controller.core.cluster import topic_records, tp

FOLDER = Path(__file__).parents[2] / "golden" / "controller"


def recorded(name: str) -> dict[int, list[dict[str, Any]]]:
    """Return the requests of a scenario per broker, in order, without the brokers' answers."""
    content = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {
        int(broker_id): [
            {key: value for key, value in request.items() if key != "codes"} for request in requests
        ]
        for broker_id, requests in content["requests"].items()
    }


def normal(sent: dict[int, list[Any]]) -> dict[int, list[dict[str, Any]]]:
    """Return our requests in the form of the recorded ones."""
    return {broker_id: [_request(r) for r in sent[broker_id]] for broker_id in sorted(sent)}


def before(request: dict[str, Any]) -> list[Record]:
    """Return the records of the topics as a recorded UpdateMetadata or LeaderAndIsr shows them."""
    topics: dict[str, dict[int, Partition]] = {}
    for name, row in request["partitions"].items():
        leader, leader_epoch, isr, partition_epoch, replicas, controller_epoch, _ = row
        topics.setdefault(tp(name).topic, {})[tp(name).partition] = Partition(
            replicas=tuple(replicas),
            leader=leader,
            leader_epoch=leader_epoch,
            isr=tuple(isr),
            partition_epoch=partition_epoch,
            controller_epoch=controller_epoch,
        )
    return [
        record
        for topic, partitions in topics.items()
        for record in topic_records(topic, [partitions[n] for n in sorted(partitions)])
    ]


def _request(request: Any) -> dict[str, Any]:
    if isinstance(request, LeaderAndIsrRequest):
        return {
            "api": "LeaderAndIsr",
            "controller_epoch": request.controller_epoch,
            "partitions": _leader_rows(request),
            "live_leaders": sorted(leader.broker_id for leader in request.live_leaders),
        }
    if isinstance(request, UpdateMetadataRequest):
        return {
            "api": "UpdateMetadata",
            "controller_epoch": request.controller_epoch,
            "partitions": _metadata_rows(request),
            "live_brokers": sorted(broker.id for broker in request.live_brokers),
        }
    assert isinstance(request, StopReplicaRequest)
    return {
        "api": "StopReplica",
        "controller_epoch": request.controller_epoch,
        "partitions": {
            f"{topic.topic_name}-{state.partition_index}": [
                state.leader_epoch,
                state.delete_partition,
            ]
            for topic in request.topic_states
            for state in topic.partition_states
        },
    }


def _leader_rows(request: LeaderAndIsrRequest) -> dict[str, list[Any]]:
    return {
        f"{topic.topic_name}-{state.partition_index}": [
            state.leader,
            state.leader_epoch,
            list(state.isr),
            state.partition_epoch,
            list(state.replicas),
            state.controller_epoch,
            state.is_new,
        ]
        for topic in request.topic_states
        for state in topic.partition_states
    }


def _metadata_rows(request: UpdateMetadataRequest) -> dict[str, list[Any]]:
    return {
        f"{topic.topic_name}-{state.partition_index}": [
            state.leader,
            state.leader_epoch,
            list(state.isr),
            state.zk_version,
            list(state.replicas),
            state.controller_epoch,
            list(state.offline_replicas),
        ]
        for topic in request.topic_states
        for state in topic.partition_states
    }
