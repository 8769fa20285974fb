"""Features as they are drawn."""

from __future__ import annotations

from collections import Counter
from random import Random

from simulation.core.feature_percents import PERCENTS
from simulation.core.features import (
    FAULT_FAMILIES,
    FEATURES,
    USUAL_PERCENTS,
    Features,
    Situation,
    draw_features,
)


def test_every_feature_has_a_percentage_and_a_name_of_its_own() -> None:
    assert list(PERCENTS) == list(FEATURES)
    assert {name for name in Situation if name not in FEATURES} == set()
    assert all(PERCENTS[name] >= USUAL_PERCENTS[name] for name in FEATURES)
    assert len(set(FEATURES)) == len(FEATURES)
    assert all(1 <= percent <= 99 for percent in PERCENTS.values())


def test_features_are_on_as_often_as_the_table_says() -> None:
    counts = Counter(name for seed in range(3000) for name in draw_features(Random(seed)).names)
    for name, percent in PERCENTS.items():
        assert abs(counts[name] / 30 - percent) < 5, name


def test_another_percentage_changes_that_feature_alone() -> None:
    raised = {**PERCENTS, "eio": 99}
    for seed in range(50):
        before, after = draw_features(Random(seed)), draw_features(Random(seed), raised)
        assert [name for name in after.names if name != "eio"] == [
            name for name in before.names if name != "eio"
        ]


def test_a_kind_of_fault_is_drawn_only_where_its_family_is_on() -> None:
    assert Features(("eio", "cut", "network_faults")).fault_kinds == ["cut"]
    assert Features(("eio",)).fault_kinds == []
    assert Features(tuple(FAULT_FAMILIES)).fault_kinds == []
    assert Situation.REBALANCE in Features(("rebalance",))
