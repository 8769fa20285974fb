"""The controller's journal in real processes: put back from a copy, and emptied beside data."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from jbodlab.errors import LabError
from jbodlab.processes.cluster import CONTROLLER
from jbodlab.worlds.real_cluster_instance import RealClusterInstance
from jbodlab.worlds.scenario_files import load_plan
from simulation.run.runner import run_plan
from tests.integration.labs import Lab, produce_with_confluent

pytestmark = pytest.mark.sampled_among("journals that are lost", kept=1)


async def test_a_journal_put_back_from_a_copy_gives_no_producer_id_twice(tmp_path: Path) -> None:
    plan = load_plan("bug-restored-journal-gives-no-producer-id-twice")

    verdict = await run_plan(plan, RealClusterInstance(plan.cluster, tmp_path), chance=Random(0))

    assert verdict.violations == ()


def test_an_emptied_journal_needs_consent_and_leaves_the_data(lab: Lab) -> None:
    lab.create("orders", 1)
    produce_with_confluent(lab, "orders", [b"kept"])
    log = Path(lab.log_dir_of(1, "orders").path) / "orders-0" / f"{0:020}.log"
    written = log.read_bytes()
    journal = Path(lab.cluster.spec.controller.data_dir) / "journal.jsonl"
    lab.cluster.stop()
    copy = journal.read_bytes()
    journal.unlink()

    with pytest.raises(LabError, match="accept-new-journal"):
        lab.cluster.start()

    lab.cluster.stop()
    lab.cluster.controller_options = ["--accept-new-journal"]
    lab.cluster.start()
    assert log.read_bytes() == written != b""
    assert lab.cluster.is_running(CONTROLLER)
    assert journal.read_bytes() != copy
