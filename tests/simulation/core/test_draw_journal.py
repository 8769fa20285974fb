"""What is drawn for the controller's journal, and what is not drawn beside it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from protocol.faults.model import CONTROLLER_NODE
from simulation.core.actions import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    EditJournal,
    Fault,
    Kill,
    PowerCut,
    Reassign,
    Start,
    Step,
    Stop,
    When,
)
from simulation.core.draw import draw_plan
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_faults import FaultScope
from simulation.core.draw_journal import draw_absences, draw_journal, draw_losses
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
    assert set(words) == {
        "AddPartitions",
        "CreateTopic",
        "DeleteTopic",
        "Reassign",
        "Start",
        "Stop",
    }


def test_brokers_are_down_as_the_copy_is_made_between_and_at_the_edit() -> None:
    dark = between = beside = 0
    for seed, (scene, drawn) in enumerate(zip(SCENES, DRAWN, strict=True)):
        copy_ms, end_ms = drawn[0].at_ms, drawn[1].at_ms
        lanes, are_at_edit = draw_absences(Random(seed), scene, drawn)
        downs: list[tuple[int, int]] = []
        for lane in lanes:
            ends, starts = lane[::2], lane[1::2]
            assert all(isinstance(each.action, Stop) for each in ends)
            assert all(isinstance(each.action, Start) for each in starts)
            downs += [(end.at_ms, up.at_ms) for end, up in zip(ends, starts, strict=True)]
        brokers = scene.cluster.brokers
        is_dark = sum(down <= copy_ms < up for down, up in downs) >= brokers
        absent = sum(down <= end_ms < up for down, up in downs)
        assert (absent > 0) is are_at_edit
        dark += is_dark
        beside += absent == 1
        between += any(copy_ms < down < up < end_ms for down, up in downs)
    assert min(dark, between, beside) >= 3


def test_nobody_moves_replicas_while_a_broker_is_away_from_the_edit() -> None:
    plans = [draw_plan(seed, streams_of(seed), 5) for seed in range(1, 400)]
    away = [plan for plan in plans if has_edits(plan) and stops_at_edit(plan)]
    assert len(away) >= 10
    moving = CreateTopic | DeleteTopic | AddPartitions | Reassign
    for plan in away:
        assert not any(isinstance(step.action, moving) for step in steps_of(plan.steps))


def stops_at_edit(plan: Plan) -> bool:
    """Tell whether a broker is stopped, and not begun again before the journal is edited."""
    timed = [step for step in steps_of(plan.steps) if step.at_ms is not None]
    edit_ms = [s.at_ms for s in timed if isinstance(s.action, EditJournal)][1]
    ends = [s.at_ms for s in timed if isinstance(s.action, Stop) and is_broker(s.action.node)]
    starts = [s.at_ms for s in timed if isinstance(s.action, Start) and is_broker(s.action.node)]
    return any(end <= edit_ms for end in ends if end is not None and edit_ms is not None) and any(
        start > edit_ms for start in starts if start is not None and edit_ms is not None
    )


def is_broker(node: str) -> bool:
    return node != CONTROLLER_NODE


def test_whoever_edits_the_journal_finds_every_disk_well_and_no_broker_killed() -> None:
    plans = [draw_plan(seed, streams_of(seed), 5) for seed in range(1, 200)]
    edited = [plan for plan in plans if has_edits(plan)]
    assert edited
    for plan in edited:
        for step in steps_of(plan.steps):
            assert not isinstance(step.action, Fault)
            if isinstance(step.action, Kill | PowerCut):
                assert step.action.node == CONTROLLER_NODE
