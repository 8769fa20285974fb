"""The choice of the replica a consumer reads from."""

from __future__ import annotations

import pytest

from broker.core.closest_replica import closest_replica
from broker.core.partition import Partition
from tests.broker.core.test_partition import append, fetch, partition

RACKS = {1: "a", 2: "b", 3: "b"}


def led(*ends: int, isr: tuple[int, ...] = (1, 2, 3)) -> Partition:
    """Broker 1 leads ten records; 2 and 3 have fetched up to ``ends``."""
    made = partition(isr=isr)
    append(made, 10)
    for number, (replica, end) in enumerate(zip((2, 3), ends, strict=True)):
        fetch(made, replica, end, now_ms=number)
    return made


def choice(of: Partition, *, rack: str = "b", offset: int = 0) -> int:
    return closest_replica(of, client_rack=rack, fetch_offset=offset, rack_of=RACKS.get)


def test_the_most_caught_up_replica_of_the_rack_is_chosen() -> None:
    assert choice(led(8, 5)) == 2
    assert choice(led(5, 8)) == 3


def test_among_equals_the_one_that_caught_up_last_is_chosen() -> None:
    of = led(10, 10)
    assert choice(of) == 3
    fetch(of, 2, 10, now_ms=50)
    assert choice(of) == 2


@pytest.mark.parametrize("rack", ["a", "c", ""])
def test_the_leader_serves_its_own_rack_and_unknown_ones(rack: str) -> None:
    assert choice(led(10, 10), rack=rack) == -1


def test_a_replica_outside_the_isr_or_without_the_offset_is_not_chosen() -> None:
    assert choice(led(8, 10, isr=(1, 2))) == 2
    assert choice(led(8, 5), offset=9) == -1
    assert choice(partition()) == -1


def test_a_follower_chooses_nobody() -> None:
    assert choice(partition(leader=2)) == -1
