from analytics.findings import rows_of_run
from analytics.pictures.outage_bars import outage_bars
from tests.analytics.told import BEGIN_MS, RUN, tables


def test_an_outage_is_a_bar_with_its_cause() -> None:
    picture = outage_bars(rows_of_run(tables(), tuple(RUN.values())))
    assert picture is not None
    [bar] = picture.panels[0].spec["data"]["values"]
    assert (bar["partition"], bar["begin"], bar["end"]) == (
        "orders-0",
        BEGIN_MS + 5000,
        BEGIN_MS + 6000,
    )
    assert bar["cause"] == "log dir /data/d1: eio"


def test_where_everybody_was_served_there_is_no_picture() -> None:
    assert outage_bars(rows_of_run({}, None)) is None
