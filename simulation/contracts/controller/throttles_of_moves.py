"""What throttles of reassignments promise: whose they are, and that they go with them.

Source: KIP-73, KIP-179; ReassignPartitionsCommand.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Final

from controller.core import throttles
from controller.core.reassignment_records import ThrottlesReleased
from controller.core.reassignment_rules import Assignment
from controller.core.state import ClusterState
from controller.core.step import Step
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import partitions

_LEADERS: Final = "leader.replication.throttled.replicas"
_FOLLOWERS: Final = "follower.replication.throttled.replicas"
_LISTS: Final = (_LEADERS, _FOLLOWERS)
_RATES: Final = frozenset(
    {"leader.replication.throttled.rate", "follower.replication.throttled.rate"}
)


@of_function(throttles.release_when_over)
def release_when_over(step: Step) -> Generator[None, None, Broken]:
    """Throttles of reassignments are taken off when the last one is over, and not before."""
    state = step.state
    claimed = bool(state.throttled_topics or state.throttled_brokers)
    if not claimed:
        count = len(step.records)
        yield
        decided = step.records[count:]
        return f"nothing is claimed, and decided is {decided}" if decided else None
    topics = [name for name in state.throttled_topics if name in state.topics]
    brokers = [str(each) for each in state.throttled_brokers]
    moving = [
        tp for tp, one, _ in partitions(state) if one.adding_replicas or one.removing_replicas
    ]
    permanent = {(name, key) for name in topics for key in _LISTS if "*" in _text(state, name, key)}
    count = len(step.records)
    yield
    released = any(isinstance(each, ThrottlesReleased) for each in step.records[count:])
    if released is bool(moving):
        return f"released: {released}, under way: {moving}"
    if not released or not step.defaults.jbodlab_reassignment_throttles_remove:
        is_quiet = len(step.records) == count + released
        return None if is_quiet else f"decided {step.records[count:]}"
    kept = {(name, key) for name in topics for key in _LISTS if key in state.topics[name].configs}
    if not kept <= permanent:
        return f"kept are {sorted(kept)}"
    left = [each for each in brokers if _RATES.intersection(state.dynamic_configs.get(each, ()))]
    return f"brokers {left} keep their rates" if left else None


@of_function(throttles.claim)
def claim(step: Step, wanted: Mapping[TopicPartition, Assignment]) -> Generator[None, None, Broken]:
    """Throttles are a reassignment's when the lists name what it moves."""
    state = step.state
    before = frozenset(state.throttled_topics), frozenset(state.throttled_brokers)
    moving = {tp: one.replicas for tp, one, _ in partitions(state) if tp in state.reassigning}
    moving.update((tp, each.replicas) for tp, each in wanted.items())
    named = {tp: replicas for tp, replicas in moving.items() if _is_named(state, tp, replicas)}
    is_theirs = any(_throttles(state, tp, each) for tp, each in wanted.items())
    yield
    topics = {tp.topic for tp in named}
    brokers = {each for replicas in named.values() for each in replicas if _is_slow(state, each)}
    after = frozenset(state.throttled_topics), frozenset(state.throttled_brokers)
    expected = (before[0] | topics, before[1] | brokers) if is_theirs else before
    return None if after == expected else f"claimed are {after}, not {expected}"


def _text(state: ClusterState, topic: str, key: str) -> str:
    return state.topics[topic].configs.get(key, "")


def _is_named(state: ClusterState, tp: TopicPartition, replicas: tuple[int, ...]) -> bool:
    listed = {entry.strip() for key in _LISTS for entry in _text(state, tp.topic, key).split(",")}
    return not listed.isdisjoint(f"{tp.partition}:{each}" for each in replicas)


def _is_slow(state: ClusterState, broker_id: int) -> bool:
    return not _RATES.isdisjoint(state.dynamic_configs.get(str(broker_id), {}))


def _throttles(state: ClusterState, tp: TopicPartition, wish: Assignment) -> bool:
    """Tell whether the lists are those that Kafka's tool makes for this wish."""
    followers = {entry.strip() for entry in _text(state, tp.topic, _FOLLOWERS).split(",")}
    leaders = {entry.strip() for entry in _text(state, tp.topic, _LEADERS).split(",")}
    if wish.adding:
        return not followers.isdisjoint(f"{tp.partition}:{each}" for each in wish.adding)
    own = [entry for entry in followers if entry.partition(":")[0] == str(tp.partition)]
    is_listed = _FOLLOWERS in state.topics[tp.topic].configs
    all_lead = leaders.issuperset(f"{tp.partition}:{each}" for each in wish.replicas)
    return is_listed and not own and "*" not in followers and all_lead
