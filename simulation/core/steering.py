"""Steers how often features are drawn, by what a sweep reached.

What few seeds reach is reached more often by plans with some feature than by others: that one is
drawn more often. Features that nothing rare asks for drift back to their usual share. It draws
nothing and reads no file: the same sweep gives the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RARE_PERCENT: Final = 5
"""What fewer seeds of a hundred reach is rare."""
PERCENT_MAX: Final = 70
"""Of a feature that something rare asks for, unless its usual share is more."""
_STEP: Final = 5
"""By so much a share changes at a time: what one sweep reached by luck moves it little."""
_LIFT_MIN: Final = 1.3
"""So many times as often must a goal be reached with a feature as without any choice."""
_SEEN_MIN: Final = 3
"""Fewer seeds than this with both tell nothing."""


def steered(
    percents: Mapping[str, int],
    usual: Mapping[str, int],
    seeds: int,
    features: Mapping[str, int],
    reached_with: Mapping[str, Mapping[str, int]],
    reached: Mapping[str, int],
) -> dict[str, int]:
    """Return another percentage for each feature of ``percents``, in their order.

    Args:
        percents: those that the sweep was drawn with.
        usual: those that features go back to.
        seeds: of the sweep.
        features: feature -> seeds in which it was on.
        reached_with: situation or transition -> feature -> seeds with it that came there.
        reached: situation or transition -> seeds that came there.
    """
    if not seeds:
        return dict(percents)
    rare = [goal for goal, count in reached.items() if 0 < count * 100 < RARE_PERCENT * seeds]
    wanted = {
        helper
        for goal in rare
        if (helper := _helper(seeds, features, reached_with.get(goal, {}), reached[goal]))
    }
    return {
        name: _towards(percent, max(PERCENT_MAX, usual[name]) if name in wanted else usual[name])
        for name, percent in percents.items()
    }


def _helper(
    seeds: int, features: Mapping[str, int], with_feature: Mapping[str, int], count: int
) -> str | None:
    """Return the feature with which a goal is reached most often, if it is the feature."""
    share = count / seeds
    lifts = {
        name: both / features[name] / share
        for name, both in with_feature.items()
        if both >= _SEEN_MIN and features.get(name)
    }
    best = max(lifts, key=lambda name: lifts[name], default=None)
    return best if best is not None and lifts[best] >= _LIFT_MIN else None


def _towards(percent: int, target: int) -> int:
    if percent < target:
        return min(percent + _STEP, target)
    return max(percent - _STEP, target)
