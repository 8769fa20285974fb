from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.worlds.files_by_hand import remove_by_hand, texts_below, write_by_hand


def test_files_are_put_there_read_and_taken_away(tmp_path: Path) -> None:
    log_dir = tmp_path / "d1"
    write_by_hand(log_dir, "orders-0/partition.metadata", "version: 0\n")
    write_by_hand(log_dir, "meta.properties", "broker.id=1\n")
    (log_dir / "orders-0" / "0.log").write_bytes(b"\xff")
    assert texts_below(log_dir) == {
        "meta.properties": "broker.id=1\n",
        "orders-0": "",
        "orders-0/0.log": "",
        "orders-0/partition.metadata": "version: 0\n",
    }
    remove_by_hand(log_dir, "orders-0")
    remove_by_hand(log_dir, "meta.properties")
    assert texts_below(log_dir) == {}


def test_a_whole_log_dir_is_taken_away(tmp_path: Path) -> None:
    log_dir = tmp_path / "d1"
    write_by_hand(log_dir, "a/b", "x")
    remove_by_hand(log_dir, ".")
    assert not log_dir.exists()
    assert texts_below(log_dir) == {}


def test_what_is_not_there_cannot_be_taken_away(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remove_by_hand(tmp_path, "nothing")
