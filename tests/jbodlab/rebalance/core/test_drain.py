from __future__ import annotations

from dataclasses import replace

from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.drain import LeftBehind, drain
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.situation import Partition, Situation
from tests.jbodlab.rebalance.situations import at, in_one_dir, log_dirs, partition

ONE_DIR = PlanRequest(drained=frozenset({at(1, 1)}))
ONE_BROKER = PlanRequest(drained_brokers=frozenset({1}))


def drained(
    partitions: tuple[Partition, ...], request: PlanRequest, brokers: int = 1
) -> tuple[ClusterModel, list[LeftBehind]]:
    model = ClusterModel(Situation(log_dirs=log_dirs(brokers, 3), partitions=partitions), request)
    return model, drain(model, request)


def test_what_a_log_dir_held_is_spread_over_the_others_of_its_broker() -> None:
    model, left = drained(in_one_dir([40, 30, 20, 10], at(1, 1)), ONE_DIR)
    assert left == []
    assert model.loads == {at(1, 1): 0, at(1, 2): 50, at(1, 3): 50}


def test_empty_replicas_are_spread_by_their_number() -> None:
    model, _ = drained(in_one_dir([0, 0, 0, 0], at(1, 1)), ONE_DIR)
    assert [len(model.contents[at(1, number)]) for number in (1, 2, 3)] == [0, 2, 2]


def test_what_a_broker_held_goes_to_brokers_without_the_partition() -> None:
    one = partition(0, [at(1, 1), at(2, 1)])
    model, left = drained((one,), ONE_BROKER, brokers=3)
    assert left == []
    assert model.place(Slot(0, 0)).broker == 3


def test_replicas_of_a_dead_broker_are_copied_from_their_leaders() -> None:
    one = partition(0, [at(1, 1), at(2, 1)], offline=[1], leader=2)
    model, left = drained((one,), ONE_BROKER, brokers=3)
    assert left == []
    assert model.place(Slot(0, 0)).broker == 3


def test_staying_on_the_broker_is_preferred_to_the_network() -> None:
    request = replace(ONE_DIR, between_brokers=True)
    fuller_at_home = (*in_one_dir([5], at(1, 1)), partition(9, [at(1, 2)], 90))
    model, _ = drained(fuller_at_home, request, brokers=2)
    assert model.place(Slot(0, 0)) == at(1, 3)


def test_what_cannot_go_is_told_with_its_reason() -> None:
    partitions = (
        partition(0, [at(1, 1), at(2, 1)]),
        partition(1, [at(1, 1)], leader=-1),
        partition(2, [at(1, 1)], is_changing=True),
    )
    _, left = drained(partitions, ONE_BROKER, brokers=2)
    assert [(each.tp.partition, each.at) for each in left] == [(n, at(1, 1)) for n in range(3)]
    reasons = [each.reason for each in left]
    assert reasons == [
        "no log dir may take it (brokers, racks, cordons, free bytes)",
        "it has no leader to copy from",
        "it is being reassigned or moved already",
    ]
