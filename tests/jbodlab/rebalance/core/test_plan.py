from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.plan import RebalancePlan, least_seconds, make_plan
from jbodlab.rebalance.core.plan_request import Goal, PlanRequest
from jbodlab.rebalance.core.situation import LogDirId, Replica, Situation
from tests.jbodlab.rebalance.situations import (
    at,
    in_one_dir,
    loads,
    log_dirs,
    partition,
    situations,
)

WISHES = st.builds(
    PlanRequest,
    goal=st.sampled_from(Goal),
    between_brokers=st.booleans(),
    reserve=st.sampled_from([0.0, 0.1]),
    tolerance=st.sampled_from([0.0, 0.05]),
)
DRAINS = st.builds(
    PlanRequest,
    goal=st.sampled_from(Goal),
    between_brokers=st.booleans(),
    drained=st.frozensets(st.sampled_from([at(1, 1), at(2, 1), at(2, 2)]), max_size=2),
    drained_brokers=st.frozensets(st.integers(1, 2), max_size=1),
)


def racks(situation: Situation, places: tuple[LogDirId, ...]) -> int:
    rack_of = {each.id.broker: each.rack for each in situation.log_dirs}
    return len({rack_of[place.broker] for place in places})


def assert_is_allowed(plan: RebalancePlan) -> None:
    """Check a plan against the rules, told in other words than the planner's."""
    known = {each.id: each for each in plan.situation.log_dirs}
    arriving: dict[LogDirId, int] = {}
    for each in plan.movements:
        target = known[each.target]
        assert target.is_online
        assert not target.is_cordoned
        assert not plan.request.drains(target.id)
        assert (
            plan.request.between_brokers
            or plan.request.drained_brokers
            or not each.is_between_brokers
        )
        arriving[target.id] = arriving.get(target.id, 0) + each.size_bytes
    for at_, size_bytes in arriving.items():
        if known[at_].usable_bytes >= 0:
            left = known[at_].usable_bytes - size_bytes
            assert left >= plan.request.reserve * known[at_].total_bytes
    for one, places in zip(plan.situation.partitions, plan.places, strict=True):
        assert len({place.broker for place in places}) == len(places) == len(one.replicas)
        begun = tuple(replica.at for replica in one.replicas)
        assert racks(plan.situation, places) >= racks(plan.situation, begun)
        assert places == begun or not one.is_changing


def fullest(plan: RebalancePlan, dirs: Mapping[LogDirId, float]) -> float:
    model = ClusterModel(plan.situation, plan.request)
    return max((dirs[each] / model.shares[each] for each in model.log_dirs), default=0.0)


@given(situations(), WISHES)
def test_a_plan_keeps_the_rules_and_makes_nothing_worse(
    situation: Situation, request: PlanRequest
) -> None:
    plan = make_plan(situation, request)

    assert_is_allowed(plan)
    assert plan.left_behind == ()
    assert plan.imbalance_after <= plan.imbalance_before + 1e-9
    assert plan.least_bytes <= plan.moved_bytes + 1e-6
    model = ClusterModel(situation, request)
    after = dict.fromkeys(model.log_dirs, 0.0)
    for number, places in enumerate(plan.places):
        for index, place in enumerate(places):
            after[place] += model.weight(Slot(number, index))
    assert fullest(plan, after) <= fullest(plan, model.loads) + 1e-9
    assert make_plan(situation, request) == plan


@given(situations(), DRAINS)
def test_a_drain_moves_all_that_may_go_and_nothing_else(
    situation: Situation, request: PlanRequest
) -> None:
    plan = make_plan(situation, request)

    assert_is_allowed(plan)
    if not request.is_drain:
        return
    assert all(request.drains(each.source) for each in plan.movements)
    staying = {(each.tp, each.at) for each in plan.left_behind}
    for one, places in zip(situation.partitions, plan.places, strict=True):
        for place in places:
            assert not request.drains(place) or (one.tp, place) in staying


def test_within_a_broker_the_log_dirs_end_alike_and_others_are_left_alone() -> None:
    partitions = in_one_dir([60, 50, 40, 30, 20, 10], at(1, 1))
    plan = make_plan(Situation(log_dirs=log_dirs(2, 3), partitions=partitions), PlanRequest())
    assert loads(plan) == {at(1, 1): 70, at(1, 2): 70, at(1, 3): 70}
    assert plan.imbalance_before == 3.0
    assert plan.imbalance_after == 1.0
    assert plan.moved_bytes == plan.least_bytes == 140


def test_between_brokers_all_log_dirs_end_alike() -> None:
    partitions = in_one_dir([10] * 12, at(1, 1))
    request = PlanRequest(between_brokers=True)
    plan = make_plan(Situation(log_dirs=log_dirs(2, 2), partitions=partitions), request)
    assert loads(plan) == {at(broker, number): 30 for broker in (1, 2) for number in (1, 2)}
    assert sum(each.is_between_brokers for each in plan.movements) == 6
    assert plan.moved_bytes == plan.least_bytes == 90


def test_brokers_are_evened_out_although_one_replica_is_more_than_a_fair_share() -> None:
    """What is beside the large replica goes, even where its log dir was no fuller than the next."""
    partitions = (
        partition(0, [at(1, 1)], 120),
        *(partition(n, [at(1, 2)], 30) for n in (1, 2)),
        partition(3, [at(2, 1)], 30),
    )
    request = PlanRequest(between_brokers=True)
    plan = make_plan(Situation(log_dirs=log_dirs(2, 2), partitions=partitions), request)
    after = loads(plan)
    assert after[at(1, 1)] == 120
    assert after[at(2, 1)] + after[at(2, 2)] == 90
    assert plan.imbalance_after == plan.imbalance_before


def test_counts_are_evened_out_with_the_smallest_replicas() -> None:
    partitions = in_one_dir([70, 5, 60, 6], at(1, 1))
    plan = make_plan(
        Situation(log_dirs=log_dirs(1), partitions=partitions), PlanRequest(goal=Goal.PARTITIONS)
    )
    assert [each.tp.partition for each in plan.movements] == [1, 3]
    assert plan.least_bytes == 11


def test_larger_disks_get_more() -> None:
    dirs = tuple(
        each
        for number, total in ((1, 1000), (2, 3000))
        for each in log_dirs(1, 2, total_bytes=total)[number - 1 : number]
    )
    plan = make_plan(
        Situation(log_dirs=dirs, partitions=in_one_dir([10] * 8, at(1, 1))), PlanRequest()
    )
    assert loads(plan) == {at(1, 1): 20, at(1, 2): 60}


def test_what_moves_already_counts_where_it_will_be() -> None:
    whole = partition(0, [at(1, 1)], 80)
    moving = replace(whole, becoming=(Replica(at=at(1, 2), size_bytes=80, coming_bytes=80),))
    others = tuple(partition(n, [at(1, 1)], 20) for n in (1, 2, 3, 4))
    plan = make_plan(Situation(log_dirs=log_dirs(1), partitions=(moving, *others)), PlanRequest())
    assert plan.movements == ()
    assert loads(plan) == {at(1, 1): 80, at(1, 2): 80}
    leaving = make_plan(
        Situation(log_dirs=log_dirs(1), partitions=(moving,)),
        PlanRequest(drained=frozenset({at(1, 1)})),
    )
    assert leaving.left_behind == (), "it is leaving already"


def test_the_room_that_moves_under_way_will_take_is_not_given_twice() -> None:
    """80 of 100 free bytes are still to be filled by partition 0."""
    dirs = log_dirs(1, total_bytes=1000, usable_bytes=100)
    whole = partition(0, [at(1, 1)], 80)
    moving = replace(whole, becoming=(Replica(at=at(1, 2), size_bytes=80, coming_bytes=80),))
    others = tuple(partition(n, [at(1, 1)], 30) for n in range(1, 9))
    situation = Situation(log_dirs=dirs, partitions=(moving, *others))
    assert make_plan(situation, PlanRequest(reserve=0)).movements == ()
    at_rest = replace(situation, partitions=(whole, *others))
    assert make_plan(at_rest, PlanRequest(reserve=0)).moved_bytes == 80


def test_every_way_has_its_own_limit() -> None:
    request = PlanRequest(drained_brokers=frozenset({1}))
    partitions = (partition(0, [at(1, 1)], 100), partition(1, [at(1, 1)], 200))
    plan = make_plan(Situation(log_dirs=log_dirs(3, 1), partitions=partitions), request)
    assert {each.target.broker for each in plan.movements} == {2, 3}
    assert least_seconds(plan, 10) == 30, "broker 1 sends both"
    within = make_plan(
        Situation(log_dirs=log_dirs(1), partitions=in_one_dir([100, 100], at(1, 1))), PlanRequest()
    )
    assert least_seconds(within, 10) == pytest.approx(10)
    empty = make_plan(Situation(log_dirs=(), partitions=()), PlanRequest())
    assert least_seconds(empty, 10) == 0
