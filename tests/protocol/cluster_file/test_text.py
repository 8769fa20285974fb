"""A file of text is read, or one sentence says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.cluster_file.text import read_text_file


def test_text_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    for content in ("größe: 1\n".encode(), b"\xef\xbb\xbf" + "größe: 1\n".encode()):
        file.write_bytes(content)
        assert read_text_file(file) == "größe: 1\n"


def test_what_is_no_utf_8_is_told_with_its_byte_and_line(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_bytes(b"a: 1\nb: gr\xf6\xdfe\n")
    with pytest.raises(ValueError, match=r"^is no UTF-8: byte 0xf6 in line 2; save it as UTF-8$"):
        read_text_file(file)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^cannot be read: Is a directory$"):
        read_text_file(tmp_path)
