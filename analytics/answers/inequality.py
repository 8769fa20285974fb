"""How unevenly a load lies on several places, as aggregates."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def gini(load: Column | str) -> Column:
    """Aggregate loads (0 or more) to their Gini coefficient: 0 all alike, near 1 all on one.

    Null without any load.
    """
    loads = F.array_sort(F.collect_list(load))
    count = F.size(loads)
    # Of n loads in ascending order, the i-th one (from 1) weighs 2i - n - 1.
    weighed = F.transform(loads, lambda each, index: each * (2 * index + 1 - count))
    total = F.aggregate(weighed, F.lit(0.0), lambda sum_, each: sum_ + each)
    return F.when(F.sum(load) > 0, total / (count * F.sum(load)))


def largest_by_mean(load: Column | str) -> Column:
    """Aggregate loads to how many times the mean the largest is; null without any load."""
    return F.when(F.sum(load) > 0, F.max(load) / F.avg(load))
