"""Notes of what runs survive, and broken notes are no notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.processes.run_state import ProcessNote, read_notes, run_dir, write_notes

NOTE = ProcessNote(pid=7, started_at=1.5, log_file="/x.log")


def test_notes_are_read_as_written(tmp_path: Path) -> None:
    write_notes(tmp_path / "new", {"broker-1": NOTE})
    assert read_notes(tmp_path / "new") == {"broker-1": NOTE}


def test_no_notes_leave_no_file(tmp_path: Path) -> None:
    write_notes(tmp_path, {"broker-1": NOTE})
    write_notes(tmp_path, {})
    assert list(tmp_path.iterdir()) == []
    assert read_notes(tmp_path) == {}


@pytest.mark.parametrize("text", ["", "[]", '{"a": {"pid": 1}}', '{"a": 5}'])
def test_broken_notes_are_no_notes(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    assert read_notes(tmp_path) == {}


def test_each_cluster_file_has_a_folder_of_its_own(tmp_path: Path) -> None:
    folders = [run_dir(tmp_path / name) for name in ("a.yaml", "b.yaml")]
    assert folders == [tmp_path / "data/run/a", tmp_path / "data/run/b"]
