from __future__ import annotations

from pathlib import Path

from jbodlab.api.story import LINES_MAX, Story


def test_a_story_tells_orders_troubles_and_warnings(tmp_path: Path) -> None:
    log = tmp_path / "broker-1.log"
    log.write_text("x INFO broker-1: news\nx ERROR broker-1: log dir d1 is offline\n")
    story = Story()
    story.add("d1 fails with eio")
    text = story.text(["broker 2 is fenced by the controller"], [log, tmp_path / "none.log"])
    assert "s  d1 fails with eio\n" in text
    assert "  broker 2 is fenced by the controller\n" in text
    assert "ERROR broker-1: log dir d1 is offline" in text
    assert "news" not in text
    assert "none.log" not in text


def test_a_story_begins_anew_with_the_next_test() -> None:
    story = Story()
    story.add("topic orders is created")
    story.begin_anew()
    assert story.text([], []) == "\n".join(
        ["orders to the cluster:", "  none", "what is wrong with it now:", "  nothing"]
    )


def test_only_the_last_warnings_are_shown(tmp_path: Path) -> None:
    log = tmp_path / "broker-1.log"
    log.write_text("".join(f"x WARNING broker-1: {n}\n" for n in range(2 * LINES_MAX)))
    lines = Story().text([], [log]).splitlines()
    assert lines[-1].endswith(f" {2 * LINES_MAX - 1}")
    assert sum(" WARNING " in line for line in lines) == LINES_MAX
