import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics.errors import JavaMissing
from analytics.session import (
    PLANNING_JAVA,
    SMALL_BYTES_MAX,
    find_java,
    java_options_for,
    java_options_name,
    python_variables,
    suited_to,
)
from benchmarks.spark_status import sent_to_all


def java_saying(folder: Path, text: str) -> None:
    """Put a program named java there that says ``text`` as its version."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    "text", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19']
)
def test_java_home_comes_before_the_path(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_saying(tmp_path, text)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == tmp_path / "bin" / "java"


def test_java_is_found_in_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_saying(tmp_path, 'openjdk version "17"')
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    assert find_java() == tmp_path / "bin" / "java"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('openjdk version "11.0.2"', "is Java 11: Spark needs 17 or newer"),
        ('java version "1.8.0_402"', "is Java 8: Spark needs 17"),
        ("Segmentation fault", "is Java 0"),
    ],
)
def test_an_old_java_is_named(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_saying(tmp_path, text)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match=said):
        find_java()


def test_no_java_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match=r"no java in JAVA_HOME .*install Java 17"):
        find_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissing, match="no java in PATH"):
        find_java()


def test_workers_run_in_this_python_whatever_python3_comes_first_in_the_path(
    spark: SparkSession,
) -> None:
    """The PATH of this session begins with a python3 that only ends: see ``conftest.py``."""
    assert shutil.which("python3") != sys.executable
    versions = spark.sparkContext.parallelize([1], 1).map(lambda _: sys.version_info[:3])
    assert versions.collect() == [sys.version_info[:3]]


@pytest.mark.parametrize(
    ("size_bytes", "compiles"), [(1000, "false"), (SMALL_BYTES_MAX + 1, "true"), (None, "true")]
)
def test_only_for_a_small_dump_of_this_machine_nothing_is_compiled_and_planned_again(
    size_bytes: int | None, compiles: str, spark_in_production: SparkSession
) -> None:
    spark = spark_in_production
    before = spark.conf.get("spark.sql.codegen.factoryMode")
    with suited_to(spark, size_bytes) as is_little:
        assert is_little == (compiles == "false")
        assert spark.conf.get("spark.sql.codegen.wholeStage") == compiles
        assert spark.conf.get("spark.sql.adaptive.enabled") == compiles
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"
    assert spark.conf.get("spark.sql.codegen.factoryMode") == before


@pytest.mark.parametrize("size_bytes", [SMALL_BYTES_MAX + 1, None])
def test_a_join_sends_a_table_to_all_for_its_rows_are_few_not_for_its_files_are_small(
    size_bytes: int | None, spark_in_production: SparkSession, tmp_path: Path
) -> None:
    spark = spark_in_production
    place = str(tmp_path / "numbers")
    spark.range(1_000_000).coalesce(1).write.parquet(place)
    assert sum(path.stat().st_size for path in Path(place).iterdir()) < 10 << 20
    before = len(sent_to_all(spark))
    with suited_to(spark, size_bytes):
        one, other = spark.read.parquet(place), spark.read.parquet(place)
        assert one.join(other, "id").count() == 1_000_000
        assert len(sent_to_all(spark)) == before
        assert one.join(other.where("id < 1000"), "id").count() == 1000
        [sent] = sent_to_all(spark)[before:]
    assert sent < 10 << 20
    assert spark.conf.get("spark.sql.autoBroadcastJoinThreshold") == "10MB"


def test_java_is_not_asked_again_for_the_class_of_each_function(spark: SparkSession) -> None:
    context: Any = spark.sparkContext
    java = context._jvm
    for name in ("functions", "PythonUtils", "org.apache.spark.sql.functions"):
        assert getattr(java, name) is getattr(java, name)


def test_only_for_a_small_dump_java_compiles_no_more_than_it_can_quickly() -> None:
    assert "-XX:TieredStopAtLevel=1" in java_options_for(is_little=True)
    assert "Tiered" not in java_options_for(is_little=False)


def test_the_driver_of_a_cluster_compiles_quickly_and_leaves_garbage_to_the_user() -> None:
    assert "-XX:TieredStopAtLevel=1" in PLANNING_JAVA
    assert "GC" not in PLANNING_JAVA


@pytest.mark.parametrize(("parts", "tasks"), [(2, 2), (9, 9)])
def test_a_shuffle_of_a_large_dump_has_tasks_by_its_size(
    parts: int, tasks: int, spark_in_production: SparkSession
) -> None:
    spark, name = spark_in_production, "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    with suited_to(spark, parts * SMALL_BYTES_MAX):
        assert spark.conf.get(name) == str(tasks)
    assert spark.conf.get(name) == before


@pytest.mark.parametrize("master", ["spark://h:7077", None])
def test_a_cluster_keeps_the_python_that_its_user_names(master: str | None) -> None:
    named = {"PYSPARK_PYTHON": "/opt/python", "PYSPARK_DRIVER_PYTHON": sys.executable}
    assert python_variables(master, named) == {}
    assert set(python_variables(master, {}).values()) == {sys.executable}


def test_on_this_machine_workers_run_in_this_python() -> None:
    found = python_variables("local[2]", {"PYSPARK_PYTHON": "/opt/python"})
    assert found["PYSPARK_PYTHON"] == sys.executable


def test_beside_a_cluster_the_users_options_of_java_stay() -> None:
    assert java_options_name("spark://h:7077") == "spark.driver.defaultJavaOptions"
    assert java_options_name("local[*]") == "spark.driver.extraJavaOptions"
