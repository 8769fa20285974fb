"""The narrator numbers its steps, keeps the measurements and saves a picture."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from jbodlab.demo.narrator import Narrator


def narrator() -> Narrator:
    return Narrator(Console(width=80, record=True, file=io.StringIO()))


def test_steps_are_numbered_and_measurements_kept() -> None:
    speaker = narrator()
    speaker.title("story")
    speaker.step("begin")
    speaker.found("took 5 ms", took_ms=5)
    speaker.step("end")
    text = speaker.console.export_text()
    assert [line for line in text.splitlines() if line] == [
        "story",
        "1. begin",
        "   took 5 ms",
        "2. end",
    ]
    assert speaker.measured == {"took_ms": 5}


def test_a_bar_of_bytes_reaches_its_end() -> None:
    speaker = narrator()
    with speaker.bytes_bar("t-0") as bar:
        bar.update(0, 0)
        bar.update(2_000_000, 2_000_000)
    assert "2.0/2.0 MB" in speaker.console.export_text()


def test_the_picture_holds_what_was_said(tmp_path: Path) -> None:
    speaker = narrator()
    speaker.title("story")
    speaker.save_svg(tmp_path / "new" / "demo.svg")
    picture = (tmp_path / "new" / "demo.svg").read_text()
    assert "story" in picture
    assert "url(" not in picture.replace("url(#", "")
