"""Placement: Kafka's round robin, its rack rule, its errors."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.placement import (
    PARTITIONS_PER_REQUEST_MAX,
    Start,
    UsableBroker,
    check_counts,
    check_room,
    check_total,
    place,
    start_for_growth,
    start_for_new_topic,
)
from controller.core.records import LogDirsCordoned
from controller.core.state import ClusterState
from protocol.errors import ErrorCode, KafkaError
from tests.controller.core.cluster import log_dir, registered

RACKLESS = [UsableBroker(broker_id, None) for broker_id in range(5)]


def racks(*names: str) -> list[UsableBroker]:
    return [UsableBroker(broker_id, rack) for broker_id, rack in enumerate(names)]


def test_followers_shift_with_every_round() -> None:
    # The table in the comment of Kafka's AdminUtils: 10 partitions, 5 brokers, 3 replicas.
    assert place(RACKLESS, 10, 3, Start(0, 0, 0)) == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    ]


def test_racks_alternate_and_no_rack_gets_a_second_replica_before_all_have_one() -> None:
    candidates = racks("rack1", "rack3", "rack3", "rack2", "rack2", "rack1")

    # The example in the comment of Kafka's AdminUtils, for its broker list 0, 3, 1, 5, 4, 2.
    assert place(candidates, 7, 3, Start(0, 0, 0)) == [
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    ]


def test_growth_continues_at_the_broker_of_partition_zero() -> None:
    candidates = [UsableBroker(broker_id, None) for broker_id in (1, 2, 3)]
    start = start_for_growth(candidates, first_leader=2, partition=4)

    assert start == Start(1, 1, 4)
    assert start_for_growth(candidates, first_leader=9, partition=4) == Start(0, 0, 4)


def test_a_new_topic_begins_where_chance_says() -> None:
    assert start_for_new_topic(RACKLESS, Random(3)) == start_for_new_topic(RACKLESS, Random(3))


def test_one_replica_needs_no_followers() -> None:
    assert place([UsableBroker(7, None)], 3, 1, Start(0, 0, 0)) == [(7,), (7,), (7,)]


@pytest.mark.parametrize(
    ("partitions", "replication_factor", "code", "message"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (
            1,
            0,
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0.",
        ),
        (
            1,
            4,
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor: 4 larger than available brokers: 3.",
        ),
    ],
)
def test_impossible_counts_are_refused_in_kafkas_words(
    partitions: int, replication_factor: int, code: ErrorCode, message: str
) -> None:
    with pytest.raises(KafkaError) as error:
        check_counts(partitions, replication_factor, 3)
    assert (error.value.code, error.value.message) == (code, message)


def test_one_request_makes_ten_thousand_partitions_and_no_more() -> None:
    check_total(PARTITIONS_PER_REQUEST_MAX)
    with pytest.raises(KafkaError, match="Excessively large") as error:
        check_total(PARTITIONS_PER_REQUEST_MAX + 1)
    assert error.value.code == ErrorCode.POLICY_VIOLATION


def test_replicas_are_put_by_hand_on_no_broker_without_a_log_dir_for_them() -> None:
    state = ClusterState()
    for broker_id in (1, 2, 3):
        for record in registered(broker_id, broker_id):
            record.apply(state)
    LogDirsCordoned(2, (log_dir(2, 1), log_dir(2, 2))).apply(state)

    check_room(state, [1, 3])
    with pytest.raises(KafkaError, match=r"all cordoned or offline: 2$") as error:
        check_room(state, [3, 2, 1])
    assert error.value.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_racks_on_some_brokers_only_are_refused() -> None:
    with pytest.raises(KafkaError, match="Not all brokers have rack information"):
        place([UsableBroker(1, "a"), UsableBroker(2, None)], 1, 1, Start(0, 0, 0))


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=7),
    st.integers(1, 7),
    st.integers(1, 20),
    st.randoms(use_true_random=False),
)
def test_replicas_are_distinct_and_use_as_many_racks_as_they_can(
    rack_names: list[str], replication_factor: int, partitions: int, chance: Random
) -> None:
    candidates = racks(*rack_names)
    replication_factor = min(replication_factor, len(candidates))

    placed = place(
        candidates, partitions, replication_factor, start_for_new_topic(candidates, chance)
    )

    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == replication_factor
        used = {rack_names[broker_id] for broker_id in replicas}
        assert len(used) == min(replication_factor, len(set(rack_names)))


@given(st.integers(1, 7), st.integers(1, 40), st.randoms(use_true_random=False))
def test_preferred_leaders_are_spread_evenly(brokers: int, partitions: int, chance: Random) -> None:
    candidates = [UsableBroker(broker_id, None) for broker_id in range(brokers)]

    placed = place(candidates, partitions, 1, start_for_new_topic(candidates, chance))

    counts = [sum(replicas[0] == broker_id for replicas in placed) for broker_id in range(brokers)]
    assert max(counts) - min(counts) <= 1
