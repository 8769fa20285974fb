from __future__ import annotations

import pytest

from simulation.core.file_text import small_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"broker.id=1\n", "broker.id=1\n"),
        ("gr\u00fc\u00dfe".encode(), "gr\u00fc\u00dfe"),
        (b"\xff\xfe", ""),
        (b"a" * 4096, "a" * 4096),
        (b"a" * 4097, ""),
    ],
)
def test_small_texts_are_read_and_nothing_else(data: bytes, text: str) -> None:
    assert small_text(data) == text
