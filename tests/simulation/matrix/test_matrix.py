"""Wherever a crash comes, the cluster heals; and where it could not, the matrix says so."""

from __future__ import annotations

import pytest

from simulation.matrix.matrix import run_story
from simulation.matrix.matrix_cluster import ORDERS, MatrixCluster
from simulation.matrix.outcome import Crash, CrashPoint, Outcome
from simulation.matrix.stories import CASTS, Story, crashes_of, create, fail, start


@pytest.mark.sampled("story", kept=1)
@pytest.mark.parametrize(
    ("node", "story"), [(node, story) for node, cast in CASTS.items() for story in cast]
)
def test_a_power_cut_at_any_change_leaves_a_cluster_that_heals(node: str, story: Story) -> None:
    kind = Crash.POWER_CUT if Crash.POWER_CUT in crashes_of(node) else Crash.KILL
    (row,) = run_story(story, [kind], node=node, jobs=2)
    assert row.findings == []
    assert row.outcomes.total() > 1


@pytest.mark.sampled_among("stories with crashes of several kinds", kept=1)
def test_every_kind_of_crash_gets_a_row() -> None:
    judged: list[CrashPoint] = []
    rows = run_story(create, jobs=2, on_judged=judged.append)
    assert [row.crash for row in rows] == list(Crash)
    assert [row.findings for row in rows] == [[], [], [], [], []]
    assert [row.outcomes.total() > 10 for row in rows] == [True] * 5
    assert len(judged) == sum(row.outcomes.total() for row in rows)


@pytest.mark.sampled_among("stories with crashes of several kinds", kept=1)
def test_a_controller_starts_again_at_whatever_operation_it_ended() -> None:
    rows = run_story(start, node="controller", jobs=2)
    assert [row.crash for row in rows] == [crash for crash in Crash if crash is not Crash.RETURN]
    assert [row.findings for row in rows] == [[], [], [], []]
    assert [row.outcomes.total() > 5 for row in rows] == [True] * 4


@pytest.mark.sampled_among("stories with crashes of several kinds", kept=1)
def test_a_log_dir_that_failed_comes_back_while_its_broker_lives() -> None:
    (row,) = run_story(fail, [Crash.RETURN], jobs=2)
    assert row.findings == []
    assert row.outcomes.total() > 10


async def forgets(cluster: MatrixCluster) -> None:
    """Something is promised that never was."""
    cluster.begin()
    await cluster.create()
    cluster.models[ORDERS].acknowledged[5] = b"never written"
    await cluster.produce(1)


def test_what_is_lost_is_in_the_table() -> None:
    (row,) = run_story(forgets, [Crash.KILL], jobs=2)
    assert row.outcomes[Outcome.LOST] > 0
    assert row.is_bad
    assert "5 is missing" in row.findings[-1]


async def breaks(cluster: MatrixCluster) -> None:
    """A broker that must not start again."""
    await cluster.create()
    for drive in cluster.victim.drives.values():
        drive.disk.memory.make_dir("nobody's directory")
    cluster.begin()
    await cluster.produce(1)


def test_a_start_that_is_refused_is_in_the_table() -> None:
    (row,) = run_story(breaks, [Crash.KILL], jobs=2)
    assert row.outcomes[Outcome.REFUSED] == row.outcomes.total() > 0
    assert row.is_bad


async def needs_the_second(cluster: MatrixCluster) -> None:
    """What a copy promises cannot be kept unless the second of two was started again."""
    await cluster.create()
    acknowledged = cluster.models[ORDERS].acknowledged
    acknowledged[99] = b"never written"
    cluster.sim.brokers[2].on_made = lambda _: acknowledged.clear()
    cluster.begin()
    await cluster.produce(1)


def test_of_two_nodes_the_second_is_killed_and_starts_again_too() -> None:
    (row,) = run_story(needs_the_second, [Crash.KILL], node="broker-1+broker-2", jobs=2)
    assert row.findings == []
    assert row.outcomes[Outcome.RECOVERED] > 1
