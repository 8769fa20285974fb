"""What all tests share: the slow ones come last, lanes, costs. Fixtures live beside their tests."""

from __future__ import annotations

import pytest
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs] - it has none

from tests.costs import Costs
from tests.lanes import LaneScheduling


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this suite."""
    parser.addoption(
        "--costs",
        nargs="?",
        const="",
        metavar="FILE",
        help="print what was slowest, by the clock and by the processor; to FILE: all, as JSON",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Measure what tests cost, where that is asked for."""
    file: str | None = config.getoption("costs")
    if file is not None:
        config.pluginmanager.register(Costs(file))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what starts real processes after everything else, so that a broken rule shows first."""
    items.sort(key=lambda item: item.get_closest_marker("integration") is not None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LaneScheduling:
    """Divide the tests among workers by lane."""
    return LaneScheduling(config, log)
