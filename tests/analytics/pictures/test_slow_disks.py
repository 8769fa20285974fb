from analytics.findings import rows_of_run
from analytics.pictures.slow_disks import slow_disks
from tests.analytics.told import RUN, tables


def test_the_slowest_log_dir_comes_first_and_the_limit_is_drawn() -> None:
    picture = slow_disks(rows_of_run(tables(), tuple(RUN.values())))
    assert picture is not None
    line, limit = picture.panels[0].spec["layer"]
    assert line["encoding"]["color"]["sort"][0] == "1: /data/d1"
    assert limit["encoding"]["y"] == {"datum": 3.5}
    assert len(line["data"]["values"]) == 9


def test_with_too_few_log_dirs_to_tell_there_is_no_picture() -> None:
    assert slow_disks(rows_of_run({}, None)) is None
