from __future__ import annotations

from dataclasses import fields

from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from simulation.sampling.state_facts import compacted, facts_of
from tests.controller.core.cluster import tp
from tests.controller.core.test_snapshot import EVERYTHING, state_of


def test_a_state_and_its_compacted_journal_say_the_same() -> None:
    state = state_of(*EVERYTHING)
    state.removed = {3: {tp("t-1"): None, tp("t-0"): None}}

    assert facts_of(compacted(state)) == facts_of(state)


def test_what_a_snapshot_leaves_out_is_missing_in_its_facts() -> None:
    state = state_of(*EVERYTHING)
    state.removed = {3: {tp("t-1"): None}}
    rest = [record for record in snapshot(state) if type(record).__name__ != "RemovalsPending"]

    missing = set(facts_of(state)) - set(facts_of(state_of(*rest)))

    assert [fact.partition(" ")[0] for fact in sorted(missing)] == ["removed"]


def test_each_field_that_counts_has_a_fact_once_something_is_in_it() -> None:
    names = {fact.replace(":", " ").partition(" ")[0] for fact in facts_of(state_of(*EVERYTHING))}

    counted = {field.name for field in fields(ClusterState) if field.compare}
    assert names <= counted
    assert {"cluster_id", "brokers", "topics", "offline", "hosted", "unknown_replicas"} <= names


def test_neither_the_order_of_entries_nor_an_empty_one_counts() -> None:
    state, other = ClusterState(), ClusterState()
    state.offline = {1: {tp("t-0"): None, tp("t-1"): None}, 2: {}}
    other.offline = {1: {tp("t-1"): None, tp("t-0"): None}}

    assert facts_of(state) == facts_of(other)


def test_the_order_of_replicas_counts() -> None:
    state, other = state_of(*EVERYTHING), state_of(*EVERYTHING)
    partition = other.topics["t"].partitions[2]
    other.topics["t"].partitions[2] = type(partition)(replicas=(*partition.replicas[::-1], 9))

    assert facts_of(state) != facts_of(other)
