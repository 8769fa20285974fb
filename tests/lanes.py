"""Five lanes for ``pytest -n 5``: two of clusters, one of Java, two of all the rest.

Each worker collects and runs one lane, in the random order of the seed: which tests precede a test
does not hang on how fast the other lanes are. Clusters and Java mostly wait, and what they wait for
goes first: the lanes of the rest, which only compute, take what processor time is left, and two of
them keep two cores busy to the end. With fewer workers than lanes a worker has several; without
``-n`` pytest collects and runs all tests itself.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from xdist.workermanage import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    WorkerController,
)

LANES: Final = ("clusters-0", "clusters-1", "java", "rest-0", "rest-1")
CLUSTERS: Final = "tests/integration/"
JAVA: Final = (
    "tests/analytics/",
    "tests/differential/",
    "tests/kafka_tools/",
    "tests/mixed/",
    "tests/integration/test_apache_kafka",
)
"""What starts a JVM; within a lane two of them seldom run beside each other."""
TAKING_TURNS: Final = (
    "tests/analytics/test___main__.py",
    "tests/integration/test_containers.py",
    "tests/integration/test_demo.py",
    "tests/integration/test_installed.py",
    "tests/integration/test_readme_tour.py",
    "tests/jbodlab/rebalance/test_rates.py",
)
"""A sample is drawn of tests in these files together, so one worker has to collect them all."""
SWEEP: Final = "tests/integration/test_sweep.py"
"""Starts no cluster and waits for nothing but its own work."""
PLACED: Final = {"tests/crash/test_matrix.py": "rest-0"}
"""What costs most when nothing is sampled, so that neither lane of the rest ends long last."""
NICENESS: Final = 5
"""Of the lanes of the rest, and of all that their tests start."""
_DEALT: Final = 94
"""Where the checksum of a file's name begins: from here costs are dealt about evenly to two."""


def lane_of(nodeid: str) -> str:
    """Return the lane of a test, or of a file of tests: one of ``LANES``."""
    file = nodeid.partition("::")[0]
    if file in TAKING_TURNS:
        return "clusters-0"
    if file.startswith(JAVA):
        return "java"
    if file in PLACED:
        return PLACED[file]
    is_cluster = file.startswith(CLUSTERS) and file != SWEEP
    return f"{'clusters' if is_cluster else 'rest'}-{zlib.crc32(file.encode(), _DEALT) % 2}"


class Lane:
    """The plugin of a worker: it collects its lanes alone."""

    def __init__(self, lanes: Sequence[str]) -> None:
        self._lanes = frozenset(lanes)

    @pytest.hookimpl
    def pytest_sessionstart(self) -> None:
        """Let others go first, unless some of these tests wait as well."""
        if all(lane.startswith("rest") for lane in self._lanes):
            os.nice(NICENESS)

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Leave out files of other lanes, and folders that have no others."""
        is_file = collection_path.is_file()
        tests = [collection_path] if is_file else collection_path.rglob("test_*.py")
        files = (each.relative_to(config.rootpath).as_posix() for each in tests)
        # Only True has a meaning here: the first plugin that says False would speak for all.
        return None if any(lane_of(file) in self._lanes for file in files) else True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what was asked for by its name: every worker has collected it."""
        items[:] = [item for item in items if lane_of(item.nodeid) in self._lanes]


class LaneScheduling:
    """The scheduler of xdist in which each worker runs what it has collected.

    It hands the lanes out, too, by hooks of pytest. The worker that xdist starts in place of one
    that crashed gets the lanes of that one, and runs what is left of them.
    """

    def __init__(self, count: int) -> None:
        """Expect ``count`` workers."""
        self._free: list[tuple[str, ...]] = [LANES[number::count] for number in range(count)]
        self._count = count
        self._total = 0
        self._session: pytest.Session | None = None
        self._lanes: dict[WorkerController, tuple[str, ...]] = {}
        self._collected: dict[WorkerController, list[str]] = {}
        self._pending: dict[WorkerController, list[int]] = {}
        self._started: set[WorkerController] = set()
        self._left: dict[tuple[str, ...], set[str]] = {}
        """What has not run when its worker ended, by its lanes."""
        self.collection_is_completed = False

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Remember where the number of tests has to be told."""
        self._session = session

    def pytest_configure_node(self, node: WorkerController) -> None:
        """Give a worker that is about to start its lanes."""
        self._lanes[node] = self._free.pop(0)
        node.workerinput["lanes"] = self._lanes[node]  # pyright: ignore[reportUnknownMemberType]

    def pytest_testnodedown(self, node: WorkerController, error: object | None) -> None:
        """Take the lanes of a worker that crashed back: the next one to start gets them."""
        if error is not None:
            self._free.append(self._lanes[node])

    @property
    def nodes(self) -> list[WorkerController]:
        """The workers that there are."""
        return list(self._pending)

    @property
    def has_pending(self) -> bool:
        """Tell whether a worker has tests to run."""
        return any(self._pending.values())

    @property
    def tests_finished(self) -> bool:
        """Tell whether all tests have run."""
        return (
            self.collection_is_completed and not self.has_pending and not any(self._left.values())
        )

    def add_node(self, node: WorkerController) -> None:
        """Know a worker, which begins to collect."""
        self._pending[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Take what a worker has collected; ``schedule`` follows if all have."""
        self._collected[node] = list(collection)
        if not self.collection_is_completed and len(self._collected) == self._count:
            self.collection_is_completed = True
            self._total = sum(map(len, self._collected.values()))

    def schedule(self) -> None:
        """Start each worker that has not been started, and have it end behind its last test."""
        if self._session is not None:
            self._session.testscollected = self._total  # not what the last worker collected
            if not self._started:
                self._tell(self._session.config)
        for node in [each for each in self._collected if each not in self._started]:
            self._started.add(node)
            left = self._left.pop(self._lanes[node], None)
            self._pending[node] = [
                index
                for index, name in enumerate(self._collected[node])
                if left is None or name in left
            ]
            node.send_runtest_some(self._pending[node])
            node.shutdown()

    def _tell(self, config: pytest.Config) -> None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            sizes = [
                f"{len(names)} of {' and '.join(self._lanes[node])}"
                for node, names in self._collected.items()
            ]
            reporter.write_line(f"{self._total} tests in all: {', '.join(sizes)}")

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Forget a test that has run."""
        del duration
        self._pending[node].remove(item_index)

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget a worker; return the test at which it crashed, unless it came to its end."""
        pending = self._pending.pop(node)
        collected = self._collected.pop(node, [])
        if node in self._started:
            self._left[self._lanes[node]] = {collected[index] for index in pending[1:]}
        return collected[pending[0]] if pending else None

    def mark_test_pending(self, item: str) -> None:
        """Fail: no plugin asks for a test to run again."""
        raise NotImplementedError(item)

    def remove_pending_tests_from_node(
        self, node: WorkerController, indices: Sequence[int]
    ) -> None:
        """Fail: no worker gives up what it was told to run."""
        raise NotImplementedError(node, indices)
