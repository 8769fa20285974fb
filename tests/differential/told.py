"""What the controller told the brokers, recorded and ours, in one form that can be compared.

Left out as values of one run: broker epochs, uuids, endpoints, and orders that Kafka takes from
hash maps. Epochs of controllers, leaders and partitions are told as they are; behind a gap in the
recording they are counted from where they stood at its end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.differential.tap import Told

FOLDER = Path(__file__).parents[1] / "golden" / "transcripts"

Request: TypeAlias = dict[str, Any]
"""The api, live brokers or leaders, and rows by partition: see tests/golden/transcripts."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """From where epochs are counted."""

    controller: int = 0
    leader: Mapping[str, int] = field(default_factory=dict[str, int])
    """By partition; of one that is not here: from 0."""
    partition: Mapping[str, int] = field(default_factory=dict[str, int])

    def of_decision(self, controller_epoch: int) -> int:
        """Count a decision's controller epoch; all that was decided before the gap is 0."""
        return max(controller_epoch - self.controller, 0)


def newest_epochs(told: Iterable[Told]) -> Epochs:
    """Return the highest epochs of all that any broker was told."""
    controller = 0
    leader: dict[str, int] = {}
    partition: dict[str, int] = {}
    for one in told:
        controller = max(controller, one.request["controllerEpoch"])
        for name, state in _states(one):
            leader[name] = max(leader.get(name, 0), state["leaderEpoch"])
            seen = state.get("partitionEpoch", state.get("zkVersion", 0))
            partition[name] = max(partition.get(name, 0), seen)
    return Epochs(controller, leader, partition)


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


def normal(told: Sequence[Told], since: Epochs) -> list[Request]:
    """Return our requests in the form of the recorded ones, epochs counted from ``since``.

    An UpdateMetadata whose topics have no partitions tells of configurations: Kafka's brokers
    hear of those from ZooKeeper.
    """
    return [
        {
            "api": one.api,
            "controllerEpoch": one.request["controllerEpoch"] - since.controller,
            "error": one.response["errorCode"],
            **_NORMAL[one.api](one, since),
        }
        for one in told
        if not _is_of_configs(one)
    ]


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


def last_leaders(requests: Sequence[Request]) -> dict[str, Any]:
    """Return leader, Isr, replicas and offline replicas of those rows, without epochs."""
    return {
        name: [leader, isr, *others]
        for name, (leader, _, isr, _, _, *others) in last_rows(requests).items()
    }


def _is_of_configs(told: Told) -> bool:
    states = told.request.get("topicStates", [])
    return told.api == "UpdateMetadata" and any(not state["partitionStates"] for state in states)


def _leader_and_isr(told: Told, since: Epochs) -> Request:
    names = {state["topicId"]: state["topicName"] for state in told.request["topicStates"]}
    codes = {
        f"{names[topic['topicId']]}-{error['partitionIndex']}": error["errorCode"]
        for topic in told.response["topics"]
        for error in topic["partitionErrors"]
    }
    return {
        "type": told.request["type"],
        "live": sorted(leader["brokerId"] for leader in told.request["liveLeaders"]),
        "partitions": {
            name: [
                *_leadership(name, state, since, "partitionEpoch"),
                state["replicas"],
                state["addingReplicas"],
                state["removingReplicas"],
                state["isNew"],
                state["leaderRecoveryState"],
                codes[name],
            ]
            for name, state in _states(told)
        },
    }


def _update_metadata(told: Told, since: Epochs) -> Request:
    return {
        "live": sorted(broker["id"] for broker in told.request["liveBrokers"]),
        "partitions": {
            name: [
                *_leadership(name, state, since, "zkVersion"),
                state["replicas"],
                sorted(state["offlineReplicas"]),
            ]
            for name, state in _states(told)
        },
    }


def _leadership(name: str, state: Mapping[str, Any], since: Epochs, version: str) -> list[Any]:
    return [
        state["leader"],
        state["leaderEpoch"] - since.leader.get(name, 0),
        state["isr"],
        state[version] - since.partition.get(name, 0),
        since.of_decision(state["controllerEpoch"]),
    ]


def _stop_replica(told: Told, since: Epochs) -> Request:
    codes = {
        f"{error['topicName']}-{error['partitionIndex']}": error["errorCode"]
        for error in told.response["partitionErrors"]
    }
    return {
        "partitions": {
            name: [
                state["leaderEpoch"] - since.leader.get(name, 0),
                state["deletePartition"],
                codes[name],
            ]
            for name, state in _states(told)
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
