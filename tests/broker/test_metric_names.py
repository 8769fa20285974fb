"""Names of metrics: every number has one, and Prometheus takes it."""

from __future__ import annotations

import pytest

from broker.metric_names import LOG_DIR, PLAIN, REQUEST
from broker.metrics import LogDirStats, Metrics, RequestStats


@pytest.mark.parametrize("name", [f.name for f in Metrics(1).families()])
def test_names_are_fit_for_prometheus(name: str) -> None:
    assert name.replace("_", "").isalnum()
    assert name == name.lower()


def test_every_name_stands_for_a_number_that_is_there() -> None:
    assert [row[0] for row in LOG_DIR if not hasattr(LogDirStats(), row[0])] == []
    assert [row[0] for row in PLAIN if not hasattr(Metrics(1), row[0])] == []
    assert [row[0] for row in REQUEST if not hasattr(RequestStats(), row[0])] == []


def test_the_cleaner_of_each_log_dir_is_told_under_kafkas_names() -> None:
    names = [row[1] for row in LOG_DIR]
    assert "kafka_log_logcleanermanager_uncleanable_partitions_count" in names
    assert "kafka_log_logcleanermanager_max_dirty_percent" in names
