"""All that a cluster's state says, one fact per path: what a rule changed of it, and what not.

It has no contracts. Predicates about brokers and replicas are told by the registrations alone, as
the rules under contract have their own words for them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import fields, replace
from enum import Enum, auto
from typing import Any, Final, TypeAlias, cast

from controller.core.state import ClusterState, Partition, Topic
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken

Path: TypeAlias = tuple[object, ...]
Facts: TypeAlias = dict[Path, object]


class Missing(Enum):
    """What is no fact any more; no name of a topic is the same."""

    GONE = auto()


GONE: Final = Missing.GONE
Placed: TypeAlias = list[tuple[str, bytes, tuple[Partition, ...]]]
"""Topic: its name, its id, its partitions."""
_FIELDS: Final = tuple(each.name for each in fields(ClusterState) if each.compare)


def facts_of(state: ClusterState) -> Facts:
    """Return all facts: the field first, then the keys down to what is no table any more."""
    found: Facts = {}
    for name in _FIELDS:
        _note(found, (name,), getattr(state, name))
    return found


def _note(found: Facts, path: Path, value: object) -> None:
    if isinstance(value, dict):
        for key, each in cast("dict[object, object]", value).items():
            if isinstance(each, dict | Topic):
                _note(found, (*path, key), cast("object", each))
            else:
                found[*path, key] = each
    elif isinstance(value, Topic):
        found[*path, "topic_id"] = value.topic_id
        found[*path, "is_deleting"] = value.is_deleting
        found[*path, "configs"] = dict(value.configs)
        found[*path, "decision"] = value.decision
        for number, each in enumerate(value.partitions):
            found[*path, number] = each
    else:
        found[path] = value


def changes(before: Facts, after: Facts) -> Facts:
    """Return what is another fact now, or ``GONE``."""
    found = {
        path: value
        for path, value in after.items()
        # Most is the same object, which nobody needs to look into.
        if (old := before.get(path, GONE)) is not value and old != value
    }
    found.update((path, GONE) for path in before if path not in after)
    return found


def gone(state: ClusterState, *path: object) -> Facts:
    """Return that nothing is below a path any more, for all that there is now."""
    below = len(path)
    return {each: GONE for each in facts_of(state) if each[:below] == path}


def exactly(state: ClusterState, wanted: Mapping[Path, object]) -> Generator[None, None, Broken]:
    """Say what else changed meanwhile than what is wanted, or did not change."""
    before = facts_of(state)
    yield
    expected = {path: value for path, value in wanted.items() if before.get(path, GONE) != value}
    return differs(changes(before, facts_of(state)), expected)


def differs(found: Facts, expected: Facts) -> Broken:
    """Tell what is in one of both alone."""
    if found == expected:
        return None
    missing = {path: each for path, each in expected.items() if found.get(path, GONE) != each}
    missing.update((p, each) for p, each in expected.items() if p not in found)
    wrong = {path: each for path, each in found.items() if path not in expected}
    return f"not changed as promised: {missing}, got {_at(found, missing)}; not promised: {wrong}"


def _at(found: Facts, paths: Facts) -> list[object]:
    return [found.get(path, "no change") for path in paths]


def alive(state: ClusterState) -> list[int]:
    """Return who is registered and not fenced, by id."""
    return sorted(each for each, broker in state.brokers.items() if not broker.is_fenced)


def live(state: ClusterState) -> list[int]:
    """Return who of them does not stop."""
    return [each for each in alive(state) if not state.brokers[each].is_shutting_down]


def working(state: ClusterState, tp: TopicPartition) -> list[int]:
    """Return who has a replica that can lead, the preferred one first."""
    partition, able = state.topics[tp.topic].partitions[tp.partition], live(state)
    broken = [each for each, offline in state.offline.items() if tp in offline]
    return [each for each in partition.replicas if each in able and each not in broken]


def partitions(state: ClusterState) -> Iterator[tuple[TopicPartition, Partition, Topic]]:
    """Give all partitions."""
    for name, topic in state.topics.items():
        for number, partition in enumerate(topic.partitions):
            yield TopicPartition(name, number), partition, topic


def placed_in(state: ClusterState) -> Placed:
    """Keep all partitions as they are, at little cost: most of the time nobody asks for them."""
    return [(name, topic.topic_id, tuple(topic.partitions)) for name, topic in state.topics.items()]


def partitions_of(placed: Placed) -> dict[TopicPartition, tuple[bytes, Partition]]:
    """Return what was kept by partition, with the id of its topic."""
    return {
        TopicPartition(name, number): (topic_id, one)
        for name, topic_id, partitions in placed
        for number, one in enumerate(partitions)
    }


def copy_of(state: ClusterState) -> ClusterState:
    """Return a copy that changes of either do not reach; what never changes is in both."""
    # Any: of each field its own.
    copied: dict[str, Any] = {name: _copied(getattr(state, name)) for name in _FIELDS}
    return replace(state, **copied)


def _copied(value: object) -> object:
    if isinstance(value, Topic):
        return replace(value, configs=dict(value.configs), partitions=list(value.partitions))
    if isinstance(value, dict):
        table = cast("dict[object, object]", value)
        return {key: _copied(each) for key, each in table.items()}
    assert not isinstance(value, list | set), f"{value} can change"
    return value


def leaves(topic: Topic, state: ClusterState) -> bool:
    """Tell whether a topic's deletion goes on: no partition of it is reassigned."""
    is_moving = any(one.adding_replicas or one.removing_replicas for one in topic.partitions)
    return topic.is_deleting and not (is_moving and topic.name in state.topics)
