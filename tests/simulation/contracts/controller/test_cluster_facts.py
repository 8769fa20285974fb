"""All that a state says, and what of it changed."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from controller.core.records import BrokerFenced, LogDirsFailed, ReplicasProbed, ShutdownBegun
from controller.core.state import ClusterState
from simulation.contracts.controller.cluster_facts import (
    GONE,
    alive,
    changes,
    copy_of,
    differs,
    exactly,
    facts_of,
    gone,
    leaves,
    live,
    partitions,
    placed_in,
    replaced_since,
    working,
)
from tests.controller.core.cluster import log_dir, tp
from tests.simulation.contracts.controller.controlled import led


def test_what_changed_and_what_went_is_told_by_path() -> None:
    state = led([1, 2]).state
    before = facts_of(state)
    LogDirsFailed(1, (log_dir(1, 1),)).apply(state)
    del state.hosted[2][tp("t-0")]
    found = changes(before, facts_of(state))
    assert found == {("brokers", 1): state.brokers[1], ("hosted", 2, tp("t-0")): GONE}
    assert gone(state, "hosted") == {("hosted", 1, tp("t-0")): GONE}


def test_what_has_the_name_of_nothing_is_there_until_it_is_deleted() -> None:
    state = led([1, 2]).state
    state.topic_names[b"id"] = "gone"
    before = facts_of(state)
    del state.topic_names[b"id"]
    assert changes(before, facts_of(state)) == {("topic_names", b"id"): GONE}
    promised = exactly(state, gone(state, "hosted", 1))
    state.topic_names[b"id"] = "gone"
    wanted = gone(state, "topic_names", b"id")
    assert {path for path, each in wanted.items() if before[path] != each} == set(wanted)
    promised.close()


def test_what_was_promised_and_did_not_come_is_told_and_so_is_what_was_not() -> None:
    state = led([1, 2]).state
    looks = exactly(state, {("controller_epoch",): 9})
    next(looks)
    state.journal_number += 1
    with pytest.raises(StopIteration) as end:
        next(looks)
    assert "controller_epoch" in end.value.value
    assert "journal_number" in end.value.value
    assert differs({}, {}) is None


def test_brokers_and_replicas_that_can_do_something() -> None:
    state = led([1, 2, 3]).state
    assert (alive(state), live(state), working(state, tp("t-0"))) == ([1, 2, 3],) * 3
    BrokerFenced(1).apply(state)
    ShutdownBegun(2).apply(state)
    assert (alive(state), live(state)) == ([2, 3], [3])
    ReplicasProbed(3, (tp("t-0"),), ()).apply(state)
    assert working(state, tp("t-0")) == []
    assert [each for each, _, _ in partitions(state)] == [tp("t-0")]


def test_a_topic_leaves_once_none_of_it_moves() -> None:
    state = led([1, 2, 3]).state
    topic = state.topics["t"]
    assert not leaves(topic, state)
    topic.is_deleting = True
    assert leaves(topic, state)


def test_a_copy_has_what_never_changes_and_no_table_in_common() -> None:
    state = led([1, 2]).state
    copied = copy_of(state)
    assert copied == state
    assert copied.topics["t"].partitions[0] is state.topics["t"].partitions[0]
    before = deepcopy(state)
    state.hosted[2].clear()
    state.topics["t"].configs["retention.ms"] = "1"
    state.topics["t"].partitions.clear()
    state.topics["t"].is_deleting = True
    state.brokers.clear()
    assert copied == before != state


def test_what_was_placed_is_kept_whatever_comes() -> None:
    state = led([1, 2]).state
    topic, one = state.topics["t"], state.partition(tp("t-0"))
    placed, nothing = placed_in(state), placed_in(ClusterState())
    assert list(replaced_since(placed, state)) == []
    assert list(replaced_since(nothing, state)) == [(tp("t-0"), topic, one, None, None)]
    topic.partitions.append(one)
    assert list(replaced_since(placed, state)) == [(tp("t-1"), topic, one, None, None)]
    other = topic.partitions[0] = replace(one)
    topic.partitions.pop()
    assert list(replaced_since(placed, state)) == [(tp("t-0"), topic, other, one, topic.topic_id)]
    topic.partitions.clear()
    assert list(replaced_since(placed, state)) == []
