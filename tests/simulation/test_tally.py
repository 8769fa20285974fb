"""What many runs come to."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from simulation.core.checkers.evidence import Violation
from simulation.core.coverage import DECLARED, Transition
from simulation.core.features import Situation
from simulation.core.verdict import Verdict
from simulation.simulated_run import SimulatedRun
from simulation.tally import Tally

SEEN = Transition("PartitionPhase", "NEW", "ONLINE")


def run(seed: int, fired: dict[str, int]) -> SimulatedRun:
    verdict = Verdict(
        plan="p",
        violations=(),
        story=(),
        lasted_ms=1,
        acknowledged=10,
        read=7,
        done={"kill": 2},
        empty_faults=("f",),
        situations=(Situation.REBALANCE,),
    )
    return SimulatedRun(
        seed=seed,
        verdict=verdict,
        trace_hash="",
        steps=100,
        virtual_ms=1000,
        fired=fired,
        transitions={SEEN: 3},
        features=("rebalance", "eio") if seed == 1 else ("rebalance",),
    )


def test_runs_are_added_up() -> None:
    tally = Tally()
    tally.add(run(1, {"eio": 5, "cut": 0}))
    tally.add(run(2, {"eio": 1}))
    content = tally.content()
    assert content["seeds"] == 2
    assert content["steps"] == 200
    assert content["virtual_ms"] == 2000
    assert (content["acknowledged"], content["read"]) == (20, 14)
    assert content["fired"] == {"cut": 0, "eio": 6}
    assert content["seeds_by_kind"] == {"eio": 2}
    assert content["done"] == {"kill": 4}


def test_a_tally_tells_who_failed_and_what_seeds_took() -> None:
    tally = Tally()
    assert tally.content()["cpu_s"] == {}
    good = run(1, {})
    found = (Violation("acks", 5, "lost"),)
    bad = replace(run(2, {}), cpu_s=3.0, verdict=replace(good.verdict, violations=found))
    for each in (replace(good, cpu_s=1.0), bad, replace(run(3, {}), cpu_s=1.4)):
        tally.add(each)
    content = tally.content()
    assert content["failed"] == {"2": [str(found[0])]}
    assert content["cpu_s"] == {
        "median": 1.4,
        "mean": pytest.approx(1.8),
        "slowest": 3.0,
        "slowest_seed": 2,
    }


def test_a_sweep_tells_which_situations_it_came_to_and_with_which_features() -> None:
    tally = Tally()
    tally.add(run(1, {}))
    tally.add(run(2, {}))
    content = tally.content()
    assert content["empty_faults"] == 2
    assert content["situations"]["rebalance"] == 2
    assert content["situations"]["failing_move"] == 0
    assert content["features"]["eio"] == 1
    assert content["reached_with"]["rebalance"] == {"rebalance": 2, "eio": 1}
    assert content["reached_with"][str(SEEN)] == {"rebalance": 2, "eio": 1}


def test_transitions_seen_and_never_seen_are_all_that_are_declared() -> None:
    tally = Tally()
    tally.add(run(1, {}))
    content = tally.content()
    assert content["transitions_seen"] == {str(SEEN): 3}
    assert len(content["transitions_never_seen"]) == len(DECLARED) - 1
    json.dumps(content)
