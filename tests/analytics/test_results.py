"""Every table that a report shows is made, from tables that there are."""

import pytest
from pyspark.sql import SparkSession

from analytics.answers.plan_scores import PLAN
from analytics.facts.all_facts import FACTS
from analytics.results import (
    ALL_FACTS,
    ANSWERS,
    BUCKET,
    PLAIN,
    RESULTS,
    SHOWN_FACTS,
    SLOWNESS,
    facts_steps,
    plan_step,
)
from analytics.schema import TABLE_SCHEMAS
from tests.analytics.frames import made


@pytest.mark.sampled_among("tables of a report", kept=5)
def test_each_result_is_made_from_tables_that_there_are(spark: SparkSession) -> None:
    results = {**PLAIN, **ANSWERS, "plan_scores": plan_step(made(spark, [], PLAN))}
    assert set(RESULTS) - results.keys() == {"checks"}
    for wanted in (SHOWN_FACTS, ALL_FACTS):
        facts = {f"facts/{name}": step for name, step in facts_steps(wanted).items()}
        made_steps = results | facts
        there = {f"rows/{table}" for table in TABLE_SCHEMAS} | made_steps.keys() | {BUCKET}
        for name, step in made_steps.items():
            assert set(step.needs) <= there, name


def test_a_fact_comes_from_its_metric_table_and_slowness_from_a_fact() -> None:
    steps = facts_steps(("move_facts", SLOWNESS))
    assert list(steps) == ["move_facts", SLOWNESS]
    assert steps["move_facts"].needs == (f"rows/{FACTS['move_facts'].source}", BUCKET)
    assert steps[SLOWNESS].needs == ("facts/latency_facts",)
