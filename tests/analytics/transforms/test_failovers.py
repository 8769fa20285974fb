import pytest
from pyspark.sql import SparkSession

from analytics.transforms.failovers import failover_durations, failover_steps, failovers
from protocol.metrics.rows import FailoverEventRow, FailoverStep, RowOrigin
from tests.analytics.frames import EVENT, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)

STORY = [
    changed(EVENT, at_ms=1000, partition_count=4, detail="/d1: append: eio"),
    changed(EVENT, at_ms=1001, step=FailoverStep.HEARTBEAT_SENT),
    changed(EVENT, at_ms=1003, step=FailoverStep.CONTROLLER_NOTICED, node="controller"),
    changed(
        EVENT, at_ms=1010, step=FailoverStep.REPLICAS_OFFLINE, node="controller", partition_count=3
    ),
    changed(
        EVENT, at_ms=1012, step=FailoverStep.LEADERS_ELECTED, node="controller", partition_count=2
    ),
    changed(EVENT, at_ms=1020, step=FailoverStep.BROKERS_TOLD, node="controller"),
    changed(EVENT, at_ms=1100, step=FailoverStep.CLIENT_RECOVERED, node="client"),
]


def test_steps_come_in_their_order_with_times_from_failure_and_between(spark: SparkSession) -> None:
    steps = failover_steps(frame_of(spark, "failover_event", STORY[::-1]))
    columns = ("step_order", "step", "node", "since_failure_ms", "since_previous_ms")
    assert picked(steps, *columns) == [
        (0, "log_dir_failed", "broker-1", 0, None),
        (1, "heartbeat_sent", "broker-1", 1, 1),
        (2, "controller_noticed", "controller", 3, 2),
        (3, "replicas_offline", "controller", 10, 7),
        (4, "leaders_elected", "controller", 12, 2),
        (5, "brokers_told", "controller", 20, 8),
        (6, "client_recovered", "client", 100, 80),
    ]


def test_a_failover_is_summed_up_in_one_row(spark: SparkSession) -> None:
    steps = failover_steps(frame_of(spark, "failover_event", STORY))
    [row] = failovers(steps).collect()
    assert row.asDict() == {
        "cluster_id": "jbod-lab",
        "run_id": "run-1",
        "seed": -1,
        "failure_id": "f1",
        "failed_at_ms": 1000,
        "node": "broker-1",
        "detail": "/d1: append: eio",
        "cause": "eio",
        "offline_count": 3,
        "moved_count": 2,
        "elected_after_ms": 12,
        "recovered_after_ms": 100,
        "ended_after_ms": 100,
        "last_step": "client_recovered",
        "is_finished": True,
        "waiting_for": None,
        "clock_skew_ms": 0,
    }


def test_a_repeated_step_counts_once_and_the_last_client_ends_it(spark: SparkSession) -> None:
    rows = [
        STORY[0],
        STORY[1],
        changed(STORY[1], at_ms=1500),
        changed(STORY[6], at_ms=1100, node="client"),
        changed(STORY[6], at_ms=1300, node="client"),
    ]
    steps = failover_steps(frame_of(spark, "failover_event", rows))
    seen = steps.where("at_ms is not null")
    assert picked(seen, "step", "since_failure_ms") == [
        ("log_dir_failed", 0),
        ("heartbeat_sent", 1),
        ("client_recovered", 300),
    ]


def test_a_failover_whose_broker_wrote_nothing_counts_from_its_first_row(
    spark: SparkSession,
) -> None:
    [row] = failovers(failover_steps(frame_of(spark, "failover_event", STORY[2:4]))).collect()
    assert (row.failed_at_ms, row.node, row.offline_count) == (1003, "controller", 3)
    assert (row.moved_count, row.elected_after_ms, row.ended_after_ms) == (None, None, 7)


def test_failures_are_kept_apart_and_come_in_the_order_they_happened(spark: SparkSession) -> None:
    def second(row: FailoverEventRow) -> FailoverEventRow:
        return changed(row, failure_id="f0", at_ms=row.at_ms + 5000)

    rows = STORY + [second(row) for row in STORY[:5]]
    found = failovers(failover_steps(frame_of(spark, "failover_event", rows)))
    assert picked(found, "failure_id", "failed_at_ms", "last_step") == [
        ("f1", 1000, "client_recovered"),
        ("f0", 6000, "leaders_elected"),
    ]


def test_an_unfinished_failover_says_which_step_was_not_seen(spark: SparkSession) -> None:
    steps = failover_steps(frame_of(spark, "failover_event", STORY[:3]))
    assert picked(steps, "step", "since_failure_ms", "since_previous_ms")[2:] == [
        ("controller_noticed", 3, 2),
        ("replicas_offline", None, None),
        ("leaders_elected", None, None),
        ("brokers_told", None, None),
    ]
    [row] = failovers(steps).collect()
    assert (row.is_finished, row.waiting_for) == (False, "replicas_offline")
    assert (row.last_step, row.moved_count) == ("controller_noticed", None)


def test_a_failover_without_clients_is_finished_when_brokers_were_told(spark: SparkSession) -> None:
    [row] = failovers(failover_steps(frame_of(spark, "failover_event", STORY[:6]))).collect()
    assert (row.is_finished, row.recovered_after_ms) == (True, None)


def test_clocks_that_disagree_are_said(spark: SparkSession) -> None:
    behind = changed(STORY[2], at_ms=960)
    steps = failover_steps(frame_of(spark, "failover_event", [*STORY[:2], behind, *STORY[3:]]))
    [row] = failovers(steps).collect()
    assert row.clock_skew_ms == 41


def test_the_cause_is_the_error_without_its_file(spark: SparkSession) -> None:
    detail = "/d1: probe: [Errno 5] Input/output error (injected): ''"
    events = frame_of(spark, "failover_event", [changed(EVENT, detail=detail)])
    found = failovers(failover_steps(events))
    assert picked(found, "cause") == [("[Errno 5] Input/output error (injected)",)]


def test_one_failure_in_two_runs_is_two_failovers(spark: SparkSession) -> None:
    other = RowOrigin(cluster_id="jbod-lab", run_id="run-2")
    events = frame_of(spark, "failover_event", STORY).union(
        frame_of(spark, "failover_event", STORY[:1], other)
    )
    found = failovers(failover_steps(events))
    assert picked(found, "run_id", "is_finished") == [("run-1", True), ("run-2", False)]


def test_durations_are_told_by_cause_and_size(spark: SparkSession) -> None:
    def failed(name: str, offline: int, elected_at_ms: int) -> list[FailoverEventRow]:
        return [
            changed(STORY[0], failure_id=name),
            changed(STORY[3], failure_id=name, partition_count=offline),
            changed(STORY[4], failure_id=name, at_ms=elected_at_ms),
        ]

    rows = [*failed("a", 3, 1010), *failed("b", 9, 1030), *failed("c", 12, 1500)]
    found = failover_durations(failovers(failover_steps(frame_of(spark, "failover_event", rows))))
    assert picked(found, "cause", "size_class", "failure_count", "p50_ms", "max_ms") == [
        ("eio", "1-9", 2, 20.0, 30),
        ("eio", "10-99", 1, 500.0, 500),
    ]
    assert picked(found, "unfinished_count") == [(2,), (1,)]


def test_a_failure_whose_replicas_nobody_counted_is_of_unknown_size(spark: SparkSession) -> None:
    rows = [
        changed(STORY[1], failure_id="lost rows"),
        changed(STORY[3], failure_id="not counted", partition_count=-1),
    ]
    found = failover_durations(failovers(failover_steps(frame_of(spark, "failover_event", rows))))
    assert picked(found, "size_class", "failure_count") == [("unknown", 2)]
