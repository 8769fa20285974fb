"""Bytes written per second of each partition: from a dump through Spark, or by looking twice."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.errors import ExitCode, LabError
from jbodlab.rebalance.core.situation import Replica, Situation
from jbodlab.rebalance.look import look_at_cluster
from jbodlab.spark_job import run_report
from protocol.ids import TopicPartition

_RUN: Final = ("cluster_id", "run_id", "seed")


def rates_of_dump(dump_dir: Path) -> dict[TopicPartition, float]:
    """Run the Spark job on a dump of metric rows; no report of the user's is touched.

    Raises:
        LabError: as ``run_report``; FAILED where it tells no rate, or not those of all partitions.
    """
    with tempfile.TemporaryDirectory(prefix="jbodlab-rates-") as folder:
        text = run_report(dump_dir, Path(folder), "--plain", "--no-archive")
    rates = rates_of_report(json.loads(text))
    if not rates:
        raise LabError(
            ExitCode.FAILED,
            f"no partition was sampled twice in the last run of {dump_dir}: wait for two "
            "metrics.interval_ms, or take --rates live",
        )
    return rates


def rates_of_report(report: Mapping[str, Any]) -> dict[TopicPartition, float]:
    """Return the rates of a report's last run; partitions with one sample only are left out.

    Raises:
        LabError: FAILED where the report has not all partitions of that run.
    """
    if not report["runs"]:
        return {}
    last = report["runs"][-1]
    own = [row for row in report["partitions"] if all(row[name] == last[name] for name in _RUN)]
    # Rows of other runs are left out before those of the last one.
    if report["left_out"].get("partitions") and len(own) == len(report["partitions"]):
        raise LabError(
            ExitCode.FAILED,
            f"a report tells of no more than {len(own)} partitions: take --rates live",
        )
    return {
        TopicPartition(row["topic"], row["partition"]): row["write_bytes_per_s"]
        for row in own
        if row["write_bytes_per_s"] is not None
    }


def measured_rates(
    admin: ClusterAdmin, seconds: float, sleep: Callable[[float], None]
) -> dict[TopicPartition, float]:
    """Look at the sizes of all replicas twice, ``seconds`` apart.

    Raises:
        KafkaError: the controller's answer.
        ConnectionError: no broker answers.
    """
    first = look_at_cluster(admin)
    sleep(seconds)
    return growth(first, look_at_cluster(admin), seconds)


def growth(first: Situation, second: Situation, seconds: float) -> dict[TopicPartition, float]:
    """Return by how much the largest replica of each partition grew per second; never below 0."""
    before = {each.tp: _largest(each.replicas) for each in first.partitions}
    return {
        each.tp: max(0.0, (_largest(each.replicas) - before[each.tp]) / seconds)
        for each in second.partitions
        if each.tp in before
    }


def _largest(replicas: Iterable[Replica]) -> int:
    return max((replica.size_bytes for replica in replicas), default=0)
