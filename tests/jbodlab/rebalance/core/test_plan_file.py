from __future__ import annotations

import json

import pytest
from hypothesis import given

from jbodlab.rebalance.core.plan import make_plan
from jbodlab.rebalance.core.plan_file import ANY, Wanted, as_it_is, from_json, to_json, wanted_by
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.situation import LogDirId, Situation
from protocol.ids import TopicPartition
from tests.jbodlab.rebalance.situations import at, log_dirs, partition, situations

WISH = PlanRequest(drained_brokers=frozenset({1}))
SITUATION = Situation(
    log_dirs=log_dirs(3, 1),
    partitions=(
        partition(0, [at(1, 1), at(2, 1)]),
        partition(1, [at(2, 1)]),
        partition(2, [at(2, 1), LogDirId(1, "")], offline=[1]),
    ),
)


def test_a_plan_is_written_as_kafkas_tool_reads_it() -> None:
    wanted = wanted_by(make_plan(SITUATION, WISH))
    assert json.loads(to_json(wanted)) == {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": 0, "replicas": [3, 2], "log_dirs": ["/b3/d1", "any"]},
            {"topic": "t", "partition": 2, "replicas": [2, 3], "log_dirs": ["any", "/b3/d1"]},
        ],
    }


def test_the_way_back_names_every_log_dir_that_is_known() -> None:
    wanted = wanted_by(make_plan(SITUATION, WISH))
    assert [(each.brokers, each.log_dirs) for each in as_it_is(SITUATION, wanted)] == [
        ((1, 2), ("/b1/d1", "/b2/d1")),
        ((2, 1), ("/b2/d1", ANY)),
    ]


def test_there_is_no_way_back_for_what_does_not_exist() -> None:
    gone = Wanted(tp=TopicPartition("gone", 4), brokers=(1,), log_dirs=(ANY,))
    with pytest.raises(ValueError, match="the cluster has no gone-4"):
        as_it_is(SITUATION, [gone])


@given(situations())
def test_files_say_what_was_written(situation: Situation) -> None:
    plan = make_plan(situation, PlanRequest(between_brokers=True))
    wanted = wanted_by(plan)
    back = as_it_is(situation, wanted)
    assert from_json(to_json(wanted)) == wanted
    assert from_json(to_json(back)) == back
    assert [each.tp for each in back] == [each.tp for each in wanted]


def test_log_dirs_may_be_left_out() -> None:
    text = '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}'
    assert from_json(text)[0].log_dirs == (ANY, ANY)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Expecting"),
        ("[]", 'no "version": 1'),
        ('{"version": 2}', 'no "version": 1'),
        ('{"version": 1}', 'no list "partitions"'),
        ('{"version": 1, "partitions": [3]}', "no partition with topic"),
        ('{"version": 1, "partitions": [{"topic": "t"}]}', "no partition with topic"),
        (
            '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1]}]}',
            "must be different brokers",
        ),
        (
            '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": []}]}',
            "must be different brokers",
        ),
        (
            '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1],'
            ' "log_dirs": ["/a", "/b"]}]}',
            "1 replicas but 2 log_dirs",
        ),
        (
            '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]},'
            ' {"topic": "t", "partition": 0, "replicas": [2]}]}',
            "names twice: t-0",
        ),
    ],
)
def test_a_file_that_is_no_plan_is_told_why(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        from_json(text)
