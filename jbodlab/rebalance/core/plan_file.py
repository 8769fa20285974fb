"""Plans as the JSON that ``kafka-reassign-partitions`` reads and writes. Opens no file.

Source: KIP-113, ReassignPartitionsCommand.scala parseReplicaAssignmentAndDirs.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from jbodlab.rebalance.core.plan import RebalancePlan
from jbodlab.rebalance.core.situation import UNKNOWN_PATH, Partition, Situation
from protocol.ids import TopicPartition

ANY: Final = "any"
"""Stands for whichever log dir; a replica that is there stays where it is."""
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Where the replicas of one partition shall be, the preferred leader first."""

    tp: TopicPartition
    brokers: tuple[int, ...]
    log_dirs: tuple[str, ...]
    """For each replica an absolute path, or ANY."""


def wanted_by(plan: RebalancePlan) -> list[Wanted]:
    """Return the partitions that a plan changes; replicas that stay are ANY."""
    changed = {movement.tp for movement in plan.movements}
    return [
        Wanted(
            tp=partition.tp,
            brokers=tuple(place.broker for place in places),
            log_dirs=tuple(
                ANY if place == replica.at else place.path
                for place, replica in zip(places, partition.replicas, strict=True)
            ),
        )
        for partition, places in zip(plan.situation.partitions, plan.places, strict=True)
        if partition.tp in changed
    ]


def as_it_is(situation: Situation, wanted: list[Wanted]) -> list[Wanted]:
    """Return the present places of the same partitions: what undoes ``wanted``.

    Raises:
        ValueError: a partition does not exist.
    """
    partitions = {each.tp: each for each in situation.partitions}
    missing = [str(each.tp) for each in wanted if each.tp not in partitions]
    if missing:
        raise ValueError(f"the cluster has no {', '.join(missing)}")
    return [_present(partitions[each.tp]) for each in wanted]


def _present(partition: Partition) -> Wanted:
    return Wanted(
        tp=partition.tp,
        brokers=tuple(replica.at.broker for replica in partition.replicas),
        log_dirs=tuple(
            ANY if replica.at.path == UNKNOWN_PATH else replica.at.path
            for replica in partition.replicas
        ),
    )


def to_json(wanted: list[Wanted]) -> str:
    """Return the text of a plan file."""
    partitions = [
        {
            "topic": each.tp.topic,
            "partition": each.tp.partition,
            "replicas": list(each.brokers),
            "log_dirs": list(each.log_dirs),
        }
        for each in wanted
    ]
    return json.dumps({"version": _VERSION, "partitions": partitions}, indent=1) + "\n"


def from_json(text: str) -> list[Wanted]:
    """Return what a plan file says.

    Raises:
        ValueError: it is no plan; says what is wrong.
    """
    content: Any = json.loads(text)
    if not isinstance(content, dict) or content.get("version") != _VERSION:  # pyright: ignore[reportUnknownMemberType] - JSON has no type
        raise ValueError('it says no "version": 1')
    entries: Any = content.get("partitions")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON has no type
    if not isinstance(entries, list):
        raise ValueError('it has no list "partitions"')  # noqa: TRY004 - one error for bad files
    wanted = [_entry(each) for each in entries]  # pyright: ignore[reportUnknownVariableType] - JSON has no type
    counts = Counter(each.tp for each in wanted)
    twice = sorted(str(name) for name, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"it names twice: {', '.join(twice)}")
    return wanted


def _entry(entry: Any) -> Wanted:
    try:
        tp = TopicPartition(str(entry["topic"]), int(entry["partition"]))
        brokers = tuple(int(each) for each in entry["replicas"])
        log_dirs = tuple(str(each) for each in entry.get("log_dirs") or [ANY] * len(brokers))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"no partition with topic, partition and replicas: {entry!r}") from error
    if not brokers or len(set(brokers)) != len(brokers):
        raise ValueError(f"{tp}: replicas must be different brokers, not {list(brokers)}")
    if len(log_dirs) != len(brokers):
        raise ValueError(f"{tp}: {len(brokers)} replicas but {len(log_dirs)} log_dirs")
    return Wanted(tp=tp, brokers=brokers, log_dirs=log_dirs)
