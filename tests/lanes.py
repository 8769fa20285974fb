"""Two lanes for ``pytest -n 2``: the clusters of tests/integration, and all the rest beside them.

Each lane is one worker's from its first test to its last, in the random order of the seed: which
tests precede a test does not hang on how fast the other lane is. Within a lane nothing runs at the
same time, so tests that break clusters and watch how long it takes never run beside each other.
It marks no tests; without ``-n`` pytest runs both lanes one after the other.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    LoadScopeScheduling,
)

CLUSTERS: Final = "tests/integration/"
"""Mostly waits for processes, and takes about as long as all other tests."""
SWEEP: Final = "tests/integration/test_sweep.py"
"""Starts no cluster and waits for nothing but its own work."""


class LaneScheduling(LoadScopeScheduling):
    """Gives each worker one lane as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid)


def lane_of(nodeid: str) -> str:
    """Return the lane of a test: ``clusters`` or ``rest``."""
    is_cluster = nodeid.startswith(CLUSTERS) and not nodeid.startswith(SWEEP)
    return "clusters" if is_cluster else "rest"
