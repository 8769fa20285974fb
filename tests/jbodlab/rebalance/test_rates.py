from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jbodlab.errors import LabError
from jbodlab.rebalance.core.situation import Situation
from jbodlab.rebalance.rates import growth, rates_of_dump, rates_of_report
from protocol.ids import TopicPartition
from protocol.metrics.rows import RowOrigin
from tests.analytics.frames import LOG_DIR, REPLICA, changed, write_dump
from tests.jbodlab.rebalance.situations import at, partition


def test_rates_come_from_the_last_run_of_the_report_where_there_are_two_samples() -> None:
    before = {"cluster_id": "c", "run_id": "r1", "seed": -1}
    last = {**before, "run_id": "r2"}
    report: dict[str, Any] = {
        "runs": [before, last],
        "partitions": [
            {**before, "topic": "t", "partition": 1, "write_bytes_per_s": 7.0},
            {**last, "topic": "t", "partition": 1, "write_bytes_per_s": 900.0},
            {**last, "topic": "t", "partition": 2, "write_bytes_per_s": None},
        ],
        "left_out": {"partitions": 5},
    }
    assert rates_of_report(report) == {TopicPartition("t", 1): 900.0}
    assert rates_of_report({"runs": [], "partitions": []}) == {}
    del report["partitions"][0]
    with pytest.raises(LabError, match="no more than 2 partitions: take --rates live"):
        rates_of_report(report)


def test_growth_is_per_second_and_never_below_zero() -> None:
    def seen(*sizes: int) -> Situation:
        partitions = tuple(partition(n, [at(1, 1)], size) for n, size in enumerate(sizes))
        return Situation(log_dirs=(), partitions=partitions)

    assert growth(seen(100, 500), seen(300, 90, 7), 2.0) == {
        TopicPartition("t", 0): 100.0,
        TopicPartition("t", 1): 0.0,
    }


@pytest.mark.sampled_among("the longest stories in processes of their own", kept=1)
@pytest.mark.integration
def test_rates_of_a_dump_touch_no_report_beside_it(tmp_path: Path) -> None:
    dump, report = tmp_path / "data/metrics", tmp_path / "data/report"
    later = changed(REPLICA, at_ms=3000, size_bytes=600)
    write_dump(dump, [LOG_DIR, changed(LOG_DIR, at_ms=3000), REPLICA, later])
    (report / "comparisons").mkdir(parents=True)
    (report / "folded.json").write_text("{}")
    assert rates_of_dump(dump) == {TopicPartition("orders", 0): 250.0}
    assert sorted(path.name for path in report.iterdir()) == ["comparisons", "folded.json"]
    assert sorted(path.name for path in dump.parent.iterdir()) == ["metrics", "report"]
    write_dump(
        dump,
        [changed(LOG_DIR, at_ms=9000)],
        origin=RowOrigin(cluster_id="jbod-lab", run_id="run-2"),
    )
    with pytest.raises(LabError, match="no partition was sampled twice in the last run"):
        rates_of_dump(dump)
