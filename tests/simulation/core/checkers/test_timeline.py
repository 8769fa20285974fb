from __future__ import annotations

from simulation.core.checkers.timeline import in_force, last_partitions, merged, moments
from simulation.core.samples import Damage, LogDirSample
from tests.simulation.core.checkers.build import TP, Story


def test_samples_are_merged_by_time_and_then_by_track() -> None:
    first = [LogDirSample(1, 1, "d1", True), LogDirSample(5, 1, "d1", False)]
    second = [Damage(1, 1, "d1", "x"), Damage(3, 1, "d1", "y")]

    assert list(merged(first, second)) == [first[0], second[0], second[1], first[1]]


def test_samples_of_one_moment_come_together() -> None:
    samples = [Damage(1, 1, "d1", "x"), Damage(1, 2, "d1", "y"), Damage(3, 1, "d1", "z")]

    assert list(moments(samples)) == [(1, samples[:2]), (3, samples[2:])]


def test_what_stood_at_the_begin_counts_and_what_came_to_the_end() -> None:
    samples = [Damage(at_us, 1, "d1", "x") for at_us in (2, 5, 7, 9)]

    assert in_force(samples, 1, 9) == ()
    assert in_force(samples, 2, 4) == samples[:1]
    assert in_force(samples, 4, 7) == samples[:3]
    assert in_force(samples, 5, 8) == samples[1:3]
    assert in_force(samples, 20, 30) == samples[3:]


def test_the_last_word_on_a_partition_counts() -> None:
    story = Story()
    story.partition(epoch=0)
    story.partition(epoch=1)
    assert last_partitions(story.samples.partitions)[TP].leader_epoch == 1

    story.partition(is_deleted=True)
    assert last_partitions(story.samples.partitions) == {}
