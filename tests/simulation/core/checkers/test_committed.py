"""Members of the Isr have all that earlier leaders had committed."""

from __future__ import annotations

import pytest

from simulation.core.checkers.committed import lacking
from simulation.core.samples import Damage, Role, SampleSource
from tests.simulation.core.checkers.build import Story


def _texts(story: Story) -> list[str]:
    story.samples.sources = tuple(SampleSource)
    return [text for _, text in lacking(story.evidence)]


def _story() -> Story:
    """Broker 1 has committed 8 records without broker 2, and broker 3 leads after it."""
    story = Story().at(1)
    story.partition(isr=(1, 3), replicas=(1, 2, 3))
    story.replica(1, Role.LEADER, end=8, high_watermark=8, isr=(1, 3))
    story.replica(2, end=5)
    story.replica(3, end=8, high_watermark=5)
    story.at(2).replica(1, Role.GONE)
    story.partition(isr=(3,), leader=3, epoch=1, replicas=(1, 2, 3), offline=(1,))
    story.replica(3, Role.LEADER, epoch=1, end=8, high_watermark=5, isr=(3,))
    return story


def _lets_in(story: Story, end: int, *, epoch: int = 1) -> None:
    """Broker 2 comes into the Isr with a log up to there."""
    story.at(3).replica(2, epoch=epoch, end=end)
    story.partition(isr=(3, 2), leader=3, epoch=epoch, replicas=(1, 2, 3), offline=(1,))


def test_who_has_all_that_the_last_leader_had_committed_may_come_in() -> None:
    story = _story()
    _lets_in(story, 8)

    assert _texts(story) == []


def test_who_has_only_what_the_new_leader_knows_to_be_committed_may_not() -> None:
    story = _story()
    _lets_in(story, 6)
    story.at(4).replica(2, epoch=1, end=7)

    assert _texts(story) == [
        "of orders-0 was 8 on its leader 1 at epoch 0, and broker 2, which the controller has in "
        "the Isr [3, 2] at epoch 1, has a log that ends at 6"
    ]


def test_a_member_that_is_offline_or_not_led_yet_is_not_held_against_it() -> None:
    story = _story()
    story.at(3).replica(2, Role.OFFLINE, epoch=1)
    story.partition(isr=(3, 2), leader=3, epoch=1, replicas=(1, 2, 3))
    story.at(4).replica(2, epoch=-1, end=0)

    assert _texts(story) == []


def test_an_isr_is_unknown_while_a_leader_has_heard_of_a_later_one() -> None:
    """The controller ended between its decision and the next look at it (seed 660036)."""
    story = _story()
    story.at(3).replica(3, Role.LEADER, epoch=2, end=9, high_watermark=9, isr=(3,))
    story.partition(isr=(3, 2), leader=3, epoch=1, replicas=(1, 2, 3), offline=(1,))
    story.replica(2, epoch=1, end=8)
    assert _texts(story) == []

    story.at(4).partition(isr=(3, 2), leader=3, epoch=2, replicas=(1, 2, 3), offline=(1,))
    assert len(_texts(story)) == 1


def test_after_an_unclean_election_only_what_its_leader_commits_counts() -> None:
    story = _story()
    story.at(2.5).partition(isr=(2,), leader=2, epoch=2, replicas=(1, 2, 3))
    story.replica(2, Role.LEADER, epoch=2, end=5, high_watermark=5, isr=(2,))
    story.at(2.6).replica(3, Role.LEADER, epoch=1, end=8, high_watermark=8, isr=(3,))
    story.at(3).replica(3, epoch=2, end=5)
    story.partition(isr=(2, 3), leader=2, epoch=2, replicas=(1, 2, 3))

    assert _texts(story) == []


def test_nothing_is_known_of_disks_that_lost_something() -> None:
    story = _story()
    _lets_in(story, 6)
    story.samples.damages.append(Damage(2_900_000, 2, "d1", "lost"))
    assert _texts(story) == []

    story.samples.damages[0] = Damage(1_900_000, 3, "d1", "lost")
    assert _texts(story) == []


def test_another_topic_of_the_name_has_other_records() -> None:
    story = _story()
    story.at(3).partition(isr=(1, 2), epoch=0, topic_id=b"new")
    story.replica(1, Role.LEADER, topic_id=b"new", isr=(1, 2))
    story.replica(2, topic_id=b"new")

    assert _texts(story) == []


def test_a_hand_that_changes_the_journal_may_let_anybody_in() -> None:
    story = _story()
    story.samples.journal_edits_us.append(2_500_000)
    _lets_in(story, 6)

    assert _texts(story) == []


@pytest.mark.parametrize(("isr", "epoch", "count"), [((1,), 1, 0), ((1, 2), 1, 1), ((1,), 0, 1)])
def test_who_was_taken_out_just_before_the_controller_ended_is_not_held_against_it(
    isr: tuple[int, ...], epoch: int, count: int
) -> None:
    """Its leader has heard of that, and nobody has seen it decided (seed 1110058)."""
    story = Story().at(1)
    story.partition(isr=(1, 2), replicas=(1, 2))
    story.samples.partitions[-1] = story.samples.partitions[-1]._replace(partition_epoch=0)
    story.replica(1, Role.LEADER, end=5, high_watermark=5, isr=(1, 2))
    story.replica(2, end=5)
    story.at(2).replica(1, Role.LEADER, end=8, high_watermark=8, isr=isr, partition_epoch=epoch)
    assert len(_texts(story)) == count

    story.at(3).replica(1, Role.OFFLINE)
    assert len(_texts(story)) == count, "seed 971115"


def test_a_world_that_does_not_see_all_nodes_at_once_tells_nothing() -> None:
    story = _story()
    _lets_in(story, 6)
    story.samples.sources = (SampleSource.CLIENTS, SampleSource.REPLICAS)

    assert list(lacking(story.evidence)) == []
