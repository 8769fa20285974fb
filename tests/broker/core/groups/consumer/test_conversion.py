"""Groups with members change their protocol: to the consumer protocol and back."""

from __future__ import annotations

from typing import Any

import pytest

from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.subscription import assignment_of
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from protocol.messages.groups import JoinGroupRequestProtocol
from protocol.stored_records import encode_versioned
from tests.broker.core.groups.consumer.lab import GROUP, Lab, Parts, image_with, tell, topic_id

ORDERS = topic_id("orders")
AGAIN, NONE = ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE


def lab_with_classic(**config: Any) -> tuple[Lab, str]:
    lab = Lab(image_with(orders=2), **config)
    return lab, lab.stable_classic({"orders": [0, 1]})


def assigned(synced: Any) -> Parts:
    rows = assignment_of(synced.assignment).assigned_partitions
    return {row.topic: list(row.partitions) for row in rows}


def mixed(**config: Any) -> tuple[Lab, str]:
    """Return a group in which a classic member and ``a`` have a partition each."""
    lab, classic_id = lab_with_classic(**config)
    lab.beat("a")
    lab.join_classic(classic_id, owned={"orders": [0, 1]})
    lab.join_classic(classic_id, owned={"orders": [0]})
    lab.settle("a")
    assert lab.group.state.value == "Stable"
    return lab, classic_id


def classic_group(lab: Lab) -> ClassicGroup:
    group = lab.members.get(GROUP)
    assert isinstance(group, ClassicGroup)
    return group


def test_a_member_of_the_consumer_protocol_upgrades_the_group_that_it_joins() -> None:
    lab, classic_id = lab_with_classic()
    since = len(lab.records)
    assert lab.beat("a") == {}
    numbers = [number for number, _, _ in lab.written(since)]
    assert numbers[:6] == [2, 5, 3, 7, 6, 8]
    member = lab.group.members[classic_id]
    assert member.classic is not None
    assert (member.epoch, member.assigned) == (1, {ORDERS: {0: 1, 1: 1}})
    assert (lab.group.epoch, lab.group.assignment_epoch) == (2, 2)
    assert lab.beat_classic(classic_id, 1) == AGAIN


def test_both_kinds_of_members_share_and_the_next_coordinator_knows() -> None:
    lab, classic_id = mixed()
    assert lab.owned["a"] == {"orders": [1]}
    assert assigned(lab.sync_classic(classic_id, 2)) == {"orders": [0]}
    assert lab.beat_classic(classic_id, 2) == NONE
    lab.restart()
    assert lab.group.state.value == "Stable"
    assert lab.members.classic.get(GROUP) is None
    assert lab.beat_classic(classic_id, 2) == NONE


def test_members_that_wait_for_others_are_to_join_again() -> None:
    lab = Lab(image_with(orders=2))
    waiter = lab.join_classic()
    lab.beat("a")
    assert lab.told[waiter].error_code == AGAIN
    assert list(lab.group.members) == ["client-c", "a"]


@pytest.mark.parametrize(
    ("config", "said", "reason"),
    [
        ({"group_consumer_migration_policy": "DISABLED"}, {}, "online upgrade is disabled"),
        ({"group_consumer_migration_policy": "downgrade"}, {}, "online upgrade is disabled"),
        ({}, {"protocol_type": "connect"}, "does not use the consumer embedded protocol"),
    ],
)
def test_what_has_to_stay_classic_refuses_the_consumer_protocol(
    config: dict[str, Any], said: dict[str, Any], reason: str
) -> None:
    lab = Lab(image_with(orders=2), **config)
    member_id = lab.stable_classic({}, **said)
    with pytest.raises(KafkaError, match=reason):
        lab.ask("a")
    assert lab.refused("a") is ErrorCode.GROUP_ID_NOT_FOUND
    assert lab.beat_classic(member_id, 1) == NONE


def test_only_who_joins_upgrades_a_group() -> None:
    lab, classic_id = lab_with_classic()
    assert lab.refused("a", 3) is ErrorCode.GROUP_ID_NOT_FOUND
    assert lab.refused("a", 0, subscribed_topic_regex="[") is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert lab.beat_classic(classic_id, 1) == NONE


def test_a_group_is_classic_again_when_the_last_of_the_consumer_protocol_left() -> None:
    lab, classic_id = mixed()
    since = len(lab.records)
    lab.ask("a", -1)
    group = classic_group(lab)
    assert (group.state, group.generation) == (GroupState.PREPARING_REBALANCE, 2)
    assert lab.written(since)[-1][0] == 2
    assert lab.beat_classic(classic_id, 2) == AGAIN
    waiter = lab.join_classic(classic_id)
    assert (lab.told[waiter].error_code, lab.told[waiter].generation_id) == (NONE, 3)
    lab.restart()
    assert isinstance(lab.members.get(GROUP), ClassicGroup)


def test_the_next_coordinator_has_who_is_left_join_again_if_nobody_did_yet() -> None:
    """What the last one read would be nobody's for ever: a stable group shares nothing anew."""
    lab, classic_id = mixed()
    lab.ask("a", -1)
    lab.restart()
    assert classic_group(lab).state is GroupState.PREPARING_REBALANCE
    assert lab.beat_classic(classic_id, 2) == AGAIN
    waiter = lab.join_classic(classic_id)
    assert (lab.told[waiter].error_code, lab.told[waiter].generation_id) == (NONE, 3)


def test_a_group_stays_with_the_consumer_protocol_where_it_may_not_go_back() -> None:
    lab, classic_id = mixed(group_consumer_migration_policy="upgrade")
    lab.ask("a", -1)
    assert list(lab.group.members) == [classic_id]


def test_a_classic_member_in_the_place_of_the_last_other_one_makes_the_group_classic() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a", instance_id="desk")
    lab.ask("a", -2, instance_id="desk")
    waiter = lab.join_classic(group_instance_id="desk", owned={"orders": [0, 1]}, unique="d")
    joined = lab.told[waiter]
    group = classic_group(lab)
    assert (joined.error_code, joined.member_id, joined.generation_id) == (NONE, "d", 2)
    assert (group.state, group.generation) == (GroupState.STABLE, 2)
    assert assigned(lab.sync_classic("d", 2)) == {"orders": [0, 1]}


def test_what_members_have_of_a_topic_that_is_no_more_is_nobodys_after_an_upgrade() -> None:
    lab = Lab(image_with(orders=1, bills=1))
    classic_id = lab.stable_classic({"orders": [0], "bills": [0]})
    tell(lab.image, "bills", 1, leader=-2)
    lab.beat("a")
    assert lab.group.members[classic_id].assigned == {ORDERS: {0: 1}}


def test_a_member_without_an_assignment_has_nothing_after_an_upgrade() -> None:
    lab = Lab(image_with(orders=1))
    waiter = lab.join_classic()
    lab.later(lab.config.group_initial_rebalance_delay_ms)
    member_id = lab.told[waiter].member_id
    lab.beat("a")
    assert lab.group.members[member_id].assigned == {}


@pytest.mark.parametrize("size_max", [1, 2])
def test_a_classic_group_larger_than_one_of_the_consumer_protocol_may_be_stays(
    size_max: int,
) -> None:
    lab = Lab(image_with(orders=1), group_consumer_max_size=size_max)
    for unique in "cd":
        lab.join_classic(unique=unique)
    lab.later(2 * lab.config.group_initial_rebalance_delay_ms)
    reason = "exceeds the consumer group maximum" if size_max == 1 else "maximum capacity of 2"
    with pytest.raises(KafkaError, match=reason):
        lab.ask("a")
    assert len(classic_group(lab).members) == 2


def test_members_that_say_what_nobody_can_read_are_not_upgraded() -> None:
    lab = Lab(image_with(orders=1))
    lab.join_classic(protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\x00")])
    with pytest.raises(KafkaError, match="embedded consumer protocol is malformed"):
        lab.ask("a")
    assert len(classic_group(lab).members) == 1


def test_shares_of_an_assignor_of_the_clients_own_are_not_upgraded() -> None:
    lab, classic_id = lab_with_classic()
    own = ConsumerProtocolAssignment(assigned_partitions=[], user_data=b"mine")
    classic_group(lab).members[classic_id].assignment = encode_versioned(own, 1)
    with pytest.raises(KafkaError, match="unsupported custom assignor"):
        lab.ask("a")
    assert classic_group(lab).members.keys() == {classic_id}


def test_a_group_larger_than_a_classic_one_may_be_keeps_the_consumer_protocol() -> None:
    for size_max, is_kept in ((1, True), (2, False)):
        lab = Lab(image_with(orders=2), group_max_size=size_max)
        lab.beat("a")
        for unique in "cd":
            lab.join_classic(unique=unique)
        lab.ask("a", -1)
        assert isinstance(lab.members.get(GROUP), ClassicGroup) is not is_kept


def test_who_is_left_of_a_group_that_becomes_classic_has_what_it_was_to_have() -> None:
    lab = Lab(image_with(orders=1, bills=1))
    lab.beat("a", instance_id="desk", subscribed_topic_names=["orders", "bills"])
    lab.ask("a", -2, instance_id="desk")
    tell(lab.image, "bills", 1, leader=-2)
    said = ConsumerProtocolSubscription(topics=["orders", "bills"])
    protocols = [
        JoinGroupRequestProtocol(name=name, metadata=encode_versioned(said, 1))
        for name in ("range", "sticky")
    ]
    lab.join_classic(group_instance_id="desk", unique="d", protocols=protocols)
    group = classic_group(lab)
    member = group.members["d"]
    assert (member.instance_id, member.session_timeout_ms) == ("desk", 10_000)
    assert [name for name, _ in member.protocols] == ["range", "sticky"]
    assert group.protocol_name == "range"
    assert group.subscribed_topics == {"orders", "bills"}
    assert assigned(lab.sync_classic("d", group.generation)) == {"orders": [0]}
