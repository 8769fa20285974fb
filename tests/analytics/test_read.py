from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analytics.errors import EmptyDump, UnreadableDump
from analytics.read import SETTINGS_FOLDERS, check_dump, check_local_folder, read_lines
from tests.analytics.frames import picked, write_line


def test_lines_of_all_nodes_are_read_with_their_file(spark: SparkSession, tmp_path: Path) -> None:
    write_line(tmp_path, "replica", "one", node=1)
    write_line(tmp_path, "replica", "two", node=2)
    write_line(tmp_path, "log_dir", "other table")
    lines = read_lines(spark, str(tmp_path), "replica")
    assert lines.columns == ["line", "file", "version"]
    assert sorted(picked(lines, "line")) == [("one",), ("two",)]
    assert {Path(name).parent.name for (name,) in picked(lines, "file")} == {"broker=1", "broker=2"}


def test_lines_of_all_versions_are_read_with_their_version(
    spark: SparkSession, tmp_path: Path
) -> None:
    for version in (1, 2, 31):
        write_line(tmp_path, "replica", f"line {version}", version=version)
    lines = read_lines(spark, str(tmp_path), "replica").orderBy("version")
    assert picked(lines, "line", "version") == [("line 1", 1), ("line 2", 2), ("line 31", 31)]


def test_a_table_that_nobody_wrote_has_no_lines(spark: SparkSession, tmp_path: Path) -> None:
    assert read_lines(spark, f"{tmp_path}/", "replica").count() == 0


def test_files_that_are_no_dump_are_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    write_line(tmp_path, "replica", "row")
    (tmp_path / "replica" / "v2" / "notes.txt").write_text("not a row\n")
    assert picked(read_lines(spark, str(tmp_path), "replica"), "line") == [("row",)]


@pytest.mark.parametrize("scheme", ["file", "viewfs"])
def test_lines_are_read_from_any_file_system_of_hadoop(
    scheme: str, viewed: str, spark: SparkSession, tmp_path: Path
) -> None:
    write_line(tmp_path, "replica", "row", version=2)
    dump = viewed if scheme == "viewfs" else tmp_path.as_uri()
    # How much there is elsewhere is not known: it may be much, and gets a cluster's settings.
    assert check_dump(spark, dump) == (None if scheme == "viewfs" else len("row\n"))
    assert picked(read_lines(spark, dump, "replica"), "line", "version") == [("row", 2)]


def test_a_folder_with_rows_passes(spark: SparkSession, tmp_path: Path) -> None:
    write_line(tmp_path, "replica", "row")
    check_dump(spark, str(tmp_path))


def test_an_empty_folder_is_told_apart_from_a_missing_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(EmptyDump, match="no metric rows below"):
        check_dump(spark, str(tmp_path))
    with pytest.raises(UnreadableDump, match="missing: it does not exist"):
        check_dump(spark, str(tmp_path / "missing"))


def test_a_missing_folder_of_this_machine_is_told_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SETTINGS_FOLDERS:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "file").write_text("")
    write_line(tmp_path / "dump", "replica", "row")
    assert check_local_folder(str(tmp_path / "dump")) == len("row\n")
    for missing in ("missing", "file/below"):
        with pytest.raises(UnreadableDump, match=f"{missing}: it does not exist"):
            check_local_folder(str(tmp_path / missing))


@pytest.mark.parametrize("dump", ["hdfs://host/missing", "/missing/broker=*", "missing{1,2}"])
def test_what_only_spark_can_find_is_left_to_it(dump: str) -> None:
    assert check_local_folder(dump) is None


@pytest.mark.parametrize("name", SETTINGS_FOLDERS)
def test_a_plain_path_may_be_of_another_file_system_where_settings_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "/conf")
    assert check_local_folder("/missing") is None


def test_a_file_system_that_refuses_is_one_clear_line(spark: SparkSession) -> None:
    with pytest.raises(UnreadableDump, match="No FileSystem for scheme") as caught:
        check_dump(spark, "nothing://here")
    assert "\n" not in str(caught.value)
