"""Reads a plan of kafka-reassign-partitions, and says what is none before any table is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession

from analytics.answers.plan_scores import PLAN
from analytics.errors import BadPlan
from analytics.read import is_of_this_machine

_INSTEAD: Final = (
    "give the JSON of kafka-reassign-partitions, as `jbodlab rebalance plan --out` writes it"
)


class _Plan(msgspec.Struct):
    partitions: list[Any]


def check_local_plan(plan: str) -> None:
    """Look at a plan of this machine, without Spark; leave all others to ``read_plan``.

    Raises:
        BadPlan: it is not there, or no plan.
    """
    if not is_of_this_machine(plan):
        return
    try:
        found = json.loads(Path(plan).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadPlan(f"cannot read {plan}: {error.strerror}") from error
    except ValueError as error:
        raise BadPlan(f"{plan} is no plan: it is no JSON ({error}); {_INSTEAD}") from error
    reason = _reason(found)
    if reason:
        raise BadPlan(f"{plan} is no plan: {reason}; {_INSTEAD}")


def read_plan(spark: SparkSession, plan: str) -> DataFrame:
    """Return a plan as ``plan_scores.PLAN``.

    Raises:
        BadPlan: it is none.
    """
    check_local_plan(plan)
    found = spark.read.schema(PLAN).option("multiLine", value=True).json(plan)
    if not is_of_this_machine(plan) and [row for row in found.collect() if row[0] is None]:
        raise BadPlan(f'{plan} is no plan: it has no "partitions" array; {_INSTEAD}')
    return found


def _reason(found: Any) -> str:  # Any: JSON
    """Return why this is no plan; "" where it is one."""
    try:
        partitions: list[Any] = msgspec.convert(found, _Plan).partitions
    except msgspec.ValidationError:
        return 'it has no "partitions" array'
    bad = [each for each in partitions if not _is_partition(each)]
    if bad:
        return f"{json.dumps(bad[0])} has no topic, partition and replicas"
    return ""


def _is_partition(each: Any) -> bool:
    return isinstance(each, dict) and {"topic", "partition", "replicas"} <= each.keys()
