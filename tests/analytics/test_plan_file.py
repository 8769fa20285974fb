import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analytics.errors import BadPlan
from analytics.plan_file import check_local_plan, read_plan
from tests.analytics.frames import picked

ONE = {"topic": "orders", "partition": 7, "replicas": [1, 2]}


def plan_of(folder: Path, text: str) -> str:
    file = folder / "plan.json"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("partitions", "is no plan: it is no JSON"),
        ("[]", 'is no plan: it has no "partitions" array; give the JSON of kafka-reassign'),
        ('{"partitions": {}}', 'is no plan: it has no "partitions" array'),
        ('{"partitions": [{"topic": "t"}]}', '{"topic": "t"} has no topic, partition and replicas'),
    ],
)
def test_what_is_no_plan_is_told_before_spark_starts(text: str, said: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, text)
    with pytest.raises(BadPlan) as caught:
        check_local_plan(plan)
    assert said in str(caught.value)
    assert plan in str(caught.value)


def test_a_plan_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadPlan, match=r"cannot read .*none\.json: No such file"):
        check_local_plan(f"{tmp_path}/none.json")
    check_local_plan("hdfs://host/plan.json")


def test_a_plan_is_read_from_any_file_system(
    spark: SparkSession, viewed: str, tmp_path: Path
) -> None:
    plan = plan_of(tmp_path, json.dumps({"version": 1, "partitions": [ONE]}))
    for place in (plan, f"{viewed}/plan.json"):
        one = read_plan(spark, place).select(F.explode("partitions").alias("one")).select("one.*")
        assert picked(one, *ONE, "log_dirs") == [(*ONE.values(), None)]
    plan_of(tmp_path, "[1")
    for place in (plan, f"{viewed}/plan.json"):
        with pytest.raises(BadPlan):
            read_plan(spark, place)
