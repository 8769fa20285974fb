"""Sizes as a person reads them."""

from __future__ import annotations

import pytest

from analytics.sizes import count_text, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536.0, "1.5 KiB"), (2**50, "1024.0 TiB")],
)
def test_sizes_have_the_unit_that_fits(size: float, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
def test_one_thing_has_no_plural(count: int, text: str) -> None:
    assert count_text(count, "row") == text
