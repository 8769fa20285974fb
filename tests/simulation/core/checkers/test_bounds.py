from __future__ import annotations

from simulation.core.checkers.bounds import check_bounds
from simulation.core.samples import GaugeSample
from tests.simulation.core.checkers.build import Story


def test_what_keeps_to_its_bound_is_fine_and_what_does_not_is_told() -> None:
    story = Story()
    story.samples.gauges += [
        GaugeSample(5, "broker-1", "jobs queued for d1", 1024, 1024),
        GaugeSample(6, "broker-1", "bytes queued for d1", 65, 64),
    ]

    (violation,) = check_bounds(story.evidence)

    assert violation.at_us == 6
    assert violation.text == "broker-1: bytes queued for d1 was 65, its bound 64"
