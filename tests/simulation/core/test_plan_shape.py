from __future__ import annotations

from typing import Any

import pytest

from simulation.core.actions import Kill, Step
from simulation.core.plan import Workload
from simulation.core.plan_shape import Name, ShapeReader
from simulation.core.references import Means


def test_names_are_noted_with_their_place() -> None:
    reader = ShapeReader()

    assert reader.read({"kill": 2}, Step) == Step(action=Kill("broker-2"))
    assert reader.names == [Name(("kill",), Means.NODE, "broker-2")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({}, ["name: is missing"]),
        ({"name": 1, "topic": "a"}, ["name: must be text, is 1"]),
        (
            {"name": "a", "topic": "a", "acks": "some"},
            ["acks: must be one of all, 1, 0, is 'some'"],
        ),
        (
            {"name": "a", "topic": "a", "idempotent": "yes"},
            ["idempotent: must be true or false, is 'yes'"],
        ),
        (
            {"name": "a", "topic": "a", "record_bytes": True},
            ["record_bytes: must be a whole number, is True"],
        ),
        (
            {"name": "a", "topic": "a", "interval": "-1s"},
            ["interval: must be a time such as 500ms, 2s or 1min, is '-1s'"],
        ),
    ],
)
def test_what_has_not_the_shape_of_a_class_is_told(content: Any, told: list[str]) -> None:
    reader = ShapeReader()

    assert reader.read(content, Workload) is None
    assert reader.mistakes == told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("kill", "the file: must be a step: a mapping with the word of an action, is 'kill'"),
        ({"reassign": {"of": "a-0", "to": 1}}, "reassign.to: must be a list, is 1"),
        ({"create_topic": {"name": "a", "configs": []}}, "create_topic.configs: must be a mapping"),
        (
            {"create_topic": {"name": "a", "configs": {"b": [1]}}},
            "create_topic.configs.b: must be text, a number, true or false, is [1]",
        ),
        ({"fault": "eio"}, "fault: must be a mapping of keys, is 'eio'"),
        ({"fault": {"mode": "eio", "broker": 1}}, "fault.id: is missing: what clear and"),
        ({"fault": {"name": "a"}}, "fault.id: is missing: what clear and fault_hits call it; name"),
        (
            {"fault": {"id": "a", "mode": "kill", "node": "broker-1"}},
            "fault.mode: must be of a disk or the network, is 'kill'",
        ),
        ({"fault": {"id": "a", "mode": "explode", "broker": 1}}, "fault.mode: must be one of eio,"),
        ({"until": {"led": "a-0", "isr": {}}}, "until: must be one condition, as in"),
        ({"skew_clock": {"node": 1, "by": "soon"}}, "skew_clock.by: must be a time"),
    ],
)
def test_what_is_no_step_is_told(content: Any, told: str) -> None:
    reader = ShapeReader()

    assert reader.read(content, Step) is None
    assert reader.mistakes[0].startswith(told)


def test_a_clock_may_go_behind() -> None:
    step = ShapeReader().read({"skew_clock": {"node": 1, "by": "-2s"}}, Step)

    assert step.action.by_ms == -2000
