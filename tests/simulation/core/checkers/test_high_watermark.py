from __future__ import annotations

from simulation.core.checkers.high_watermark import check_high_watermark
from simulation.core.samples import Role, SampleSource
from tests.simulation.core.checkers.build import Story


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
