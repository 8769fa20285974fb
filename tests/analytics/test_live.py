from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analytics.live import LivePage, Tables, follow
from analytics.report import lines_of
from analytics.tail import Tail
from protocol.metrics.rows import FailoverStep
from tests.analytics.frames import EVENT, LOG_DIR, changed, write_dump


@pytest.mark.sampled_among("streams of facts", kept=0)
def test_a_row_that_is_written_is_shown_at_the_next_look_and_nothing_new_shows_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, seen = tmp_path / "dump", list[Tables]()
    page = LivePage(tmp_path / "out")
    write_dump(dump, [LOG_DIR])
    failed = changed(EVENT, at_ms=2000, detail="/d1: append: eio")
    elected = changed(EVENT, at_ms=2100, step=FailoverStep.LEADERS_ELECTED, node="controller")
    later = iter([[], [changed(LOG_DIR, at_ms=2000, online=False), failed, elected], None])

    def show(tables: Tables) -> None:
        seen.append(tables)
        page.write(tables)

    def goes_on() -> bool:
        rows = next(later)
        write_dump(dump, rows or [])
        return rows is not None

    follow(spark, Tail(dump, tmp_path / "window", bytes_max=100_000), show, goes_on)
    assert [[row["state"] for row in tables["log_dirs"]] for tables in seen] == [
        ["online"],
        ["offline"],
    ]
    assert "new leaders after 100 ms" in " ".join(lines_of(seen[-1]))
    text = page.path.read_text()
    assert '<meta http-equiv="refresh"' in text
    assert "new leaders after 100 ms" in text
