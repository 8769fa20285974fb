from __future__ import annotations

from simulation.core.checkers.leadership import check_leadership
from simulation.core.samples import Role
from tests.simulation.core.checkers.build import Story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_leadership(story.evidence)]


def test_leaders_that_follow_each_other_have_epochs_of_their_own() -> None:
    story = Story()
    story.partition(leader=1, epoch=0)
    story.replica(1, Role.LEADER, epoch=0)
    story.replica(2, Role.FOLLOWER, epoch=0)
    story.at(1).partition(leader=2, epoch=1)
    story.replica(2, Role.LEADER, epoch=1)
    story.partition(leader=-1, epoch=2)

    assert _texts(story) == []


def test_two_brokers_that_lead_at_one_epoch_are_one_too_many() -> None:
    story = Story()
    story.replica(1, Role.LEADER, epoch=4)
    story.at(1).replica(2, Role.LEADER, epoch=4)

    assert _texts(story) == [
        "orders-0 at leader epoch 4 is led by broker 2 (it says itself), "
        "and was led by broker 1 (it says itself)"
    ]


def test_a_broker_leads_only_where_the_controller_has_it_lead() -> None:
    story = Story()
    story.partition(leader=1, epoch=4)
    story.at(1).replica(2, Role.LEADER, epoch=4)

    assert _texts(story) == [
        "orders-0 at leader epoch 4 is led by broker 2 (it says itself), "
        "and was led by broker 1 (the controller says)"
    ]


def test_a_topic_made_anew_begins_its_epochs_anew() -> None:
    story = Story()
    story.replica(1, Role.LEADER, epoch=0)
    story.at(1).replica(2, Role.LEADER, epoch=0)
    old, new = story.samples.replicas
    story.samples.replicas = [old._replace(topic_id=b"old"), new._replace(topic_id=b"new")]

    assert _texts(story) == []
