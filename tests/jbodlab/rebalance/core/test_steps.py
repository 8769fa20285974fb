from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jbodlab.rebalance.core.plan import make_plan
from jbodlab.rebalance.core.plan_file import ANY, Wanted, as_it_is, wanted_by
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.situation import LogDirId, Situation
from jbodlab.rebalance.core.steps import (
    DirMove,
    Host,
    Orders,
    Place,
    Seen,
    decide,
    is_done,
    remaining_bytes,
    under_way,
)
from protocol.ids import TopicPartition
from tests.jbodlab.rebalance.situations import situations

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def wanted(tp: TopicPartition, brokers: dict[int, str]) -> Wanted:
    return Wanted(tp=tp, brokers=tuple(brokers), log_dirs=tuple(brokers.values()))


def seen(
    replicas: Mapping[TopicPartition, tuple[int, ...]],
    places: Mapping[Host, Place] | None = None,
    targets: Mapping[TopicPartition, tuple[int, ...]] | None = None,
) -> Seen:
    here = {
        Host(tp, broker): Place(path="/d1", size_bytes=100)
        for tp, brokers in replicas.items()
        for broker in brokers
    }
    return Seen(replicas=replicas, targets=targets or {}, places={**here, **(places or {})})


def move(broker: int, path: str, tp: TopicPartition = T0) -> DirMove:
    return DirMove(LogDirId(broker, path), tp)


def test_an_added_replica_has_its_log_dir_chosen_first() -> None:
    plan = [wanted(T0, {3: "/d2", 2: ANY})]
    orders = decide(plan, seen({T0: (1, 2)}), at_once=5)
    assert orders == Orders(chosen=(move(3, "/d2"),), reassign={T0: (3, 2)})


def test_a_replica_that_only_changes_its_log_dir_is_moved() -> None:
    plan = [wanted(T0, {1: "/d2", 2: ANY})]
    assert decide(plan, seen({T0: (1, 2)}), at_once=5) == Orders(moves=(move(1, "/d2"),))


def test_what_is_under_way_is_waited_for() -> None:
    plan = [wanted(T0, {3: "/d1"}), wanted(T1, {1: "/d2"})]
    going = Place(path="/d1", size_bytes=100, future_path="/d2", future_bytes=30)
    now = seen({T0: (1,), T1: (1,)}, {Host(T1, 1): going}, {T0: (3,)})
    assert decide(plan, now, at_once=5) == Orders()
    assert not is_done(plan, now)


def test_the_next_reassignment_begins_when_one_has_ended() -> None:
    plan = [wanted(tp, {2: ANY}) for tp in (T0, T1, T2)]
    first = decide(plan, seen(dict.fromkeys((T0, T1, T2), (1,))), at_once=2)
    assert list(first.reassign) == [T0, T1]
    two_left = seen({T0: (1,), T1: (1,), T2: (1,)}, targets={T0: (2,), T1: (2,)})
    assert decide(plan, two_left, at_once=2).reassign == {}
    one_left = seen({T0: (2,), T1: (1,), T2: (1,)}, targets={T1: (2,)})
    assert list(decide(plan, one_left, at_once=2).reassign) == [T2]


def test_what_has_most_left_to_copy_begins_first() -> None:
    plan = [wanted(tp, {2: ANY}) for tp in (T0, T1)] + [wanted(T2, {1: "/d2"})]
    sized = {Host(T1, 1): Place(path="/d1", size_bytes=900)}
    now = seen({T0: (1,), T1: (1,), T2: (1,)}, sized)
    assert list(decide(plan, now, at_once=1).reassign) == [T1]
    moves = [wanted(tp, {1: "/d2"}) for tp in (T0, T1)]
    assert decide(moves, now, at_once=1).moves == (move(1, "/d2", T1),)


def test_each_broker_has_so_many_moves_under_way() -> None:
    plan = [wanted(tp, {1: "/d2", 2: "/d2"}) for tp in (T0, T1)]
    going = Place(path="/d1", size_bytes=100, future_path="/d2")
    now = seen({T0: (1, 2), T1: (1, 2)}, {Host(T0, 1): going})
    assert decide(plan, now, at_once=1).moves == (move(2, "/d2"),)
    assert decide(plan, now, at_once=2).moves == (
        move(2, "/d2"),
        move(1, "/d2", T1),
        move(2, "/d2", T1),
    )


def test_what_goes_elsewhere_is_turned_round_at_once() -> None:
    plan = [wanted(T0, {1: "/d1"}), wanted(T1, {1: "/d1"})]
    going = Place(path="/d1", size_bytes=1, future_path="/d2")
    now = seen({T0: (1,), T1: (1,)}, {Host(T1, 1): going}, {T0: (3,)})
    assert decide(plan, now, at_once=1) == Orders(reassign={T0: (1,)}, moves=(move(1, "/d1", T1),))


def test_an_added_replica_that_began_in_another_log_dir_is_moved() -> None:
    plan = [wanted(T0, {3: "/d2"})]
    begun = seen({T0: (1,)}, {Host(T0, 3): Place(path="/d1", size_bytes=4)}, {T0: (3,)})
    assert decide(plan, begun, at_once=5) == Orders(moves=(move(3, "/d2"),))


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (seen({T0: (1,)}), False),
        (seen({T0: (3,)}), False),
        (seen({T0: (3,)}, {Host(T0, 3): Place(path="/d2", size_bytes=1)}), True),
        (
            seen({T0: (3,)}, {Host(T0, 3): Place(path="/d2", size_bytes=1, future_path="/d1")}),
            False,
        ),
        (seen({T0: (3,)}, {Host(T0, 3): Place(path="/d2", size_bytes=1)}, {T0: (3,)}), False),
    ],
)
def test_a_plan_is_done_when_all_is_in_place_and_nothing_is_under_way(
    now: Seen, expected: bool
) -> None:
    assert is_done([wanted(T0, {3: "/d2"})], now) == expected


def test_the_order_of_replicas_counts() -> None:
    plan = [wanted(T0, {2: ANY, 1: ANY})]
    now = seen({T0: (1, 2)})
    assert not is_done(plan, now)
    assert decide(plan, now, at_once=1) == Orders(reassign={T0: (2, 1)})
    assert remaining_bytes(plan, now) == {}


def test_stopping_takes_back_what_is_under_way_and_leaves_the_rest() -> None:
    plan = [wanted(T0, {3: "/d1"}), wanted(T1, {1: "/d2"}), wanted(T2, {2: ANY})]
    going = Place(path="/d1", size_bytes=100, future_path="/d2", future_bytes=30)
    now = seen({T0: (1,), T1: (1,), T2: (2,)}, {Host(T1, 1): going}, {T0: (3,)})
    orders = under_way(plan, now)
    assert list(orders.reassign) == [T0]
    assert orders.moves == (move(1, "/d1", T1),)


def test_what_remains_is_what_is_not_copied_yet() -> None:
    plan = [wanted(T0, {3: "/d1"}), wanted(T1, {1: "/d2"}), wanted(T2, {1: "/d1"})]
    going = Place(path="/d1", size_bytes=100, future_path="/d2", future_bytes=30)
    added = Place(path="/d1", size_bytes=60)
    now = seen({T0: (1,), T1: (1,), T2: (1,)}, {Host(T1, 1): going, Host(T0, 3): added}, {T0: (3,)})
    assert remaining_bytes(plan, now) == {Host(T0, 3): 40, Host(T1, 1): 70}


class Cluster:
    """Carries orders out in two steps: first they are under way, then they are done."""

    def __init__(self, situation: Situation) -> None:
        self.seen = Seen(
            replicas={
                one.tp: tuple(each.at.broker for each in one.replicas)
                for one in situation.partitions
            },
            targets={},
            places={
                Host(one.tp, each.at.broker): Place(path=each.at.path, size_bytes=each.size_bytes)
                for one in situation.partitions
                for each in one.replicas
            },
        )
        self.chosen: dict[Host, str] = {}

    def take(self, orders: Orders) -> None:
        for order in orders.chosen:
            self.chosen[Host(order.tp, order.at.broker)] = order.at.path
        places = dict(self.seen.places)
        for order in orders.moves:
            host = Host(order.tp, order.at.broker)
            place = places[host]
            future = "" if place.path == order.at.path else order.at.path
            places[host] = replace(place, future_path=future)
        self.seen = replace(
            self.seen, targets={**self.seen.targets, **orders.reassign}, places=places
        )

    def go_on(self) -> None:
        places = {
            host: replace(place, path=place.future_path or place.path, future_path="")
            for host, place in self.seen.places.items()
        }
        for tp, brokers in self.seen.targets.items():
            for broker in self.seen.replicas[tp]:
                if broker not in brokers:
                    del places[Host(tp, broker)]
            for broker in brokers:
                host = Host(tp, broker)
                places.setdefault(host, Place(path=self.chosen.get(host, "/d1"), size_bytes=1))
        self.seen = Seen(
            replicas={**self.seen.replicas, **self.seen.targets}, targets={}, places=places
        )

    def run(self, plan: list[Wanted], rounds: int = 100) -> None:
        for _ in range(rounds):
            if is_done(plan, self.seen):
                return
            self.take(decide(plan, self.seen, at_once=2))
            self.go_on()


@given(situations(), st.integers(0, 4), st.booleans())
def test_a_plan_cut_anywhere_goes_on_and_goes_back(
    situation: Situation, rounds: int, is_under_way: bool
) -> None:
    plan = wanted_by(make_plan(situation, PlanRequest(between_brokers=True)))
    back = as_it_is(situation, plan)
    cluster = Cluster(situation)
    begun = cluster.seen

    cluster.run(plan, rounds)
    if is_under_way:
        cluster.take(decide(plan, cluster.seen, at_once=2))
    cut = cluster.seen
    cluster.run(plan)
    assert is_done(plan, cluster.seen)
    cluster.seen = cut
    cluster.run(back)
    assert is_done(back, cluster.seen)
    assert cluster.seen.replicas == begun.replicas
    assert {host: place.path for host, place in cluster.seen.places.items()} == {
        host: place.path for host, place in begun.places.items()
    }
