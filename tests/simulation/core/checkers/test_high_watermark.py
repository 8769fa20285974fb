from __future__ import annotations

import pytest

from protocol.ids import TopicPartition
from simulation.core.checkers.fault_model import NOT_DURABLE
from simulation.core.checkers.high_watermark import check_high_watermark
from simulation.core.samples import Damage, Role, SampleSource
from tests.simulation.core.checkers.build import SECOND_US, Story


def _texts(story: Story, *, exact: bool = True) -> list[str]:
    """``exact``: each high watermark is of its moment."""
    if exact:
        story.samples.sources = (SampleSource.COMMITS,)
    return [violation.text for violation in check_high_watermark(story.evidence)]


def _lead(
    story: Story,
    high_watermark: int,
    *,
    epoch: int = 0,
    end: int = 9,
    boot: int = 1,
    isr: tuple[int, ...] = (1, 2),
) -> None:
    story.replica(
        1,
        Role.LEADER,
        epoch=epoch,
        end=end,
        high_watermark=high_watermark,
        isr=isr,
        boot=boot,
    )


def test_it_rises() -> None:
    story = Story()
    story.replica(2, end=5)
    _lead(story.at(1), 3)
    _lead(story.at(2), 5)

    assert _texts(story) == []


def test_it_does_not_fall_within_an_epoch() -> None:
    story = Story()
    _lead(story.at(1), 5)
    _lead(story.at(2), 4)

    assert _texts(story) == ["of orders-0 fell from 5 to 4 on broker 1, within leader epoch 0"]


def test_it_may_fall_with_a_new_epoch_and_with_a_new_process() -> None:
    story = Story()
    _lead(story.at(1), 5)
    _lead(story.at(2), 4, epoch=1)
    _lead(story.at(3), 3, epoch=1, boot=2)

    assert _texts(story) == []


def test_a_follower_s_may_fall() -> None:
    story = Story()
    story.replica(2, end=5, high_watermark=5)
    story.at(1).replica(2, end=3, high_watermark=3)

    assert _texts(story) == []


def test_it_does_not_pass_the_log_of_a_member_of_the_isr() -> None:
    story = Story()
    story.replica(2, end=5)
    _lead(story.at(1), 6)

    assert _texts(story) == [
        "of orders-0 is 6 on its leader 1 at epoch 0, "
        "and broker 2 of its Isr has a log that ends at 5"
    ]


def test_nor_the_leader_s_own_log() -> None:
    story = Story()
    _lead(story, 6, end=5)

    assert len(_texts(story)) == 1


def test_a_member_s_log_may_not_be_cut_below_it_either() -> None:
    story = Story()
    story.replica(2, end=6)
    _lead(story.at(1), 6)
    story.at(2).replica(2, end=4)

    assert len(_texts(story)) == 1


def test_changes_of_one_moment_count_together() -> None:
    story = Story()
    story.replica(2, end=5)
    _lead(story, 5)
    _lead(story.at(1), 6)
    story.replica(2, end=6)

    assert _texts(story) == []


def test_replicas_that_are_offline_or_still_at_another_epoch_do_not_count() -> None:
    story = Story()
    story.replica(2, end=5)
    story.at(1).replica(2, Role.OFFLINE, end=0)
    _lead(story, 6)
    story.at(2).replica(2, end=3, epoch=1)

    assert _texts(story) == []


def test_where_it_is_older_than_the_isr_one_who_just_joined_may_have_been_behind() -> None:
    story = Story()
    _lead(story, 5, isr=(1,))
    # The sampler asks the follower first, which joins before the leader is asked.
    story.at(1).replica(2, end=3)
    _lead(story, 5)

    assert _texts(story, exact=False) == []
    assert len(_texts(story)) == 1


def test_even_there_it_passes_nobody_who_has_been_in_the_isr_for_a_look() -> None:
    story = Story()
    story.replica(2, end=5)
    _lead(story, 5)
    story.at(1).replica(2, end=5)
    _lead(story, 6)

    assert len(_texts(story, exact=False)) == 1


def test_one_who_left_and_joined_again_has_just_joined() -> None:
    story = Story()
    story.replica(2, end=5)
    _lead(story, 5)
    _lead(story.at(1), 7, isr=(1,))
    story.at(2).replica(2, end=6)
    _lead(story, 7)

    assert _texts(story, exact=False) == []


def _add_anew(story: Story, *, edited: float = 1, is_gone: bool = True) -> None:
    """Have broker 1 lead again, beside a new replica that has nothing yet."""
    _lead(story, 6)
    story.replica(2, end=6)
    story.samples.journal_edits_us.append(int(edited * SECOND_US))
    story.at(2).partition(is_gone=is_gone)
    story.at(3).replica(2, end=0, epoch=2)


def test_added_anew_after_the_journal_lost_it_its_new_replicas_may_be_behind() -> None:
    story = Story()
    _add_anew(story)
    _lead(story, 6, epoch=2)
    story.at(4).replica(2, end=3, epoch=2)

    assert _texts(story) == []


@pytest.mark.parametrize(("edited", "is_gone"), [(5, True), (1, False)])
def test_no_new_replica_may_be_behind_where_the_journal_did_not_lose_the_partition(
    *, edited: float, is_gone: bool
) -> None:
    story = Story()
    _add_anew(story, edited=edited, is_gone=is_gone)
    _lead(story, 6, epoch=2)

    assert len(_texts(story)) == 1


def test_what_is_committed_since_it_was_added_anew_passes_nobody() -> None:
    story = Story()
    _add_anew(story)
    _lead(story, 6, epoch=2)
    _lead(story.at(4), 7, epoch=2)

    assert len(_texts(story)) == 1


def test_what_no_leader_had_committed_before_is_not_taken_over() -> None:
    story = Story()
    _add_anew(story)
    _lead(story, 7, epoch=2)

    assert len(_texts(story)) == 1


def test_nor_is_what_a_leader_has_committed_since() -> None:
    story = Story()
    _add_anew(story)
    story.replica(2, end=7, epoch=2)
    _lead(story, 7, epoch=2)
    story.at(4).replica(2, end=6, epoch=3)
    _lead(story, 7, epoch=3)

    assert len(_texts(story)) == 1


def test_nor_is_a_high_watermark_beyond_the_leader_s_own_log() -> None:
    story = Story()
    _add_anew(story)
    _lead(story, 6, epoch=2, end=5)

    assert len(_texts(story)) == 1


@pytest.mark.parametrize(("lost_at", "is_told"), [(2, False), (0.5, True)])
def test_a_member_that_lost_power_is_behind_until_its_leader_is_told(
    lost_at: float, is_told: bool
) -> None:
    """Its leader is told late, and it was back before that (seed 760170)."""
    story = Story().at(1)
    story.replica(1, Role.LEADER, end=4, high_watermark=4, isr=(1, 2))
    story.replica(2, end=4)
    lost_us = int(lost_at * SECOND_US)
    story.samples.damages.append(Damage(lost_us, 2, "d1", NOT_DURABLE))
    story.at(3).replica(2, end=2, boot=2)
    assert bool(_texts(story)) == is_told


@pytest.mark.parametrize("has_left", [False, True])
def test_others_that_leave_the_isr_tell_the_leader_nothing_of_who_lost_power(
    has_left: bool,
) -> None:
    story = Story().at(1)
    story.replica(1, Role.LEADER, end=4, high_watermark=4, isr=(1, 2, 3))
    story.replica(2, end=4)
    story.samples.damages.append(Damage(2 * SECOND_US, 2, "d1", NOT_DURABLE))
    for at, isr in ((3, (1,) if has_left else (1, 2)), (4, (1, 2))):
        story.at(at).replica(1, Role.LEADER, epoch=1, end=4, high_watermark=4, isr=isr)
    story.at(5).replica(2, end=2, epoch=1, boot=2)
    assert bool(_texts(story)) == has_left


@pytest.mark.parametrize(("partition", "is_told"), [(0, False), (1, True)])
def test_what_a_disk_has_changed_is_lost_when_the_log_is_loaded_again(
    partition: int, *, is_told: bool
) -> None:
    """However long before it was changed; of this partition (seed 1063395)."""
    story = Story()
    changed = TopicPartition("orders", partition)
    damage = Damage(SECOND_US // 2, 2, "d1", "misdirected_write", is_lasting=True, tp=changed)
    story.samples.damages.append(damage)
    story.at(1).replica(1, Role.LEADER, end=4, high_watermark=4, isr=(1, 2))
    story.replica(2, end=4)
    story.at(3).replica(2, end=2, boot=2)
    assert bool(_texts(story)) == is_told
