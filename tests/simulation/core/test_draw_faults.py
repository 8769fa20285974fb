"""Faults as they are drawn."""

from __future__ import annotations

from random import Random

import pytest

from protocol.faults.document import fault_content, read_fault
from simulation.core.actions import Clear, Fault
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_faults import FAULT_KINDS, FaultScope, draw_faults

SCENES = [FaultScope(draw_cluster(Random(seed)), 10_000) for seed in range(30)]


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_faults_of_every_kind_are_sound_and_end_within_the_story(kind: str) -> None:
    for seed, scope in enumerate(SCENES):
        for span in draw_faults(Random(seed), scope, [kind], 5):
            assert 0 < span.begin_ms <= span.end_ms <= 10_000
            if isinstance(span.begin, Fault):
                assert span.begin.rule.mode.value == kind
                content = fault_content(span.begin.rule)
                node = content.get("node")
                if node is None or " of " not in node:
                    assert read_fault(content) == (span.begin.rule, [])
                assert span.end == Clear(span.begin.name, once_met=True)


def test_every_fault_has_a_name_of_its_own() -> None:
    spans = draw_faults(Random(1), SCENES[0], ["eio", "cut"], 9)
    names = [span.begin.name for span in spans if isinstance(span.begin, Fault)]
    assert len(set(names)) == 9


def test_only_disks_that_lie_are_kept_from_files_other_than_logs() -> None:
    for seed, scope in enumerate(SCENES):
        for span in draw_faults(Random(seed), scope, ["bit_flip"], 3):
            assert "files" in fault_content(span.begin.rule)  # type: ignore[union-attr]
