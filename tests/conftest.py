"""What all tests share: the slow ones come last. Fixtures live beside the tests that use them."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what starts real processes after everything else, so that a broken rule shows first."""
    items.sort(key=lambda item: item.get_closest_marker("integration") is not None)
