"""The table of features after a sweep."""

from __future__ import annotations

from simulation.core.steering import steered

PERCENTS = {"a": 15, "b": 35, "c": 60}
USUAL = {"a": 15, "b": 35, "c": 35}


def after(reached: dict[str, int], reached_with: dict[str, dict[str, int]]) -> dict[str, int]:
    return steered(PERCENTS, USUAL, 100, {"a": 15, "b": 35, "c": 60}, reached_with, reached)


def test_shares_drift_back_where_nothing_is_rare() -> None:
    assert after({"often": 50}, {"often": {"a": 15}}) == {"a": 15, "b": 35, "c": 55}


def test_the_feature_with_which_something_rare_is_reached_is_drawn_more_often() -> None:
    assert after({"rare": 4}, {"rare": {"a": 3, "b": 3, "c": 4}}) == {"a": 20, "b": 35, "c": 55}


def test_what_was_reached_by_luck_moves_nothing() -> None:
    assert after({"rare": 2}, {"rare": {"a": 2}})["a"] == 15
    assert after({"rare": 4}, {"rare": {"c": 3}})["c"] == 55


def test_no_share_grows_beyond_all_others() -> None:
    percents = {"a": 68, "b": 70, "c": 70}
    usual = {"a": 15, "b": 70, "c": 35}
    counts = {"a": 10, "b": 90, "c": 90}
    found = steered(percents, usual, 100, counts, {"rare": {"a": 4}}, {"rare": 4})
    assert found == {"a": 70, "b": 70, "c": 65}


def test_no_sweep_changes_nothing() -> None:
    assert steered(PERCENTS, USUAL, 0, {}, {}, {}) == PERCENTS
