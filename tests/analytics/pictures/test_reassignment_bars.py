from analytics.findings import rows_of_run
from analytics.pictures.reassignment_bars import reassignment_bars
from tests.analytics.told import BEGIN_MS, RUN, tables


def test_a_reassignment_is_as_high_as_its_rate_beside_its_throttle_and_produce_latency() -> None:
    picture = reassignment_bars(rows_of_run(tables(), tuple(RUN.values())))
    assert picture is not None
    rate, produce = picture.panels
    done, under_way = rate.spec["layer"][0]["data"]["values"]
    assert (done["begin"], done["end"], done["rate"]) == (BEGIN_MS, BEGIN_MS + 2000, 1_000_000.0)
    assert (under_way["move"], under_way["state"]) == (
        "orders-1: adds 3, 4, removes -",
        "under way",
    )
    [throttled] = rate.spec["layer"][1]["data"]["values"]
    assert throttled["throttle"] == 1_048_576
    assert len(produce.spec["layer"][1]["data"]["values"]) == 3
    assert rate.description == "2 reassignments: 1 completed, 1 under way."
    assert [(row["adding"], row["removing"]) for row in picture.table] == [("3, 4", "-")] * 2


def test_without_reassignments_there_is_no_picture() -> None:
    assert reassignment_bars(rows_of_run({}, None)) is None
