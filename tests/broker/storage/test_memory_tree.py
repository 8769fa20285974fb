"""What of a tree outlives a power cut."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from broker.storage.memory_tree import (
    MemoryDir,
    MemoryFile,
    files_below,
    left_by_power_cut,
    sync_below,
)


def content(directory: MemoryDir, name: str) -> bytes | None:
    node = directory.children.get(name)
    assert not isinstance(node, MemoryDir)
    return None if node is None else bytes(node.data)


def drawn(directory: MemoryDir, name: str) -> list[bytes | None]:
    return [content(left_by_power_cut(directory, random.Random(n)), name) for n in range(200)]


def with_file(synced: bytes, data: bytes) -> MemoryDir:
    directory, file = MemoryDir(), MemoryFile(synced)
    directory.change({"a": file})
    directory.sync()
    file.data = bytearray(data)
    return directory


def test_changes_of_names_become_durable_in_their_order() -> None:
    directory, file = MemoryDir(), MemoryFile(b"x")
    directory.change({"a": file})
    directory.change({"a": None, "b": file})
    directory.change({"c": MemoryFile()})
    left = [left_by_power_cut(directory, random.Random(n)).children for n in range(50)]
    assert {tuple(sorted(names)) for names in left} == {(), ("a",), ("b",), ("b", "c")}
    assert left_by_power_cut(directory).children == {}


def test_of_a_tail_some_stays_and_it_may_have_a_hole() -> None:
    found = drawn(with_file(b"old", b"old and new"), "a")
    assert all(each is not None and each.startswith(b"old") for each in found)
    assert b"old and new" in found
    assert any(each is not None and b"\0" in each for each in found)


def test_a_cut_that_was_not_synced_may_be_undone() -> None:
    assert {*drawn(with_file(b"longer", b"long"), "a")} == {b"longer", b"long"}


def test_content_written_anew_is_the_old_one_or_a_part_of_the_new() -> None:
    found = {*drawn(with_file(b"old", b"NEW"), "a")}
    assert {b"old", b"", b"NEW"} <= found
    assert all(each == b"old" or b"NEW".startswith((each or b"").rstrip(b"\0")) for each in found)


def test_a_synced_tree_stays_whole() -> None:
    directory = with_file(b"", b"data")
    below = MemoryDir()
    below.change({"b": MemoryFile(b"more")})
    directory.change({"d": below})
    sync_below(directory)
    left = left_by_power_cut(directory, random.Random(1))
    assert [bytes(file.data) for file in files_below(left)] == [b"data", b"more"]


@given(st.lists(st.tuples(st.sampled_from(["make", "go", "lose", "sync"]), st.sampled_from("abc"))))
def test_a_sync_makes_all_names_durable_but_those_that_never_will_be(
    story: list[tuple[str, str]],
) -> None:
    directory = MemoryDir()
    for what, name in [*story, ("sync", "")]:
        match what:
            case "make":
                directory.change({name: MemoryFile()})
            case "go":
                directory.change({name: None})
            case "lose":
                directory.lose(name)
            case _:
                directory.sync()
                lost = directory.lost
                kept = {name: node for name, node in directory.children.items() if name not in lost}
                kept |= {name: node for name, node in lost.items() if node is not None}
                assert directory.synced == kept
                assert directory.pending == []
