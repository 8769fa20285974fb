import pytest
from pyspark.sql import SparkSession

from analytics.answers.inequality import gini, largest_by_mean
from tests.analytics.frames import made

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


@pytest.mark.parametrize(
    ("loads", "wanted"),
    [
        ([5.0, 5.0, 5.0], (0.0, 1.0)),
        ([0.0, 0.0, 9.0], (2 / 3, 3.0)),
        # The mean of all differences (0, 1, 2, 3 apart), halved, over the mean.
        ([1.0, 2.0, 3.0, 4.0], (0.25, 1.6)),
        ([0.0, 0.0], (None, None)),
    ],
)
def test_gini_and_largest_by_mean_are_those_of_plain_numbers(
    loads: list[float], wanted: tuple[float | None, ...], spark: SparkSession
) -> None:
    frame = made(spark, [(load,) for load in loads], "load double")
    [found] = frame.agg(gini("load"), largest_by_mean("load")).collect()
    assert tuple(found) == pytest.approx(wanted)
