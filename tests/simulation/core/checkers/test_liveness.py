from __future__ import annotations

from simulation.core.checkers.liveness import check_liveness, lacks
from simulation.core.samples import Role
from tests.simulation.core.checkers.build import SECOND_US, SIBLING, Story


def _texts(story: Story) -> list[str]:
    found = [violation.text for violation in check_liveness(story.evidence)]
    assert len(lacks(story.samples)) == len(found)
    return found


def _story() -> Story:
    story = Story()
    story.samples.healed_us = 2 * SECOND_US
    story.at(1)
    return story


def test_a_led_partition_with_a_full_isr_is_well() -> None:
    story = _story()
    story.replica(1, Role.LEADER)
    story.partition()

    assert _texts(story.at(3)) == []


def test_a_partition_without_a_leader_is_not() -> None:
    story = _story()
    story.partition(leader=-1)

    assert _texts(story.at(5)) == [
        "orders-0 has no leader, although its Isr [1, 2] has online members, "
        "3.000 s after everything was healed"
    ]


def test_nor_one_with_an_online_replica_out_of_the_isr() -> None:
    story = _story()
    story.replica(1, Role.LEADER)
    story.partition(isr=(1,))

    assert _texts(story.at(3)) == [
        "online replicas [2] of orders-0 are not in its Isr [1], "
        "1.000 s after everything was healed"
    ]


def test_nor_one_whose_leader_does_not_know_it() -> None:
    story = _story()
    story.replica(1, Role.LEADER, epoch=0)
    story.partition(epoch=1)

    (text,) = _texts(story.at(3))

    assert text.startswith("orders-0 is led by broker 1 at epoch 1 as the controller has it")


def test_what_is_offline_is_not_waited_for() -> None:
    story = _story()
    story.replica(1, Role.LEADER)
    story.partition(isr=(1,), offline=(2,))
    assert _texts(story.at(3)) == []

    story.partition(isr=(2,), leader=-1, offline=(2,))
    assert _texts(story.at(3)) == []


def test_only_the_end_counts() -> None:
    story = _story()
    story.partition(leader=-1)
    story.at(2).replica(1, Role.LEADER, epoch=1)
    story.partition(epoch=1)

    assert _texts(story.at(3)) == []


def test_a_run_that_was_never_healed_is_not_judged() -> None:
    story = Story()
    story.partition(leader=-1)

    assert check_liveness(story.evidence) == []


def test_deleted_partitions_are_not_waited_for() -> None:
    story = _story()
    story.partition(leader=-1)
    story.partition(leader=-1, is_gone=True)

    assert _texts(story) == []


def test_a_topic_that_is_about_to_be_deleted_goes_unless_a_replica_is_offline() -> None:
    story = _story()
    story.partition(is_deleted=True)

    assert _texts(story.at(3)) == [
        "orders-0 is about to be deleted, and all its replicas are online, "
        "1.000 s after everything was healed"
    ]
    story.partition(is_deleted=True, offline=(2,))
    assert _texts(story) == []
    story.partition(is_gone=True)
    assert _texts(story) == []


def test_a_topic_goes_as_a_whole_once_a_replica_of_another_partition_is_back() -> None:
    """All logs of the first partition were deleted, and the second one waits (seed 754393)."""
    story = _story()
    story.partition(is_deleted=True)
    story.partition(tp=SIBLING, is_deleted=True, offline=(2,))
    assert _texts(story) == []

    story.partition(tp=SIBLING, is_deleted=True)
    assert len(_texts(story)) == 2


def test_a_topic_whose_reassignment_waits_for_an_offline_replica_stays() -> None:
    story = _story()
    story.replica(1, Role.LEADER)
    story.partition(is_deleted=True)
    story.partition(tp=SIBLING, is_deleted=True, offline=(2,))
    assert _texts(story) != []

    story.partition(tp=SIBLING, is_deleted=True, offline=(2,), is_reassigned=True)
    assert _texts(story) == []

    story.partition(tp=SIBLING, is_deleted=True, is_reassigned=True)
    assert _texts(story) != []


def test_a_replica_that_is_about_to_be_taken_away_goes() -> None:
    story = _story()
    story.replica(1, Role.LEADER)
    story.partition()
    story.samples.partitions[-1] = story.samples.partitions[-1]._replace(target=(1,))

    assert _texts(story.at(3)) == [
        "replicas [2] of orders-0 are about to be taken away, and all are online, "
        "1.000 s after everything was healed"
    ]
    story.samples.journal_edits_us.append(1)
    assert _texts(story) == []
