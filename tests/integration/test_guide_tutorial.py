"""The tutorial and the disk swap of docs/guide, typed block by block as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from tests.integration.guide_blocks import blocks, on_free_ports, type_in

TUTORIAL_TIMEOUT_S = 900
"""Two dozen processes one after the other."""


@pytest.mark.timeout(TUTORIAL_TIMEOUT_S)
@pytest.mark.sampled_among("tutorial of the guide", kept=0)
def test_the_tutorial_works_to_its_last_block_and_says_what_the_page_says(tmp_path: Path) -> None:
    first, *others = blocks("tutorial.md")
    assert first.startswith("jbodlab init ")
    file = tmp_path / "cluster.yaml"
    type_in(tmp_path, "jbodlab init --capacity-mib 4096")
    file.write_text(on_free_ports(file.read_text()))
    try:
        said = [type_in(tmp_path, each) for each in (first.partition("\n")[2], *others)]
    finally:
        Cluster(file).stop()
    _, made, broken, seen, healed, replaced, stopped = said
    assert re.search(r"orders-5 .*\d, \d, \d", made)
    assert "read back: 0 lost, 0 twice, 0 failed at the client" in broken
    assert re.search(r"data/b1/d1 +│ offline KAFKA_STORAGE_ERROR.*\(injected\)", seen)
    assert re.search(r"running, offline: data/b1/d1", seen)
    assert "data/b1/d1 is back: 2 replicas found, 0 made anew" in healed
    assert "data/b1/d1 is replaced: 0 replicas found, 2 made anew" in replaced
    acknowledged = int(re.findall(r"([\d,]+) records acknowledged", broken)[0].replace(",", ""))
    assert re.findall(r"(?m)^ *(\d+)$", replaced) == [str(1000 + acknowledged)]
    assert stopped.startswith("stopped controller")


@pytest.mark.timeout(TUTORIAL_TIMEOUT_S)
@pytest.mark.sampled_among("tutorial of the guide", kept=0)
def test_the_disk_swap_works_with_a_disk_that_lives_and_one_that_is_dead(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path, LabShape(capacity_bytes=4 << 30))
    try:
        type_in(tmp_path, "jbodlab up")
        drained, replaced, rebuilt = [type_in(tmp_path, each) for each in blocks("how-to/swap.md")]
    finally:
        Cluster(file).stop()
    assert re.search(r"data/b1/d1 +│ online +│.*│ 0 +│ 0 ", drained)
    assert "data/b1/d1 is replaced: 0 replicas found, 0 made anew" in replaced
    assert re.search(r"data/b1/d2 is replaced: 0 replicas found, [1-9]\d* made anew", rebuilt)
