"""What groups store, and that they are the same when it is loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from broker.core.groups.consumer.consumer_group import ConsumerGroup, ConsumerGroupState
from broker.core.groups.consumer.consumer_member import MemberState
from broker.core.groups.consumer.group_log import RECORDS, Change, Groups, apply, group_gone
from protocol.messages import consumer_group_records as messages
from protocol.stored_records import GROUP_RECORDS
from tests.broker.core.groups.consumer.lab import GROUP, WALL_MS, Lab, topic_id

SOFT = {"seen_generation", "seen_names"}
ORDERS = topic_id("orders")


def everything(group: ConsumerGroup) -> dict[str, Any]:
    names = [name for name in ConsumerGroup.__slots__ if name not in SOFT]
    return {name: getattr(group, name) for name in names}


def test_records_of_these_groups_are_those_that_kafka_calls_so() -> None:
    called = [each.number for each in GROUP_RECORDS.values() if each.name.startswith("ConsumerG")]
    assert list(RECORDS) == called


def test_a_first_member_is_stored_as_kafka_stores_it() -> None:
    lab = Lab()
    lab.ask("a", instance_id="desk", rack_id="r1", server_assignor="range")
    found = lab.written()
    assert [number for number, _, _ in found] == [5, 3, 7, 6, 8]
    assert found[0][1:] == (
        messages.ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id="a"),
        messages.ConsumerGroupMemberMetadataValue(
            instance_id="desk",
            rack_id="r1",
            client_id="client",
            client_host="/127.0.0.1",
            subscribed_topic_names=["orders"],
            subscribed_topic_regex="",
            rebalance_timeout_ms=60_000,
            server_assignor="range",
            classic_member_metadata=None,
        ),
    )
    assert found[1][2].epoch == 2
    assert found[2][2].topic_partitions[0].partitions == [0, 1, 2, 3]
    assert (found[3][2].assignment_epoch, found[3][2].assignment_timestamp) == (2, WALL_MS)
    current = found[4][2]
    assert (current.member_epoch, current.previous_member_epoch, current.state) == (2, 0, 0)
    assert current.assigned_partitions[0].assignment_epochs == [2, 2, 2, 2]


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    lab = Lab()
    lab.settle("a")
    since = len(lab.records)
    lab.settle("a")
    assert lab.written(since) == []


def test_another_coordinator_loads_what_there_was() -> None:
    lab = Lab()
    for member_id in ("a", "b", "c"):
        lab.beat(member_id, **({"instance_id": "desk"} if member_id == "c" else {}))
    lab.settle("a", "b", rounds=1)
    before = everything(lab.group)
    assert lab.group.state is ConsumerGroupState.RECONCILING
    lab.restart()
    assert everything(lab.group) == before


def test_who_left_is_gone_from_all_that_another_coordinator_loads() -> None:
    lab = Lab()
    lab.settle("a", "b")
    lab.ask("b", -1)
    before = everything(lab.group)
    lab.restart()
    assert everything(lab.group) == before
    assert list(lab.group.targets) == ["a"]


def test_a_group_that_ended_is_gone_when_it_is_loaded() -> None:
    lab = Lab()
    lab.beat("a")
    lab.ask("a", -1)
    lab.records += lab.members.delete(GROUP)
    lab.restart()
    assert lab.members.get(GROUP) is None
    assert [number for number, _, value in lab.written()[-3:] if value is None] == [6, 4, 3]


def test_tombstones_of_what_is_not_there_are_passed_over() -> None:
    groups: Groups = {}
    lab = Lab()
    lab.beat("a")
    for change in group_gone(lab.group):
        apply(groups, change)
    assert groups == {}


def test_partitions_that_an_earlier_release_stored_have_the_epoch_of_their_member() -> None:
    groups: Groups = {}
    key = messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id="a")
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=7,
        previous_member_epoch=6,
        state=9,
        assigned_partitions=[messages.TopicPartitions(topic_id=ORDERS, partitions=[1, 2])],
        partitions_pending_revocation=[],
    )
    apply(groups, Change(key, value))
    member = groups[GROUP].members["a"]
    assert member.assigned == {ORDERS: {1: 7, 2: 7}}
    assert member.state is MemberState.UNKNOWN
    away = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=-2,
        previous_member_epoch=6,
        state=0,
        assigned_partitions=value.assigned_partitions,
        partitions_pending_revocation=[],
    )
    apply(groups, Change(key, away))
    assert groups[GROUP].members["a"].assigned == {ORDERS: {1: 0, 2: 0}}


def test_what_releases_before_4_1_stored_of_topics_is_removed_with_the_next_look() -> None:
    lab = Lab()
    lab.beat("a")
    key = messages.ConsumerGroupPartitionMetadataKey(group_id=GROUP)
    value = messages.ConsumerGroupPartitionMetadataValue(topics=[])
    lab.records.append(Change(key, value).record())
    lab.restart()
    assert lab.group.has_partition_metadata_record
    since = len(lab.records)
    lab.beat("a")
    assert lab.written(since) == [(4, key, None)]
    lab.restart()
    assert not lab.group.has_partition_metadata_record


def test_what_regular_expressions_found_is_loaded_and_forgotten_with_them() -> None:
    lab = Lab()
    lab.beat("a", subscribed_topic_regex="ord.*")
    before = everything(lab.group)
    lab.restart()
    assert everything(lab.group) == before
    assert lab.group.regexes["ord.*"].topics == {"orders"}
    assert lab.group.regexes["ord.*"].timestamp_ms == WALL_MS
    lab.beat("a", subscribed_topic_regex="")
    lab.restart()
    assert lab.group.regexes == {}


def test_a_tombstone_of_what_a_member_has_leaves_the_member_with_nothing() -> None:
    lab = Lab()
    lab.beat("a")
    key = messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id="a")
    groups: Groups = {GROUP: lab.group}
    apply(groups, Change(key, None))
    member = lab.group.members["a"]
    assert (member.epoch, member.assigned, member.topics) == (-1, {}, {"orders"})
    assert not lab.group.is_owned(ORDERS, 0)
    apply(groups, Change(replace(key, member_id="b"), None))
    assert list(lab.group.members) == ["a"]
