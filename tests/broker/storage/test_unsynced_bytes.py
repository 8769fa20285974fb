"""What is certainly not durable: what was written since, and not synced since."""

from __future__ import annotations

from broker.storage.unsynced_bytes import UnsyncedBytes


def test_a_file_is_durable_up_to_where_it_was_before_the_first_append() -> None:
    unsynced = UnsyncedBytes()
    unsynced.on_append("a", 5)
    unsynced.on_append("a", 9)
    assert unsynced.take("a") == 5
    assert unsynced.take("a") is None


def test_a_sync_makes_a_file_durable() -> None:
    unsynced = UnsyncedBytes()
    unsynced.on_append("a", 5)
    unsynced.on_write("b")
    unsynced.on_sync("a")
    assert unsynced.take_all() == {"b": 0}
    unsynced.on_write("b")
    unsynced.on_sync_all()
    assert unsynced.take_all() == {}


def test_a_cut_file_has_no_more_than_it_was_cut_to() -> None:
    unsynced = UnsyncedBytes()
    unsynced.on_append("a", 5)
    unsynced.on_truncate("a", 3)
    unsynced.on_truncate("b", 7)
    assert unsynced.take_all() == {"a": 3, "b": 7}


def test_renames_of_files_and_directories_are_followed() -> None:
    unsynced = UnsyncedBytes()
    for name in ("a", "d/a", "dd/a"):
        unsynced.on_write(name)
    unsynced.on_rename("a", "b")
    unsynced.on_rename("d", "e")
    assert unsynced.take_all() == {"b": 0, "e/a": 0, "dd/a": 0}
