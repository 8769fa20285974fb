from __future__ import annotations

from simulation.core.checkers.offline import check_offline
from simulation.core.samples import LogDirSample, NodeSample, Role
from tests.simulation.core.checkers.build import Story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_offline(story.evidence)]


def _log_dir(story: Story, *, is_online: bool, path: str = "d1") -> None:
    story.samples.log_dirs.append(LogDirSample(story.now_us, 1, path, is_online))


def test_an_offline_replica_that_left_the_isr_is_fine() -> None:
    story = Story()
    story.partition(isr=(2,), leader=2, offline=(1,))

    assert _texts(story) == []


def test_an_offline_leader_is_a_violation() -> None:
    story = Story()
    story.partition(isr=(2,), leader=1, epoch=3, offline=(1,))

    assert _texts(story) == [
        "the controller has orders-0 led by broker 1 at epoch 3, "
        "and knows that replica to be offline"
    ]


def test_an_offline_member_of_the_isr_is_a_violation() -> None:
    story = Story()
    story.partition(isr=(1, 2), leader=2, offline=(1,))

    assert _texts(story) == [
        "the controller has replicas [1] in the Isr [1, 2] of orders-0, "
        "and knows them to be offline"
    ]


def test_the_last_isr_stays_without_a_leader() -> None:
    story = Story()
    story.partition(isr=(1,), leader=-1, offline=(1, 2))

    assert _texts(story) == []


def test_deleted_partitions_are_not_looked_at() -> None:
    story = Story()
    story.partition(leader=1, offline=(1,), is_deleted=True)

    assert _texts(story) == []


def test_a_broker_that_leads_from_a_failed_log_dir_is_a_violation() -> None:
    story = Story()
    story.replica(1, Role.LEADER, epoch=2)
    _log_dir(story.at(1), is_online=False)

    assert _texts(story) == ["broker 1 leads orders-0 at epoch 2 from d1, which is offline"]


def test_so_is_one_that_begins_to() -> None:
    story = Story()
    _log_dir(story, is_online=False)
    story.at(1).replica(1, Role.LEADER)

    assert len(_texts(story)) == 1


def test_a_broker_that_stops_leading_in_the_moment_of_the_failure_is_fine() -> None:
    story = Story()
    story.replica(1, Role.LEADER)
    _log_dir(story.at(1), is_online=False)
    story.replica(1, Role.OFFLINE)
    story.at(2).replica(1, Role.FOLLOWER, log_dir="d2")
    _log_dir(story.at(3), is_online=True)
    story.at(4).replica(1, Role.LEADER, epoch=1)

    assert _texts(story) == []


def test_leading_from_another_log_dir_is_fine() -> None:
    story = Story()
    story.replica(1, Role.LEADER, log_dir="d2")
    _log_dir(story.at(1), is_online=False)

    assert _texts(story) == []


def _led_fails_and_leads(story: Story, **then: int) -> None:
    story.replica(1, Role.LEADER, epoch=4)
    story.at(1).replica(1, Role.OFFLINE, epoch=4)
    story.at(2).replica(1, Role.LEADER, epoch=then.get("epoch", 4), boot=then.get("boot", 1))


def test_a_broker_that_leads_again_in_the_epoch_in_which_its_log_dir_failed_is_a_violation() -> (
    None
):
    story = Story()
    _led_fails_and_leads(story)

    assert _texts(story) == [
        "broker 1 leads orders-0 at epoch 4 again, and its log dir failed in that epoch or a later "
        "one"
    ]


def test_a_later_epoch_another_process_and_another_topic_are_fine() -> None:
    for then in ({"epoch": 5}, {"boot": 2}):
        story = Story()
        _led_fails_and_leads(story, **then)
        assert _texts(story) == []
    story = Story()
    story.replica(1, Role.LEADER, topic_id=b"a")
    story.at(1).replica(1, Role.OFFLINE, topic_id=b"a")
    story.at(2).replica(1, Role.LEADER, topic_id=b"b")
    assert _texts(story) == []


def test_a_broker_that_follows_in_that_epoch_is_fine() -> None:
    story = Story()
    story.replica(1, Role.LEADER, epoch=4)
    story.at(1).replica(1, Role.OFFLINE, epoch=4)
    story.at(2).replica(1, Role.FOLLOWER, epoch=4)
    story.at(3).replica(1, Role.LEADER, epoch=5)

    assert _texts(story) == []


def _came_back(epoch: int) -> Story:
    """A log dir of broker 2 fails at 1 s; its replica counts as online again at 5 s."""
    story = Story().at(0)
    story.replica(2, topic_id=b"a")
    story.partition(isr=(1, 2), leader=1, epoch=3, topic_id=b"a")
    story.at(1).replica(2, Role.OFFLINE, topic_id=b"a")
    story.partition(isr=(1,), leader=1, epoch=4, offline=(2,), topic_id=b"a")
    story.at(5).partition(isr=(1,), leader=1, epoch=epoch, topic_id=b"a")
    return story


def test_who_leads_goes_on_in_a_later_epoch_when_a_failed_replica_comes_back() -> None:
    assert _texts(_came_back(5)) == []
    assert _texts(_came_back(4)) == [
        "the replica of orders-0 on broker 2, whose log dir had failed, counts as online again, "
        "and broker 1 leads on in epoch 4"
    ]


def test_one_that_comes_back_in_another_process_needs_no_later_epoch() -> None:
    story = _came_back(4)
    story.samples.nodes += [
        NodeSample(0, "broker-2", is_up=True, boot=1),
        NodeSample(3_000_000, "broker-2", is_up=True, boot=2),
    ]
    assert _texts(story) == []


def test_one_that_was_back_before_anybody_looked_needs_no_later_epoch() -> None:
    """The first look shows the epoch as it was raised for its return (seed 122)."""
    story = _came_back(4)
    story.samples.log_dirs.append(LogDirSample(1_000_000, 2, "d1", is_online=True))
    assert _texts(story) == []


def test_one_whose_return_began_before_anybody_saw_the_failure_needs_no_later_epoch() -> None:
    """Two epochs began between two looks: of the failure, and of the return (seed 672013)."""
    story = _came_back(4)
    story.samples.partitions[0] = story.samples.partitions[0]._replace(leader_epoch=2)
    assert _texts(story) == []


def test_one_whose_return_began_so_is_seen_offline_once_more_by_another_replica_s_return() -> None:
    """Seed 1061316: both had failed in the same moment."""
    story = _came_back(4)
    story.samples.partitions[0] = story.samples.partitions[0]._replace(leader_epoch=2)
    again = story.samples.partitions[1]._replace(at_us=2_000_000)
    story.samples.partitions.insert(2, again)
    assert _texts(story) == []


def test_one_that_was_in_no_isr_took_no_epoch_with_it_when_it_failed() -> None:
    """What began between two looks is of its return (seed 122, with an authorizer)."""
    story = _came_back(4)
    story.samples.partitions[0] = story.samples.partitions[0]._replace(isr=(1,))
    assert _texts(story) == []
