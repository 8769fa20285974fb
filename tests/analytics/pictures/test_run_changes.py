from analytics.findings import rows_of_run
from analytics.pictures.run_changes import run_changes
from tests.analytics.told import RUN, tables


def test_a_change_is_shown_as_a_share_with_its_interval() -> None:
    picture = run_changes(rows_of_run(tables(), tuple(RUN.values())))
    assert picture is not None
    [point] = picture.panels[0].spec["data"]["values"]
    assert (point["low"], point["mid"], point["high"]) == (0.4, 0.5, 0.6)
    assert point["kind"] == "beyond chance"


def test_a_run_without_one_before_has_no_picture() -> None:
    assert run_changes(rows_of_run({}, None)) is None
