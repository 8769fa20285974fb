"""All that a cluster's state says, one fact per path: what a rule changed of it, and what not.

It has no contracts. Predicates about brokers and replicas are told by the registrations alone, as
the rules under contract have their own words for them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from enum import Enum, auto
from operator import attrgetter, is_
from typing import Any, Final, NamedTuple, TypeAlias, cast

from controller.core.state import Broker, ClusterState, Partition, Topic
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
_FIXED: Final = frozenset({type(None), int, float, str, bytes, Broker})
"""Types of most of what there is; other values may change, or be looked at once more."""
_FIELDS: Final = tuple(each.name for each in fields(ClusterState) if each.compare)
_BUT_TOPICS: Final = attrgetter(*(each for each in _FIELDS if each != "topics"))
_TOPIC: Final = attrgetter(*(each.name for each in fields(Topic)))


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
    below, (field, *_) = len(path), path
    found: Facts = {}
    _note(found, (field,), getattr(state, str(field)))
    return {each: GONE for each in found if each[:below] == path}


def exactly(state: ClusterState, wanted: Mapping[Path, object]) -> Generator[None, None, Broken]:
    """Say what else changed meanwhile than what is wanted, or did not change."""
    before = {path: _copied(each) for path, each in _parts_of(state)}
    yield
    after = dict(_parts_of(state))
    # Of nearly all parts a look at the whole says that they stayed.
    touched = dict.fromkeys(_part(path) for path in wanted)
    touched.update((path, None) for path in after if _is_other(before, after, path))
    touched.update((path, None) for path in before if path not in after)
    was = _facts_in(before, touched)
    expected = {path: value for path, value in wanted.items() if was.get(path, GONE) != value}
    return differs(changes(was, _facts_in(after, touched)), expected)


def _parts_of(state: ClusterState) -> Iterator[tuple[Path, object]]:
    """Give each entry of a table, and what is no table, by the beginning of its facts' paths."""
    for name in _FIELDS:
        value = getattr(state, name)
        if isinstance(value, dict):
            for key, each in cast("dict[object, object]", value).items():
                yield (name, key), each
        else:
            yield (name,), value


def _part(path: Path) -> Path:
    """Return to which part a fact belongs."""
    return path[:2]


def _is_other(before: Facts, after: Facts, path: Path) -> bool:
    was, now = before.get(path, GONE), after[path]
    return was is not now and was != now


def _facts_in(parts: Facts, paths: Iterable[Path]) -> Facts:
    """Return all facts of some of the parts."""
    found: Facts = {}
    for path in paths:
        if path in parts:
            _note(found, path, parts[path])
    return found


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
    replicas = state.topics[tp.topic].partitions[tp.partition].replicas
    offline = state.offline
    able = [each for each in replicas if each not in offline or tp not in offline[each]]
    return [each for each in able if _is_live(state.brokers.get(each))]


def _is_live(broker: Broker | None) -> bool:
    return broker is not None and not (broker.is_fenced or broker.is_shutting_down)


def partitions(state: ClusterState) -> Iterator[tuple[TopicPartition, Partition, Topic]]:
    """Give all partitions."""
    for name, topic in state.topics.items():
        for number, partition in enumerate(topic.partitions):
            yield TopicPartition(name, number), partition, topic


def placed_in(state: ClusterState) -> Placed:
    """Keep all partitions as they are, at little cost: most of the time nobody asks for them."""
    return [(name, topic.topic_id, tuple(topic.partitions)) for name, topic in state.topics.items()]


class Replaced(NamedTuple):
    """A partition that is another object than it was."""

    tp: TopicPartition
    topic: Topic
    new: Partition
    old: Partition | None
    """None: there was none of this name."""
    old_topic_id: bytes | None


def replaced_since(placed: Placed, state: ClusterState) -> Iterator[Replaced]:
    """Give the partitions that are not as they were kept: few, or none."""
    before = {name: (topic_id, old) for name, topic_id, old in placed}
    for name, topic in state.topics.items():
        topic_id, old = before.get(name, (None, ()))
        count = len(old)
        if count == len(topic.partitions) and all(map(is_, old, topic.partitions)):
            continue
        for number, one in enumerate(topic.partitions):
            was = old[number] if number < count else None
            if was is not one:
                tp = TopicPartition(name, number)
                yield Replaced(tp, topic, one, was, None if was is None else topic_id)


def copy_of(state: ClusterState) -> ClusterState:
    """Return a copy that changes of either do not reach; what never changes is in both."""
    # Any: of each field its own.
    copied: dict[str, Any] = {name: _copied(getattr(state, name)) for name in _FIELDS}
    return replace(state, **copied)


def _copied(value: object) -> object:
    if type(value) in _FIXED:
        return value
    if isinstance(value, Topic):
        return replace(value, configs=dict(value.configs), partitions=list(value.partitions))
    if isinstance(value, dict):
        table = cast("dict[object, object]", value)
        return {k: each if type(each) in _FIXED else _copied(each) for k, each in table.items()}
    assert not isinstance(value, list | set), f"{value} can change"
    return value


def is_same(one: ClusterState, other: ClusterState) -> bool:
    """Tell whether two states say the same; at little cost where they do, as most often."""
    if _BUT_TOPICS(one) != _BUT_TOPICS(other):
        return False
    topics = list(map(_TOPIC, one.topics.values()))
    return topics == list(map(_TOPIC, other.topics.values())) or one == other


def leaves(topic: Topic, state: ClusterState) -> bool:
    """Tell whether a topic's deletion goes on: no partition of it is reassigned."""
    is_moving = any(one.adding_replicas or one.removing_replicas for one in topic.partitions)
    return topic.is_deleting and not (is_moving and topic.name in state.topics)
