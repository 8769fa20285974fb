"""Every story comes to its end when nothing happens, and all is well then."""

from __future__ import annotations

import pytest

from simulation.matrix.judge import judge
from simulation.matrix.matrix_cluster import MatrixCluster
from simulation.matrix.outcome import CrashResult, Outcome
from simulation.matrix.stories import STORIES, Story


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_an_undisturbed_story_ends_well(cluster: MatrixCluster, story: Story) -> None:
    begun: list[None] = []
    cluster.begin = lambda: begun.append(None)
    await story(cluster)
    await cluster.quicken()
    assert len(begun) == 1
    assert await judge(cluster) == CrashResult(Outcome.RECOVERED)
