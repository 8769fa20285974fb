"""Resets of offsets: bounds, durations, and the file of a plan."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.core.failures import ToolFailure, UsageFailure
from jbodlab.kafka_tools.core.offset_resets import (
    duration_ms,
    parse_plan,
    plan_lines,
    shifted,
    within,
)
from protocol.ids import TopicPartition

A, B, C = (TopicPartition("t", number) for number in range(3))


def test_offsets_stay_within_their_logs():
    found, warnings = within({A: 1, B: 5, C: 9}, {A: 2, B: 2, C: 2}, {A: 8, B: 8, C: 8})
    assert found == {A: 2, B: 5, C: 8}
    assert warnings == [
        "New offset (1) is lower than earliest offset for topic partition t-0. "
        "Value will be set to 2",
        "New offset (9) is higher than latest offset for topic partition t-2. "
        "Value will be set to 8",
    ]


def test_only_offsets_that_are_there_are_shifted():
    assert shifted({A: 5, B: 1}, [A], -2) == {A: 3}
    with pytest.raises(UsageFailure, match="Cannot shift offset for partition t-2 since"):
        shifted({A: 5}, [A, C], 1)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("P1D", 86_400_000),
        ("PT1H2M3.5S", 3_723_500),
        ("P1DT1M", 86_460_000),
        ("-PT1S", -1000),
        ("PT-1S", -1000),
        ("pt0s", 0),
    ],
)
def test_durations_are_those_of_java(text: str, ms: int):
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "P1M", "P1.5D", "PT1H "])
def test_what_is_no_duration_is_refused(text: str):
    with pytest.raises(ToolFailure, match="Text cannot be parsed to a Duration"):
        duration_ms(text)


def test_a_plan_is_read_as_it_was_written():
    resets = {"g": {A: 1, B: 2}, "h": {A: 3}}
    assert parse_plan("\n".join(plan_lines(resets, has_groups=True)), None) == resets
    one = {"g": {A: 1}}
    assert list(plan_lines(one, has_groups=False)) == ["t,0,1"]
    assert parse_plan("t,0,1\n\n", "g") == one


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,0,1", "line 1 is t,0,1: it has to be group,topic,partition,offset"),
        ("g,t,0,1\ng,t", "line 2 is g,t: it has to be group,topic,partition,offset"),
        ("g,t,x,1", 'For input string: "x"'),
        ("g,t,0,-1", "line 1: '-1' is no offset"),
    ],
)
def test_a_line_that_is_no_plan_is_named(text: str, message: str):
    with pytest.raises(ToolFailure) as raised:
        parse_plan(text, None)
    assert raised.value.message.startswith(message)
