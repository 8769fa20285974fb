from analytics.findings import rows_of_run
from analytics.pictures.move_bars import move_bars
from tests.analytics.told import BEGIN_MS, RUN, tables


def test_a_move_is_as_high_as_its_rate_beside_its_throttle_and_produce_latency() -> None:
    picture = move_bars(rows_of_run(tables(), tuple(RUN.values())))
    assert picture is not None
    rate, produce = picture.panels
    [bar] = rate.spec["layer"][0]["data"]["values"]
    assert (bar["begin"], bar["end"], bar["rate"]) == (BEGIN_MS, BEGIN_MS + 3000, 2_000_000.0)
    assert rate.spec["layer"][1]["data"]["values"][0]["throttle"] == 2_500_000
    assert len(produce.spec["layer"][1]["data"]["values"]) == 3


def test_without_moves_there_is_no_picture() -> None:
    assert move_bars(rows_of_run({}, None)) is None
