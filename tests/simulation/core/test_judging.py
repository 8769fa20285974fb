from __future__ import annotations

from dataclasses import replace

import pytest

from simulation.core.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Count,
    ErrorSeen,
    FaultHits,
    FullIsr,
    InIsr,
    Isr,
    Leader,
    LeaderEpoch,
    Led,
    Metric,
    NodeIs,
    Not,
    OfflineReplicas,
    Offsets,
    Reassigning,
    Replicas,
    TopicExists,
)
from simulation.core.judging import judge
from simulation.core.observation import Observation, ObservedWorkload
from tests.simulation.core.observed import ORDERS_0, SEEN, partition


@pytest.mark.parametrize(
    ("condition", "holds", "says"),
    [
        (Led("orders-0"), True, "orders-0 is led by broker-2"),
        (Led("orders"), False, "orders-1 is led by nobody, says broker-2"),
        (Led("*"), False, "orders-1 is led by nobody, says broker-2"),
        (Led("payments"), False, "there is no partition of payments, says broker-2"),
        (Led("orders-7"), False, "there is no orders-7, says broker-2"),
        (Leader(of="orders-0", is_="broker-2"), True, "orders-0 is led by broker-2"),
        (
            Leader(of="orders-0", is_="broker-1"),
            False,
            "orders-0 is led by broker-2, says broker-2",
        ),
        (LeaderEpoch(of="orders-0", is_=4), True, "orders-0 has leader epoch 4"),
        (LeaderEpoch(of="orders", at_least=3, at_most=4), True, "orders-1 has leader epoch 4"),
        (
            LeaderEpoch(of="orders-0", at_least=5),
            False,
            "orders-0 has leader epoch 4, says broker-2",
        ),
        (Isr(of="orders-0", are=(2, 3)), True, "the Isr of orders-0 is [3, 2]"),
        (Isr(of="orders-0", are=(2,)), False, "the Isr of orders-0 is [3, 2], says broker-2"),
        (InIsr(of="orders-0", broker="leader of orders-0"), True, "the Isr of orders-0 is [3, 2]"),
        (
            InIsr(of="orders-0", broker="broker-1"),
            False,
            "the Isr of orders-0 is [3, 2], says broker-2",
        ),
        (FullIsr("orders-0"), False, "the Isr of orders-0 is [3, 2] of [1, 2, 3], says broker-2"),
        (FullIsr("orders-1"), False, "orders-1 is led by nobody, says broker-2"),
        (
            OfflineReplicas(of="orders-0", are=(1,)),
            True,
            "the offline replicas of orders-0 are [1]",
        ),
        (Replicas(of="orders-0", are=(1, 2, 3)), True, "the replicas of orders-0 are [1, 2, 3]"),
        (
            Replicas(of="orders-0", are=(2, 1, 3)),
            False,
            "the replicas of orders-0 are [1, 2, 3], says broker-2",
        ),
        (TopicExists("orders"), True, "there is a topic orders"),
        (Not(TopicExists("payments")), True, "there is no topic payments"),
        (Reassigning("*"), True, "reassigned are orders-1"),
        (Reassigning("orders-1"), True, "reassigned are orders-1"),
        (Reassigning("orders-0"), False, "no reassignment of orders-0 is under way"),
        (Offsets(of="orders-0", earliest=3, latest=100), True, "orders-0 has offsets 3 to 100"),
        (Offsets(of="orders-0", earliest_at_least=3), True, "orders-0 has offsets 3 to 100"),
        (
            Offsets(of="orders-0", earliest_at_least=4),
            False,
            "orders-0 has offsets 3 to 100, says broker-2",
        ),
        (
            Offsets(of="orders-0", latest_at_least=101),
            False,
            "orders-0 has offsets 3 to 100, says broker-2",
        ),
        (
            Offsets(of="orders-1", earliest=0),
            None,
            "nobody tells the offsets of orders-1, says broker-2",
        ),
        (Count(workload="load", at_least=7), True, "load has 7 acknowledged"),
        (Count(workload="load", what="read", is_=3), False, "load has 2 read"),
        (Count(workload="load", what="errors", at_most=2), True, "load has 2 errors"),
        (Count(workload="idle", at_least=1), False, "idle has 0 acknowledged"),
        (
            ErrorSeen(workload="load", code="KAFKA_STORAGE_ERROR"),
            True,
            "load has seen KAFKA_STORAGE_ERROR 2 times",
        ),
        (Not(ErrorSeen(workload="idle", code="NONE")), True, "idle has seen no error"),
        (NodeIs(node="broker-2", state="running"), True, "broker-2 is running"),
        (
            NodeIs(node="broker-1", state="stopped", exit_code=1),
            True,
            "broker-1 is stopped, its exit code is 1",
        ),
        (
            NodeIs(node="broker-1", state="stopped", exit_code=0),
            False,
            "broker-1 is stopped, its exit code is 1",
        ),
        (
            NodeIs(node="leader of orders-1", state="running"),
            None,
            "there is no leader of orders-1, says broker-2",
        ),
        (
            Metric(broker="broker-2", name="offline_log_dir_count", is_=1),
            True,
            "offline_log_dir_count of broker-2 is 1",
        ),
        (Metric(broker="broker-1", name="x", is_=1), None, "broker-1 has no metric x"),
        (FaultHits(fault="dead", at_least=3), True, "the fault dead met 3"),
        (FaultHits(fault="dead", at_least=4), False, "the fault dead met 3"),
    ],
)
def test_a_condition_is_judged_and_what_was_seen_is_told(
    condition: Condition, holds: bool | None, says: str
) -> None:
    assert judge(condition, SEEN) == (holds, says)


def test_what_one_broker_denies_does_not_hold() -> None:
    seen = replace(SEEN, metadata={1: {ORDERS_0: partition()}, 3: {ORDERS_0: partition(leader=1)}})

    assert judge(Leader(of="orders-0", is_="broker-2"), seen) == (
        False,
        "orders-0 is led by broker-1, says broker-3",
    )
    assert judge(Not(Leader(of="orders-0", is_="broker-2")), seen).holds is False


def test_what_nobody_tells_holds_neither_way() -> None:
    nothing = Observation(now_ms=0)

    for condition in (Led("orders-0"), Not(Led("orders-0")), Not(Reassigning("*"))):
        assert judge(condition, nothing).holds is None


TRUE = TopicExists("orders")
FALSE = TopicExists("payments")
UNKNOWN = NodeIs(node="broker-9", state="running")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (AllOf((TRUE, TRUE)), True),
        (AllOf((TRUE, FALSE, UNKNOWN)), False),
        (AllOf((TRUE, UNKNOWN)), None),
        (AnyOf((FALSE, FALSE)), False),
        (AnyOf((FALSE, UNKNOWN, TRUE)), True),
        (AnyOf((FALSE, UNKNOWN)), None),
        (Not(UNKNOWN), None),
    ],
)
def test_conditions_combine_as_three_valued_logic(condition: Condition, holds: bool | None) -> None:
    assert judge(condition, SEEN).holds is holds


def test_a_combination_says_what_decided_it() -> None:
    assert judge(AllOf((Led("orders-0"), FALSE, Led("orders-1"))), SEEN).says == (
        "there is no topic payments; orders-1 is led by nobody, says broker-2"
    )


def test_more_counts_from_when_the_step_began() -> None:
    before = Observation(now_ms=0, workloads={"load": ObservedWorkload(acknowledged=4)})

    assert judge(Count(workload="load", more=3), SEEN, before) == (
        True,
        "load has 7 acknowledged, 3 more",
    )
    assert judge(Count(workload="load", more=4), SEEN, before).holds is False
