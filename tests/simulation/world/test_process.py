"""Which process code belongs to travels with it."""

from __future__ import annotations

from simulation.world.process import CURRENT, Process


def test_what_runs_in_a_context_of_a_process_belongs_to_it():
    process = Process("broker-1")
    assert process.context().run(CURRENT.get) is process


def test_other_code_belongs_to_none():
    Process("broker-1").context()
    assert CURRENT.get() is None
