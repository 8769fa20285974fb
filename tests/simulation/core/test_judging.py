from __future__ import annotations

from dataclasses import replace

import pytest

from protocol.ids import TopicPartition
from simulation.core.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Count,
    ErrorSeen,
    FaultHits,
    FileIn,
    FullIsr,
    FutureReplica,
    InIsr,
    Isr,
    Leader,
    LeaderEpoch,
    Led,
    LogDirIs,
    Metric,
    NodeIs,
    Not,
    OfflineReplicas,
    Offsets,
    Reassigning,
    ReplicaIn,
    Replicas,
    TopicExists,
)
from simulation.core.judging import judge
from simulation.core.observation import (
    LogDirSeen,
    NodeSeen,
    Observation,
    OffsetsSeen,
    PartitionSeen,
    ReplicaSeen,
    WorkloadSeen,
)

ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)
SOME = ReplicaSeen(size_bytes=10, offset_lag=0)
FUTURE_OF_2 = "the future replica of orders-0 on broker-2 is in d1 with a lag of 6"
BEHIND = ReplicaSeen(size_bytes=4, offset_lag=6)


def partition(**changes: object) -> PartitionSeen:
    seen = PartitionSeen(
        leader=2, leader_epoch=4, replicas=(1, 2, 3), isr=(3, 2), offline_replicas=(1,)
    )
    return replace(seen, **changes)


SEEN = Observation(
    now_ms=0,
    metadata={2: {ORDERS_0: partition(), ORDERS_1: partition(leader=-1)}},
    log_dirs={
        (1, "d1"): LogDirSeen(error="KAFKA_STORAGE_ERROR"),
        (1, "d2"): LogDirSeen(error="NONE", is_cordoned=True, replicas={ORDERS_0: SOME}),
        (2, "d1"): LogDirSeen(error="NONE", futures={ORDERS_0: BEHIND}),
    },
    reassigning=(ORDERS_1,),
    offsets={ORDERS_0: OffsetsSeen(earliest=3, latest=100)},
    workloads={"load": WorkloadSeen(acknowledged=7, read=2, errors={"KAFKA_STORAGE_ERROR": 2})},
    nodes={
        "broker-2": NodeSeen(state="running"),
        "broker-1": NodeSeen(state="stopped", exit_code=1),
    },
    metrics={("broker-2", "offline_log_dir_count"): 1.0},
    fault_hits={"dead": 3},
    files={(1, "d2"): {"orders-0": "", "orders-0/a.log": "", "meta.properties": "broker.id=1"}},
)


def file_in(name: str, text: str | None = None, *, log_dir: str = "d2") -> FileIn:
    return FileIn(broker="broker-1", log_dir=log_dir, name=name, text=text)


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
        (
            LogDirIs(broker="broker-1", log_dir="d1", state="offline"),
            True,
            "d1 of broker-1 is offline (KAFKA_STORAGE_ERROR)",
        ),
        (
            LogDirIs(broker="broker-1", log_dir="of orders-0", state="online"),
            True,
            "d2 of broker-1 is online and cordoned",
        ),
        (
            LogDirIs(broker="broker-1", log_dir="d2", state="cordoned"),
            True,
            "d2 of broker-1 is online and cordoned",
        ),
        (
            LogDirIs(broker="broker-2", log_dir="d1", state="cordoned"),
            False,
            "d1 of broker-2 is online",
        ),
        (
            LogDirIs(broker="broker-3", log_dir="d1", state="online"),
            None,
            "nobody tells of d1 of broker-3",
        ),
        (
            ReplicaIn(of="orders-0", broker="broker-1", log_dir="d2"),
            True,
            "the current replica of orders-0 on broker-1 is in d2",
        ),
        (
            ReplicaIn(of="orders-0", broker="broker-1"),
            True,
            "the current replica of orders-0 on broker-1 is in d2",
        ),
        (
            ReplicaIn(of="orders-0", broker="broker-1", log_dir="d1"),
            False,
            "the current replica of orders-0 on broker-1 is in d2, says broker-2",
        ),
        (
            FutureReplica(of="orders-0", broker="leader of orders-0"),
            True,
            "the future replica of orders-0 on leader of orders-0 is in d1 with a lag of 6",
        ),
        (
            FutureReplica(of="orders-0", broker="broker-2", lag=6, lag_at_least=6, lag_at_most=6),
            True,
            FUTURE_OF_2,
        ),
        (
            AnyOf(
                (
                    FutureReplica(of="orders-0", broker="broker-2", lag=5),
                    FutureReplica(of="orders-0", broker="broker-2", lag_at_least=7),
                    FutureReplica(of="orders-0", broker="broker-2", lag_at_most=5),
                )
            ),
            False,
            f"{'; '.join([FUTURE_OF_2] * 3)}, says broker-2",
        ),
        (
            Not(FutureReplica(of="orders-0", broker="broker-1")),
            True,
            "the future replica of orders-0 on broker-1 is nowhere",
        ),
        (
            Not(FutureReplica(of="orders-0", broker="broker-3")),
            None,
            "nobody tells of the log dirs of broker-3, says broker-2",
        ),
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
        (file_in("orders-0"), True, "d2 of broker-1 holds orders-0"),
        (file_in("orders-*"), True, "d2 of broker-1 holds orders-0, orders-0/a.log"),
        (file_in("*-delete"), False, "d2 of broker-1 holds no *-delete"),
        (
            file_in("meta.properties", "id=1"),
            True,
            "meta.properties in d2 of broker-1 reads 'id=1'",
        ),
        (
            file_in("meta.properties", "id=2"),
            False,
            "meta.properties in d2 of broker-1 does not read 'id=2'",
        ),
        (file_in("x", log_dir="d9"), None, "nobody tells what is in d9 of broker-1"),
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
    before = Observation(now_ms=0, workloads={"load": WorkloadSeen(acknowledged=4)})

    assert judge(Count(workload="load", more=3), SEEN, before) == (
        True,
        "load has 7 acknowledged, 3 more",
    )
    assert judge(Count(workload="load", more=4), SEEN, before).holds is False
