"""Every story comes to its end when nothing happens, and all is well then."""

from __future__ import annotations

import pytest

from simulation.matrix.judge import judge
from simulation.matrix.outcome import Outcome, Verdict
from simulation.matrix.scene import Scene
from simulation.matrix.stories import STORIES, Story


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_an_undisturbed_story_ends_well(scene: Scene, story: Story) -> None:
    begun: list[None] = []
    scene.begin = lambda: begun.append(None)
    await story(scene)
    await scene.quicken()
    assert len(begun) == 1
    assert await judge(scene) == Verdict(Outcome.RECOVERED)
