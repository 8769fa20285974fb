"""Wherever a crash comes, the cluster heals; and where it could not, the matrix says so."""

from __future__ import annotations

import pytest

from jbodlab.worlds.scenario_files import story_files
from simulation.core.checkers.evidence import Violation
from simulation.matrix.matrix import StoryError, check_story, result_of, run_story
from simulation.matrix.outcome import Crash, CrashPoint, Outcome, crashes_of, nodes_of
from simulation.run.runner import HEALING
from tests.simulation.matrix.stories import shipped, told

WRITES = """
  - start_workload: writes
  - until: {count: {workload: writes, at_least: 1}}
"""


@pytest.mark.sampled("name", kept=1)
@pytest.mark.parametrize(
    ("nodes", "name"),
    [(nodes, file.stem) for file in story_files() for nodes in nodes_of(shipped(file.stem))],
)
def test_a_power_cut_at_any_change_leaves_a_cluster_that_heals(
    nodes: tuple[str, ...], name: str
) -> None:
    kind = Crash.POWER_CUT if Crash.POWER_CUT in crashes_of(nodes) else Crash.KILL
    story = shipped(name)
    check_story(story)
    (row,) = run_story(story, nodes, [kind], jobs=2)
    assert row.findings == []
    assert row.outcomes.total() > 1


@pytest.mark.sampled_among("stories with crashes of several kinds", kept=1)
def test_every_kind_of_crash_gets_a_row() -> None:
    judged: list[CrashPoint] = []
    rows = run_story(shipped("create"), ["broker-1"], jobs=2, on_judged=judged.append)
    assert [row.crash for row in rows] == list(Crash)
    assert [row.findings for row in rows] == [[], [], [], [], []]
    assert [row.outcomes.total() > 10 for row in rows] == [True] * 5
    assert len(judged) == sum(row.outcomes.total() for row in rows)


@pytest.mark.sampled_among("stories with crashes of several kinds", kept=1)
def test_a_controller_starts_again_at_whatever_operation_it_ended() -> None:
    rows = run_story(shipped("start"), ["controller"], jobs=2)
    assert [row.crash for row in rows] == [crash for crash in Crash if crash is not Crash.RETURN]
    assert [row.findings for row in rows] == [[], [], [], []]
    assert [row.outcomes.total() > 5 for row in rows] == [True] * 4


@pytest.mark.sampled_among("stories with crashes of several kinds", kept=1)
def test_a_log_dir_that_failed_comes_back_while_its_broker_lives() -> None:
    (row,) = run_story(shipped("fail"), ["broker-1"], [Crash.RETURN], jobs=2)
    assert row.findings == []
    assert row.outcomes.total() > 10


def test_what_does_not_heal_in_time_is_in_the_table() -> None:
    story = told(WRITES, "ending: {heals_within: 1ms}")
    (row,) = run_story(story, ["broker-1"], [Crash.KILL])
    assert row.outcomes[Outcome.OFFLINE] == row.outcomes.total() > 0
    assert row.is_bad


def test_a_start_that_is_refused_is_in_the_table() -> None:
    file = "{broker: 1, log_dir: d1, file: nobodys-directory/file, text: x}"
    steps = (
        f"  - write_file: {file}\n  - {{start_workload: writes, crashes_begin: true}}\n  - wait: 1s"
    )
    (row,) = run_story(told(steps, "ending: {heals_within: 1s}"), ["broker-1"], [Crash.KILL])
    assert row.outcomes[Outcome.REFUSED] == row.outcomes.total() > 0
    assert row.findings[0].count("broker-1 was started") == 1


def test_what_a_checker_finds_is_lost() -> None:
    lost = [Violation("durability", 7, "record 5 is missing")]
    result = result_of(lost, {"broker-1": 1})
    assert result == (Outcome.LOST, "durability: record 5 is missing")
    ill = [Violation(HEALING, 7, "not well"), *lost]
    assert result_of(ill, {"broker-1": 1}).outcome is Outcome.OFFLINE
    assert result_of([], {"broker-1": 1, "broker-2": 0}).outcome is Outcome.RECOVERED
    assert result_of(ill, {"broker-1": 1, "broker-2": 2}).outcome is Outcome.REFUSED


def test_a_story_that_goes_wrong_by_itself_is_told_before_anything_crashes() -> None:
    with pytest.raises(StoryError, match=r"a-story goes wrong before anything crashes: .*not so"):
        check_story(told("  - {until: {topic_exists: no-such}, within: 1s}"))


def test_of_two_nodes_the_second_is_killed_and_starts_again_too() -> None:
    (row,) = run_story(told(WRITES), ["broker-1", "broker-2"], [Crash.KILL], jobs=2)
    assert row.node == "broker-1+broker-2"
    assert row.findings == []
    assert row.outcomes[Outcome.RECOVERED] > 1
