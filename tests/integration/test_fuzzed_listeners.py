"""A bounded run of ``python -m tests.fuzz.listeners``: a seed and a number of messages."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.listeners import Bounds, run

SEED = 7
FRAMES = 1500


def test_damaged_frames_leave_no_traceback_in_any_log(tmp_path: Path) -> None:
    sent, found = run(tmp_path, SEED, Bounds(frames=FRAMES))
    assert sent >= FRAMES
    assert found == []
