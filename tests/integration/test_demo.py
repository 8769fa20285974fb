"""``make demo`` from its first line to its last, Spark included."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from tests.deadlines import DEADLINE_S


@pytest.mark.sampled_among("the longest stories in processes of their own", kept=1)
@pytest.mark.scenario(4, 49, 256)
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_the_demo_tells_its_story_and_leaves_nothing_running(tmp_path: Path) -> None:
    config = write_lab_spec(tmp_path, LabShape(metrics_interval_ms=500))
    picture = tmp_path / "demo.svg"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "jbodlab",
            "demo",
            "--json",
            "--svg",
            str(picture),
            "--config",
            str(config),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    measured = json.loads(done.stdout)
    assert (measured["lost"], measured["twice"], measured["producer_errors"]) == (0, 0, 0)
    assert measured["acknowledged"] > 3000
    assert measured["moved_bytes"] > 0
    assert measured["failover_client_ms"] > 0
    assert "<svg" in picture.read_text()
