"""Five lanes for ``pytest -n 5``: two of clusters, one of Java, two of all the rest.

Clusters mostly wait, so that five lanes keep two cores busy. Each lane is one worker's from its
first test to its last, in the random order of the seed: which tests precede a test does not hang on
how fast the other lanes are. Without ``-n`` pytest runs one lane after the other.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from xdist.scheduler import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    LoadScopeScheduling,
)
from xdist.workermanage import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    WorkerController,
)

LANES: Final = 5
"""As many workers as `make test` starts."""
CLUSTERS: Final = "tests/integration/"
JAVA: Final = (
    "tests/analytics/",
    "tests/differential/",
    "tests/kafka_tools/",
    "tests/integration/test_apache_kafka.py",
)
"""What starts a JVM; within a lane two of them seldom run beside each other."""
SWEEP: Final = "tests/integration/test_sweep.py"
"""Starts no cluster and waits for nothing but its own work."""


class LaneScheduling(LoadScopeScheduling):
    """Gives each worker one lane as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid)

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Forget a test that has run; xdist would count all that have, after each of them."""
        nodeid = self.registered_collections[node][item_index]
        del self.assigned_work[node][lane_of(nodeid)][nodeid]
        self._reschedule(node)

    def _pending_of(self, workload: Mapping[str, Mapping[str, bool]]) -> int:
        return sum(map(len, workload.values()))


def lane_of(nodeid: str) -> str:
    """Return the lane of a test: ``clusters-0`` or ``-1``, ``java``, ``rest-0`` or ``-1``."""
    if nodeid.startswith(JAVA):
        return "java"
    is_cluster = nodeid.startswith(CLUSTERS) and not nodeid.startswith(SWEEP)
    file = nodeid.partition("::")[0]
    return f"{'clusters' if is_cluster else 'rest'}-{zlib.crc32(file.encode()) % 2}"
