"""What all tests share: order, lanes, sampling, costs. Fixtures live beside their tests."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs] - it has none
from xdist.workermanage import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    parse_tx_spec_config,
)

from tests.costs import Costs
from tests.lanes import Lane, LaneScheduling
from tests.sampling import left_out

# How long an example takes tells of the machine: a busy one fails no test.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this suite."""
    parser.addoption(
        "--costs", action="store_true", help="print what was slowest, by clock and processor"
    )
    parser.addoption("--costs-to", metavar="FILE", help="write what every test cost, as JSON")
    parser.addoption(
        "--unsampled", action="store_true", help="run sampled tests with all of their parameters"
    )
    parser.addoption(
        "--left-out", action="store_true", help="run only what the sample of this seed leaves out"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take Ctrl-C again, which a background job ignores; measure costs if asked to; know lanes."""
    # Processes that tests start inherit it, and those that are interrupted have to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    file: str | None = config.getoption("costs_to")
    if config.getoption("costs") or file is not None:
        is_worker = hasattr(config, "workerinput")
        runs_tests = is_worker or config.getoption("dist", "no") == "no"
        config.pluginmanager.register(Costs(file, runs_tests))
    if lanes := getattr(config, "workerinput", {}).get("lanes"):
        config.pluginmanager.register(Lane(lanes))
    elif config.getoption("dist", "no") == "load":
        workers = len(parse_tx_spec_config(config))
        config.pluginmanager.register(LaneScheduling(workers), LaneScheduling.__name__)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Have Ctrl-C raise again: a node that was run in this process leaves its handler behind."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, and never look again at what stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sample; run what starts real processes last, so that a broken rule shows first."""
    if not config.getoption("unsampled"):
        _sample(config, items)
    items.sort(key=lambda item: item.get_closest_marker("integration") is not None)


def _sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Without pytest-randomly there is no seed, and the sample is always the same.
    names = left_out(items, config.getoption("randomly_seed", None) or 0)
    is_rest = bool(config.getoption("left_out"))
    dropped = [item for item in items if (item.nodeid in names) is not is_rest]
    config.hook.pytest_deselected(items=dropped)
    items[:] = [item for item in items if (item.nodeid in names) is is_rest]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LaneScheduling | None:
    """Divide the tests among workers by lane, unless ``--dist`` asks for something else."""
    del log
    return config.pluginmanager.get_plugin(LaneScheduling.__name__)
