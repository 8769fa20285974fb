from analytics.findings import rows_of_run
from analytics.pictures.failover_waterfalls import failover_waterfalls
from tests.analytics.told import RUN, tables


def test_each_stage_begins_where_the_one_before_ended() -> None:
    picture = failover_waterfalls(rows_of_run(tables(), tuple(RUN.values())))
    assert picture is not None
    [panel] = picture.panels
    bars = panel.spec["data"]["values"]
    assert [(bar["step"], bar["from"], bar["to"], bar["kind"]) for bar in bars] == [
        ("failed", 0, 0, "step"),
        ("noticed", 0, 12, "step"),
        ("offline", 12, 8, "skew"),
        ("last partition back", 8, 372, "client"),
    ]
    assert "noticed at 12 ms" in panel.description
    assert "told was not seen" in panel.description


def test_where_nothing_failed_there_is_no_picture() -> None:
    assert failover_waterfalls(rows_of_run({}, None)) is None
