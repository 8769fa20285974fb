"""Wherever a crash comes, the broker starts again and nothing promised is missing."""

from __future__ import annotations

import pytest

from tests.crash.matrix import Row, break_everywhere, crash_everywhere
from tests.crash.shrinking import STORIES
from tests.crash.stories import Story

PARTS: int = 4
"""Into how many the changes of a story are divided."""
EVERY: int = 19
"""Every how many operations a disk breaks here; ``python -m tests.crash`` leaves none out."""


def complaints(rows: list[Row]) -> list[str]:
    return [complaint for row in rows for complaint in row.complaints]


@pytest.mark.sampled("story", kept=1)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_crash_before_any_change_of_a_disk_loses_nothing_promised(
    story: Story, part: int
) -> None:
    rows = crash_everywhere(story, draws=1, part=part, parts=PARTS)
    assert complaints(rows) == []
    assert all(sum(row.outcomes.values()) > 20 // PARTS for row in rows)


@pytest.mark.sampled("story", kept=1)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_disk_that_breaks_at_any_operation_loses_nothing_acknowledged(story: Story) -> None:
    row = break_everywhere(story, every=EVERY)
    assert complaints([row]) == []
    assert row.outcomes
