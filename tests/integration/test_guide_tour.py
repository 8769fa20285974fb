"""The tour of the guide, typed line by line as it stands there, by somebody who has nothing yet."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from tests.integration.typed import typed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "how-to" / "tour.md").read_text(encoding="utf-8")
TOUR_TIMEOUT_S = 900
"""Two dozen processes one after the other, Spark among them."""


def tour() -> list[list[str]]:
    """Return the words of each command of the first block that starts a cluster."""
    blocks: list[str] = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    block = next(each for each in blocks if "jbodlab up" in each)
    lines = [re.split("[#<]", line)[0].strip() for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("jbodlab ")]


def type_in(folder: Path, words: list[str]) -> str:
    """Run one command where the cluster file is; return all that it says."""
    done = typed(folder, [sys.executable, "-m", "jbodlab", *words])
    return done.stdout + done.stderr


@pytest.mark.sampled_among("the longest stories in processes of their own", kept=1)
@pytest.mark.timeout(TOUR_TIMEOUT_S)
def test_the_tour_works_in_its_order_to_its_last_line(tmp_path: Path) -> None:
    # Room on its disks, also where those of the machine are nearly full.
    file = write_lab_spec(tmp_path, LabShape(capacity_bytes=4 << 30))
    said: dict[str, str] = {}
    try:
        for words in tour():
            said[" ".join(words)] = type_in(tmp_path, words)
    finally:
        Cluster(file).stop()
    first, *_, last = said
    assert (first, last) == ("up", "down")
    for command, words in (
        ("log-dirs describe", r"online +│ [1-9]\d*\.\d MiB"),
        ("log-dirs describe", r"data/b1/d1 +│ offline .*injected"),
        ("log-dirs move", r"is in data/b2/d3 \([1-9]\d+ bytes\)"),
        ("rebalance run", r"[1-9]\d* replicas and [1-9][\d.]* MiB moved"),
        ("rebalance undo", r"[1-9]\d* replicas and [1-9][\d.]* MiB moved"),
        ("dump-log", r"baseOffset: 0 .* isvalid: true"),
    ):
        shown = "\n".join(text for each, text in said.items() if each.startswith(command))
        assert re.search(words, shown), (command, shown)
