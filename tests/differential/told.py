"""What the controller told the brokers, recorded and ours, in one form that can be compared.

Left out as values of one run: epochs, uuids, endpoints, and orders that Kafka takes from hash maps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.differential.tap import Told

FOLDER = Path(__file__).parents[1] / "golden" / "transcripts"

Request: TypeAlias = dict[str, Any]
"""The api, live brokers or leaders, and rows by partition: see tests/golden/transcripts."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One command and what it printed."""

    command: str
    code: int
    out: list[str]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One story as Apache Kafka 3.9.2 told it."""

    requests: dict[int, list[Request]]
    """What each broker was told, in order."""
    tools: dict[str, list[ToolRun]]
    plans: list[dict[str, Any]]
    """The reassignments in the order in which they were given to the tool."""
    other: Mapping[str, Any]


def transcript(name: str) -> Transcript:
    content = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    tools: dict[str, list[ToolRun]] = {}
    for run in content.pop("tools", []):
        tools.setdefault(run["key"], []).append(ToolRun(run["command"], run["code"], run["out"]))
    requests = content.pop("requests")
    return Transcript(
        {broker_id: requests.get(str(broker_id), []) for broker_id in (1, 2, 3)},
        tools,
        content.pop("plans", []),
        content,
    )


def normal(told: Sequence[Told]) -> list[Request]:
    """Return our requests in the form of the recorded ones.

    An UpdateMetadata whose topics have no partitions tells of configurations: Kafka's brokers
    hear of those from ZooKeeper.
    """
    return [_NORMAL[one.api](one) for one in told if not _is_of_configs(one)]


def rows(requests: Sequence[Request]) -> list[str]:
    """Return every partition's row of every request, sorted, however requests carried them."""
    return sorted(
        json.dumps([request["api"], name, row])
        for request in requests
        for name, row in request["partitions"].items()
    )


def last_rows(requests: Sequence[Request]) -> dict[str, Any]:
    """Return what a broker was told last about every partition for its clients."""
    return {
        name: row
        for request in requests
        if request["api"] == "UpdateMetadata"
        for name, row in request["partitions"].items()
    }


def _is_of_configs(told: Told) -> bool:
    states = told.request.get("topicStates", [])
    return told.api == "UpdateMetadata" and any(not state["partitionStates"] for state in states)


def _leader_and_isr(told: Told) -> Request:
    names = {state["topicId"]: state["topicName"] for state in told.request["topicStates"]}
    codes = {
        f"{names[topic['topicId']]}-{error['partitionIndex']}": error["errorCode"]
        for topic in told.response["topics"]
        for error in topic["partitionErrors"]
    }
    return {
        "api": told.api,
        "live": sorted(leader["brokerId"] for leader in told.request["liveLeaders"]),
        "partitions": {
            name: [
                state["leader"],
                sorted(state["isr"]),
                state["replicas"],
                state["addingReplicas"],
                state["removingReplicas"],
                state["isNew"],
                codes[name],
            ]
            for name, state in _states(told)
        },
    }


def _update_metadata(told: Told) -> Request:
    assert told.response["errorCode"] == 0
    return {
        "api": told.api,
        "live": sorted(broker["id"] for broker in told.request["liveBrokers"]),
        "partitions": {
            name: [
                state["leader"],
                sorted(state["isr"]),
                state["replicas"],
                sorted(state["offlineReplicas"]),
            ]
            for name, state in _states(told)
        },
    }


def _stop_replica(told: Told) -> Request:
    codes = {
        f"{error['topicName']}-{error['partitionIndex']}": error["errorCode"]
        for error in told.response["partitionErrors"]
    }
    return {
        "api": told.api,
        "partitions": {
            name: [state["deletePartition"], codes[name]] for name, state in _states(told)
        },
    }


_NORMAL = {
    "LeaderAndIsr": _leader_and_isr,
    "UpdateMetadata": _update_metadata,
    "StopReplica": _stop_replica,
}


def _states(told: Told) -> Iterator[tuple[str, dict[str, Any]]]:
    for topic in told.request["topicStates"]:
        for state in topic["partitionStates"]:
            yield f"{topic['topicName']}-{state['partitionIndex']}", state
