"""The proof of a load: gaps, losses and doubles are found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kafka.errors import KafkaTimeoutError

from jbodlab.load import Acknowledged, LoadReport, close, dump_load, load_rows, verify
from jbodlab.processes.lab_spec import write_lab_spec
from protocol.cluster_file.spec import load_cluster_spec
from protocol.metrics.rows import ClientRow


def report(*acknowledged: tuple[int, float]) -> LoadReport:
    records = [
        Acknowledged(number, partition, at, at)
        for number, (partition, at) in enumerate(acknowledged)
    ]
    return LoadReport(acknowledged=tuple(records), failed=(), seconds=2.0)


def test_the_longest_gap_is_per_partition_and_after_the_break() -> None:
    load = report((0, 0.0), (1, 5.1), (0, 5.0), (0, 5.25), (1, 5.4), (0, 5.3))
    assert load.longest_gap_ms([0], after=5.0) == pytest.approx(250)
    assert load.longest_gap_ms([1], after=5.0) == pytest.approx(300)
    assert load.longest_gap_ms([0, 1], after=5.0) == pytest.approx(300)


def test_a_gap_begins_at_the_break_when_that_is_later() -> None:
    assert report((0, 1.0), (0, 9.0)).longest_gap_ms([0], after=8.0) == pytest.approx(1000)


def test_no_gap_is_zero() -> None:
    assert report((0, 1.0)).longest_gap_ms([0, 7], after=0.0) == 0


def test_the_rate_counts_what_was_acknowledged() -> None:
    assert report((0, 1.0), (0, 2.0)).records_per_second == 1.0


def test_losses_and_doubles_are_named() -> None:
    acknowledged = [Acknowledged(number, 0, 0.0, 0.0) for number in (1, 2, 3)]
    check = verify(acknowledged, [1, 1, 3, 9])
    assert (check.lost, check.twice, check.is_clean) == ((2,), (1,), False)
    assert (check.acknowledged, check.read) == (3, 4)


def test_records_that_were_never_acknowledged_may_be_there() -> None:
    assert verify([Acknowledged(1, 0, 0.0, 0.0)], [1, 2]).is_clean


def test_what_a_load_saw_is_told_as_rows_of_its_partitions() -> None:
    rows = load_rows("orders", report((0, 1.0), (1, 1.5), (0, 1.8)).acknowledged)
    seen = {row.partition: row for row in rows if isinstance(row, ClientRow)}
    assert {partition: row.acknowledged_count for partition, row in seen.items()} == {0: 2, 1: 1}
    assert seen[0].silence_ms == pytest.approx(800, abs=1)


def test_a_load_is_written_beside_the_rows_of_the_cluster(tmp_path: Path) -> None:
    spec = load_cluster_spec(write_lab_spec(tmp_path))
    dump_load(spec, "run-1", "orders", report((0, 1.0), (0, 1.5)).acknowledged)
    [file] = Path(spec.metrics.dump_dir).glob("client/v*/broker=-1/*.jsonl")
    [row] = [json.loads(line) for line in file.read_text().splitlines()]
    assert (row["run_id"], row["cluster_id"]) == ("run-1", spec.cluster_id)
    assert row["acknowledged_count"] == 2


class Unanswered:
    """A producer as kafka-python's: closing it flushes first, which nobody answers."""

    def __init__(self) -> None:
        self.is_closed = False

    def flush(self, timeout: float | None = None) -> None:
        raise KafkaTimeoutError(f"Timeout waiting for future: {timeout}")

    def close(self, timeout: float) -> None:
        self.flush(timeout)
        self.is_closed = True


def test_a_producer_that_nobody_answers_is_closed_without_an_error() -> None:
    producer = Unanswered()
    close(producer, timeout_s=0)
    assert producer.is_closed
