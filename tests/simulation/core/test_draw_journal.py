"""What is drawn for the controller's journal, and what is not drawn beside it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from protocol.faults.model import CONTROLLER_NODE
from simulation.core.actions import EditJournal, Fault, Kill, PowerCut, Start, Step, Stop, When
from simulation.core.draw import draw_plan
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_faults import FaultScope
from simulation.core.draw_journal import draw_journal, draw_losses
from simulation.core.plan import Plan
from tests.simulation.core.streams import streams_of

SCENES = [FaultScope(draw_cluster(Random(seed)), 5_000) for seed in range(60)]
DRAWN = [draw_journal(Random(seed), scene) for seed, scene in enumerate(SCENES)]


def steps_of(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step.action, When):
            yield from steps_of(step.action.steps)


def has_edits(plan: Plan) -> bool:
    return any(isinstance(step.action, EditJournal) for step in steps_of(plan.steps))


def test_every_edit_is_drawn_in_its_order_and_the_controller_runs_in_the_end() -> None:
    edits: dict[str, None] = {}
    for drawn in DRAWN:
        assert [each.at_ms for each in drawn] == sorted(each.at_ms for each in drawn)
        copy, end, edit, *others = [each.action for each in drawn]
        assert copy == EditJournal("copy")
        assert isinstance(end, Kill | Stop | PowerCut)
        assert end.node == CONTROLLER_NODE
        assert isinstance(edit, EditJournal)
        assert others[-1] == Start(CONTROLLER_NODE)
        assert (EditJournal("restore") in others) == (edit.edit in {"damage_middle", "empty"})
        edits[edit.edit] = None
    assert set(edits) == {"cut", "damage", "damage_middle", "restore", "empty"}


def test_what_the_journal_may_lose_is_decided_between_the_copy_and_the_edit() -> None:
    words: dict[str, None] = {}
    for seed, (scene, drawn) in enumerate(zip(SCENES, DRAWN, strict=True)):
        copy_ms, end_ms = drawn[0].at_ms, drawn[1].at_ms
        losses = draw_losses(Random(seed), scene, drawn)
        assert [each.at_ms for each in losses] == sorted(each.at_ms for each in losses)
        assert bool(losses) == (end_ms - copy_ms >= 300)
        assert not losses or any(copy_ms < each.at_ms < end_ms for each in losses)
        words.update((type(each.action).__name__, None) for each in losses)
    assert set(words) == {"AddPartitions", "CreateTopic", "DeleteTopic", "Reassign"}


def test_whoever_edits_the_journal_finds_every_broker_and_disk_well() -> None:
    plans = [draw_plan(seed, streams_of(seed), 5) for seed in range(1, 200)]
    edited = [plan for plan in plans if has_edits(plan)]
    assert edited
    for plan in edited:
        for step in steps_of(plan.steps):
            assert not isinstance(step.action, Fault)
            if isinstance(step.action, Kill | Stop | PowerCut):
                assert step.action.node == CONTROLLER_NODE
