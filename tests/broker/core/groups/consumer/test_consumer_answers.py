"""What is told of a group of the consumer protocol."""

from __future__ import annotations

import pytest

from broker.core.groups.consumer.consumer_answers import (
    described,
    not_described,
    require_protocol,
)
from broker.core.groups.consumer.known_topics import KnownTopics
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import ConsumerGroupDescribeResponseAssignment
from tests.broker.core.groups.consumer.lab import Lab, image_with, tell, topic_id


def shown(assignment: ConsumerGroupDescribeResponseAssignment) -> list[tuple[str, list[int]]]:
    return [(row.topic_name, list(row.partitions)) for row in assignment.topic_partitions]


def test_members_are_told_with_what_they_have_and_what_they_shall_have() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a", instance_id="desk", rack_id="r", server_assignor="range")
    lab.beat("b")
    lab.ask("a", 2, instance_id="desk")
    told = described(lab.group, KnownTopics(lab.image), "uniform")
    assert (told.group_state, told.group_epoch, told.assignment_epoch) == ("Reconciling", 3, 3)
    assert told.assignor_name == "range"
    a, b = told.members
    assert (a.member_id, a.instance_id, a.rack_id, a.member_epoch) == ("a", "desk", "r", 2)
    assert (a.client_id, a.client_host, a.member_type) == ("client", "/127.0.0.1", 1)
    assert (shown(a.assignment), shown(a.target_assignment)) == (
        [("orders", [0, 1])],
        [("orders", [0])],
    )
    assert (shown(b.assignment), shown(b.target_assignment)) == ([], [("orders", [1])])
    assert list(b.subscribed_topic_names) == ["orders"]


def test_topics_that_are_no_more_are_not_told() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a")
    tell(lab.image, "orders", 2, leader=-2)
    (a,) = described(lab.group, KnownTopics(lab.image), "uniform").members
    assert (shown(a.assignment), shown(a.target_assignment)) == ([], [])
    assert topic_id("orders") in lab.group.members["a"].assigned


def test_a_group_is_told_not_to_be_there() -> None:
    told = not_described("g", ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    assert (told.error_code, told.error_message, told.members) == (69, "Group g not found.", [])


@pytest.mark.parametrize(
    ("release", "protocols"), [(None, "classic"), ("4.3", "classic"), ("3.9", "classic,consumer")]
)
def test_the_protocol_is_refused_where_the_release_or_the_broker_lacks_it(
    release: str | None, protocols: str
) -> None:
    config = broker_config({"group.coordinator.rebalance.protocols": protocols})
    with pytest.raises(KafkaError) as refused:
        require_protocol(release, config)
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("release", [None, "4.0"])
def test_the_protocol_is_spoken_unless_somebody_says_otherwise(release: str | None) -> None:
    require_protocol(release, broker_config({}))
