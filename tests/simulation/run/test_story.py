from __future__ import annotations

from simulation.core.verdict import StoryLine
from simulation.run.story import Story


def test_lines_have_the_time_since_the_story_began() -> None:
    times = iter([500, 700, 1700, 2700])
    heard: list[StoryLine] = []
    story = Story(lambda: next(times), heard.append)

    story.tell("before")
    story.begin()
    story.tell("then")

    assert heard == story.lines == [StoryLine(500, "before"), StoryLine(1000, "then")]
    assert str(story.lines[1]) == "    1.000 s  then"
    assert story.now_ms == 2000
