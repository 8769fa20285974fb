from analytics.findings import rows_of_run
from analytics.pictures.fill_map import fill_map, offline_bands
from tests.analytics.told import BEGIN_MS, RUN, tables


def test_each_log_dir_is_a_row_and_where_it_was_offline_is_marked() -> None:
    picture = fill_map(rows_of_run(tables(), tuple(RUN.values())))
    assert picture is not None
    [panel] = picture.panels
    cells, offline = (layer["data"]["values"] for layer in panel.spec["layer"])
    assert len(cells) == 9
    assert [cell["log_dir"] for cell in offline] == ["1: /data/d1"]
    assert "1 not online" in picture.caption


def test_bands_are_the_buckets_in_which_a_log_dir_was_not_there() -> None:
    [band] = offline_bands(tables()["log_dir_facts"])
    assert band == {"begin": BEGIN_MS + 4000, "end": BEGIN_MS + 6000, "of": "1: /data/d1"}


def test_without_samples_there_is_no_picture() -> None:
    assert fill_map(rows_of_run({}, None)) is None
