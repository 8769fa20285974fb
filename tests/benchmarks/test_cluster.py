from __future__ import annotations

import io
import json

from click.testing import CliRunner
from rich.console import Console

from benchmarks import cluster
from benchmarks.load import Rate
from benchmarks.paced import latencies_of
from benchmarks.runs import Figure


def rendered(tables: list[tuple[str, list[Figure]]]) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(cluster.as_table(tables))
    return console.export_text()


def test_a_rate_counts_bytes_and_records_per_second() -> None:
    rate = Rate(record_count=1000, size_bytes=2_000_000, seconds=0.5)
    assert (rate.megabytes_per_s, rate.records_per_s) == (4.0, 2000.0)


def test_the_table_has_a_column_per_target_and_a_ratio_where_there_is_a_peer() -> None:
    ours = ("jbodlab", [Figure("produce", 60.0, "MB/s"), Figure("start", 2.0, "s", "lower")])
    theirs = ("kafka", [Figure("produce", 40.0, "MB/s"), Figure("start", 8.0, "s", "lower")])
    text = rendered([ours, theirs])
    assert "1.50" in text
    assert "0.25" in text


def test_a_figure_that_the_peer_lacks_has_no_ratio() -> None:
    text = rendered([("jbodlab", [Figure("only ours", 1.0, "s")]), ("kafka", [])])
    assert text.count("- ") >= 2


def test_percentiles_of_latencies_are_those_of_records_that_were_acknowledged() -> None:
    found = latencies_of([number / 1000 for number in range(100, 0, -1)])
    assert found == (100, 50.0, 99.0, 100.0)


def test_a_lower_latency_has_a_ratio_below_one() -> None:
    ours = ("jbodlab", [Figure("p50", 1.1, "ms", "lower")])
    theirs = ("kafka", [Figure("p50", 2.2, "ms", "lower")])
    assert "0.50" in rendered([ours, theirs])


def test_json_lists_every_figure_with_its_target_and_unit() -> None:
    rows = json.loads(cluster.as_json_text([("jbodlab", [Figure("start", 2.0, "s", "lower")])]))
    assert rows == [{"target": "jbodlab", "name": "start", "value": 2.0, "unit": "s"}]


def test_an_unknown_part_is_refused_with_the_known_ones() -> None:
    result = CliRunner().invoke(cluster.main, ["--only", "nothing"])
    assert result.exit_code == 2
    assert "failover" in result.output
