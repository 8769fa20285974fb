from analytics.report_columns import LEFT, OUTAGE_COLUMNS, RUN_COLUMNS


def test_a_time_of_day_and_a_count_that_are_unknown_are_dashes() -> None:
    row = {"began_ms": 1_700_000_000_123, "ended_ms": None, "seed": -1}
    assert OUTAGE_COLUMNS["began"](row) == "22:13:20.123"
    assert OUTAGE_COLUMNS["ended"](row) == "-"
    assert RUN_COLUMNS["seed"](row) == "-"
    assert "seed" not in LEFT
