from __future__ import annotations

from dataclasses import replace

import pytest

from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.rules import may_go, takes_replicas
from jbodlab.rebalance.core.situation import LogDir, LogDirId, Partition, Situation
from tests.jbodlab.rebalance.situations import at, log_dirs, partition

ANYWHERE = PlanRequest(between_brokers=True)


def allowed(
    one: Partition,
    target: LogDirId,
    request: PlanRequest = ANYWHERE,
    dirs: tuple[LogDir, ...] | None = None,
    replica: int = 0,
) -> bool:
    model = ClusterModel(Situation(log_dirs=dirs or log_dirs(4), partitions=(one,)), request)
    return may_go(model, request, Slot(0, replica), target)


def test_one_broker_never_holds_two_replicas_of_a_partition() -> None:
    one = partition(0, [at(1, 1), at(2, 1)])
    assert not allowed(one, at(2, 2))
    assert allowed(one, at(3, 1))


def test_replicas_stay_with_their_broker_unless_they_may_leave() -> None:
    one = partition(0, [at(1, 1)])
    assert allowed(one, at(1, 2), PlanRequest())
    assert not allowed(one, at(2, 1), PlanRequest())
    assert allowed(one, at(2, 1), PlanRequest(drained_brokers=frozenset({1})))


def test_a_replica_that_is_offline_cannot_be_moved_by_its_own_broker() -> None:
    one = partition(0, [at(1, 1), at(2, 1)], offline=[1])
    assert not allowed(one, at(1, 2))
    assert allowed(one, at(3, 1))


@pytest.mark.parametrize(("rack_of_3", "is_allowed"), [("r2", False), ("r3", True)])
def test_racks_stay_as_spread_as_they_are(rack_of_3: str, is_allowed: bool) -> None:
    dirs = tuple(
        replace(each, rack=rack_of_3) if each.id.broker == 3 else each for each in log_dirs(3)
    )
    one = partition(0, [at(1, 1), at(2, 1)])
    assert allowed(one, at(3, 1), dirs=dirs) == is_allowed


def test_the_reserve_of_a_disk_stays_free() -> None:
    dirs = log_dirs(1, 2, total_bytes=1000, usable_bytes=200)
    request = PlanRequest(reserve=0.1)
    assert allowed(partition(0, [at(1, 1)], 100), at(1, 2), request, dirs)
    assert not allowed(partition(0, [at(1, 1)], 101), at(1, 2), request, dirs)
    assert allowed(partition(0, [at(1, 1)], 101), at(1, 1), request, dirs), "it lies there already"


def test_what_arrives_counts_and_what_leaves_does_not_free_anything() -> None:
    dirs = log_dirs(1, 2, total_bytes=1000, usable_bytes=150)
    request = PlanRequest(reserve=0.0)
    pair = tuple(partition(number, [at(1, number + 1)], 100) for number in range(2))
    more = partition(2, [at(1, 1)], 100)
    model = ClusterModel(Situation(log_dirs=dirs, partitions=(*pair, more)), request)
    model.move(Slot(0, 0), at(1, 2))
    model.move(Slot(1, 0), at(1, 1))
    assert not may_go(model, request, Slot(2, 0), at(1, 2))


def test_what_is_closed_or_drained_takes_nothing() -> None:
    dirs = (
        LogDir(id=at(1, 1)),
        LogDir(id=at(1, 2), is_cordoned=True),
        LogDir(id=at(1, 3), is_online=False),
        LogDir(id=at(1, 4)),
    )
    request = PlanRequest(drained=frozenset({at(1, 4)}))
    model = ClusterModel(Situation(log_dirs=dirs, partitions=()), request)
    assert [takes_replicas(model, request, each.id) for each in dirs] == [True, False, False, False]
