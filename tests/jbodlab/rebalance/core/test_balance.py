from __future__ import annotations

from jbodlab.rebalance.core.balance import balance
from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.situation import Situation
from tests.jbodlab.rebalance.situations import at, in_one_dir, log_dirs, partition

SINGLE = [(at(1, 1),), (at(1, 2),)]


def balanced(sizes: list[int], request: PlanRequest | None = None) -> ClusterModel:
    request = request or PlanRequest()
    model = ClusterModel(
        Situation(log_dirs=log_dirs(1), partitions=in_one_dir(sizes, at(1, 1))), request
    )
    balance(model, request, SINGLE)
    return model


def test_the_replica_goes_that_brings_both_closest_together() -> None:
    model = balanced([50, 30, 20])
    assert model.loads == {at(1, 1): 50, at(1, 2): 50}
    assert model.place(Slot(0, 0)) == at(1, 2), "one move, not two"


def test_a_replica_that_would_only_change_places_stays() -> None:
    assert balanced([100]).loads == {at(1, 1): 100, at(1, 2): 0}


def test_what_is_within_the_tolerance_stays() -> None:
    request = PlanRequest(tolerance=0.5)
    dirs = log_dirs(1)
    partitions = tuple(partition(n, [at(1, 1 + (n > 2))], 10) for n in range(5))
    model = ClusterModel(Situation(log_dirs=dirs, partitions=partitions), request)
    balance(model, request, SINGLE)
    assert model.loads == {at(1, 1): 30, at(1, 2): 20}


def test_of_replicas_that_gain_the_same_the_one_with_fewer_bytes_goes() -> None:
    request = PlanRequest(tolerance=0)
    model = balanced([10, 30], request)
    assert model.places == [[at(1, 2)], [at(1, 1)]]


def two_dirs(first: list[int], second: list[int], **of_all: int) -> Situation:
    """Return replicas of those sizes in the two log dirs of one broker."""
    sizes = [(size, at(1, 1)) for size in first] + [(size, at(1, 2)) for size in second]
    partitions = tuple(partition(n, [place], size) for n, (size, place) in enumerate(sizes))
    return Situation(log_dirs=log_dirs(1, **of_all), partitions=partitions)


def test_where_no_replica_can_go_over_two_change_places() -> None:
    model = ClusterModel(two_dirs([70, 50], [40, 40]), PlanRequest())
    balance(model, PlanRequest(), SINGLE)
    assert model.loads == {at(1, 1): 110, at(1, 2): 90}
    assert model.place(Slot(1, 0)) == at(1, 2)
    assert model.place(Slot(2, 0)) == at(1, 1), "one 40 for the 50"
    assert model.place(Slot(3, 0)) == at(1, 2)


def test_replicas_of_two_brokers_change_places_too() -> None:
    sizes = {at(1, 1): [10, 10], at(2, 1): [8, 8]}
    placed = [(place, size) for place, each in sizes.items() for size in each]
    partitions = tuple(partition(n, [place], size) for n, (place, size) in enumerate(placed))
    request = PlanRequest(between_brokers=True)
    model = ClusterModel(Situation(log_dirs=log_dirs(2, 1), partitions=partitions), request)
    balance(model, request, [(at(1, 1),), (at(2, 1),)])
    assert model.loads == {at(1, 1): 18, at(2, 1): 18}


def test_no_exchange_puts_two_replicas_of_a_partition_on_one_broker() -> None:
    partitions = (
        partition(0, [at(1, 1), at(2, 1)], 10),
        partition(1, [at(1, 1), at(2, 1)], 10),
        partition(2, [at(1, 1), at(3, 1)], 4),
    )
    request = PlanRequest(between_brokers=True, tolerance=0)
    dirs = tuple(each for each in log_dirs(2, 1))
    model = ClusterModel(Situation(log_dirs=dirs, partitions=partitions[:2]), request)
    balance(model, request, [(at(1, 1),), (at(2, 1),)])
    assert model.places == [[at(1, 1), at(2, 1)]] * 2


def test_an_exchange_needs_room_for_both_copies() -> None:
    full = two_dirs([70, 50], [40, 40], total_bytes=120, usable_bytes=45)
    model = ClusterModel(full, PlanRequest(reserve=0))
    balance(model, PlanRequest(reserve=0), SINGLE)
    assert model.loads == {at(1, 1): 120, at(1, 2): 80}, "50 bytes find no room on the second"


def test_an_exchange_that_brings_next_to_nothing_is_left_alone() -> None:
    model = ClusterModel(two_dirs([1000, 1000], [995, 800]), PlanRequest())
    balance(model, PlanRequest(), SINGLE)
    assert model.loads == {at(1, 1): 2000, at(1, 2): 1795}, "1,800 copied to be as uneven again"


def test_a_replica_goes_after_another_of_its_partition_made_room() -> None:
    """Broker 3 takes a replica of partition 0 once its own one has gone to broker 4."""
    partitions = (
        partition(0, [at(1, 1), at(3, 1)], 60),
        partition(1, [at(1, 1)], 40),
        partition(2, [at(3, 1)], 30),
    )
    request = PlanRequest(between_brokers=True, tolerance=0)
    model = ClusterModel(Situation(log_dirs=log_dirs(4, 1), partitions=partitions), request)
    buckets = [(at(broker, 1),) for broker in (1, 2, 3, 4)]
    balance(model, request, buckets)
    assert max(model.loads.values()) == 60
    assert all(len({place.broker for place in places}) == len(places) for places in model.places)


def test_replicas_that_are_changing_or_not_whole_stay() -> None:
    partitions = (
        partition(0, [at(1, 1)], 50, is_changing=True),
        partition(1, [at(1, 1)], 50, leader=-1),
        partition(2, [at(1, 1)], 0),
    )
    model = ClusterModel(Situation(log_dirs=log_dirs(1), partitions=partitions), PlanRequest())
    balance(model, PlanRequest(), SINGLE)
    assert model.places == [[at(1, 1)]] * 3
