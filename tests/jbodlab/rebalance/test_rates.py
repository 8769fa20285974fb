from __future__ import annotations

from jbodlab.rebalance.core.situation import Situation
from jbodlab.rebalance.rates import growth, rates_of_report
from protocol.ids import TopicPartition
from tests.jbodlab.rebalance.situations import at, partition


def test_rates_come_from_the_last_run_of_the_report_where_there_are_two_samples() -> None:
    before = {"cluster_id": "c", "run_id": "r1", "seed": -1}
    last = {**before, "run_id": "r2"}
    report = {
        "runs": [before, last],
        "partitions": [
            {**before, "topic": "t", "partition": 1, "write_bytes_per_s": 7.0},
            {**last, "topic": "t", "partition": 1, "write_bytes_per_s": 900.0},
            {**last, "topic": "t", "partition": 2, "write_bytes_per_s": None},
        ],
    }
    assert rates_of_report(report) == {TopicPartition("t", 1): 900.0}
    assert rates_of_report({"runs": [], "partitions": []}) == {}


def test_growth_is_per_second_and_never_below_zero() -> None:
    def seen(*sizes: int) -> Situation:
        partitions = tuple(partition(n, [at(1, 1)], size) for n, size in enumerate(sizes))
        return Situation(log_dirs=(), partitions=partitions)

    assert growth(seen(100, 500), seen(300, 90, 7), 2.0) == {
        TopicPartition("t", 0): 100.0,
        TopicPartition("t", 1): 0.0,
    }
