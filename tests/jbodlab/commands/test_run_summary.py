"""Runs and sweeps in words."""

from __future__ import annotations

import json

from jbodlab.commands.run_summary import (
    is_worth_a_line,
    run_content,
    run_summary,
    tally_summary,
)
from simulation.core.checkers.evidence import Violation
from simulation.core.coverage import DECLARED, RARE, Transition
from simulation.core.verdict import StoryLine, Verdict
from simulation.simulated_run import SimulatedRun
from simulation.tally import Tally

SEEN = Transition("PartitionPhase", "NEW", "ONLINE")
SHOWN = sum(rarity.shown_by is not None for rarity in RARE.values())


def a_run(*violations: Violation) -> SimulatedRun:
    return SimulatedRun(
        seed=7,
        verdict=Verdict(
            plan="seed-7",
            violations=violations,
            story=(StoryLine(5, "it begins"),),
            lasted_ms=10,
            healed_after_ms=250,
            acknowledged=3,
        ),
        trace_hash="ab" * 32,
        steps=1000,
        virtual_ms=20_000,
        fired={"eio": 2},
        transitions={SEEN: 1},
        last_events=("broker-1: rx",),
    )


def test_a_run_is_told_with_its_trace_faults_and_what_it_needs() -> None:
    text = run_summary(a_run(), {"commit": "abc", "python": "3.11.7"})
    assert "seed-7: as it must be; 3 records acknowledged" in text
    assert "all well 0.250 s after the faults" in text
    assert "trace abababababababab, 1000 steps, 20.0 virtual seconds\n" in text
    assert "faults: eio 2" in text
    assert "replay needs: commit abc, python 3.11.7" in text
    assert "  broker-1: rx" in text


def test_a_run_is_json_with_everything() -> None:
    content = run_content(a_run(Violation("durability", 1, "lost")))
    assert content["verdict"]["is_ok"] is False
    assert content["verdict"]["violations"][0]["checker"] == "durability"
    assert content["transitions"] == {str(SEEN): 1}
    json.dumps(content)


def test_a_sweep_lists_what_was_never_seen() -> None:
    tally = Tally()
    tally.add(a_run())
    text = tally_summary(tally, 4.0)
    assert "1 seeds, 1000 steps, 20 virtual seconds in 4 s (5 times as fast)" in text
    assert "  never: PartitionPhase OFFLINE -> ONLINE" in text
    assert "-> DescribeClusterRequest (brokers ask for it only when their client" in text
    assert "within the last copies; see leader-is-elected-in-the-middle-of-a-swap)" in text
    assert f"of {len(DECLARED)} seen, {SHOWN} more are made by scenarios of their own" in text
    assert f"  never: {SEEN}\n" not in text


def test_each_tenth_of_a_long_sweep_is_worth_a_line_and_none_of_a_short_one() -> None:
    assert [ran for ran in range(1, 126) if is_worth_a_line(ran, 125)] == [
        *(13, 25, 38, 50, 63, 75, 88, 100, 113, 125)
    ]
    assert not any(is_worth_a_line(ran, 99) for ran in range(1, 100))
