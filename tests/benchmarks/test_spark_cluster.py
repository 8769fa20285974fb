from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from benchmarks.spark_cluster import spark_cluster
from tests.deadlines import DEADLINE_S


@pytest.mark.sampled_among("Spark's processes, started and ended", kept=0)
@pytest.mark.integration
def test_a_cluster_ends_with_the_block_that_fails(tmp_path: Path) -> None:
    me = psutil.Process()
    before = set(me.children())
    started: set[psutil.Process] = set()
    with pytest.raises(ZeroDivisionError), spark_cluster(tmp_path, workers=1):  # noqa: PT012
        for shell in set(me.children()) - before:
            started |= {shell, *shell.children(recursive=True)}
        raise ZeroDivisionError
    assert len(started) >= 4
    gone, left = psutil.wait_procs(list(started), timeout=DEADLINE_S)
    assert left == []
    assert set(gone) == started
