"""All groups of a shard: told of, listed, deleted."""

import pytest

from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.group_catalog import (
    delete,
    describe,
    describe_consumer_group,
    list_groups,
)
from broker.core.groups.group_offsets import Committed
from broker.core.groups.group_shard import Commit, GroupShard, NewOffset
from broker.core.groups.joins import Joining
from broker.core.groups.membership import Committer
from broker.core.metadata_image import MetadataImage
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
)

ORDERS = TopicPartition("orders", 0)
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE


def shard_with(*simple: str) -> GroupShard:
    shard = GroupShard(
        CoordinationConfig(), lambda: 1_000_000, MetadataImage(broker_id=BrokerId(1))
    )
    for group_id in simple:
        shard.offsets.put(group_id, {ORDERS: Committed(5, 3, "hi", 0)})
    return shard


def join(shard: GroupShard, group_id: str) -> str:
    """Have a member in a group of its own; return its id."""
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    shard.members.join(Joining(1, request, 3, "client", "/h", "uuid"), 0, 0)
    return "client-uuid"


def beat(shard: GroupShard, group_id: str) -> None:
    """Have a member in a group of the consumer protocol."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id="a",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    shard.members.beat(1, Heartbeating(request, 1, "client", "/h", "uuid"), 0, 0)


def test_a_group_of_the_classic_protocol_is_described_with_its_members() -> None:
    shard = shard_with("both")
    member_id = join(shard, "both")
    ((answer),) = describe(shard, 7, "both", 6).answers
    told = answer.response
    assert (told.error_code, told.group_state) == (ErrorCode.NONE, "PreparingRebalance")
    assert [row.member_id for row in told.members] == [member_id]


def test_what_is_no_classic_group_is_described_as_dead_with_the_reason() -> None:
    shard = shard_with()
    beat(shard, "modern")
    for group_id, reason in (
        ("absent", "Group absent not found."),
        ("modern", "Group modern is not a classic group."),
    ):
        ((answer),) = describe(shard, 7, group_id, 6).answers
        told = answer.response
        assert (answer.waiter, told.group_state, told.error_message) == (7, "Dead", reason)
        assert told.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_only_groups_of_the_consumer_protocol_are_described_as_such() -> None:
    shard = shard_with("simple")
    beat(shard, "modern")
    join(shard, "classic")
    told = {
        group_id: describe_consumer_group(shard, 7, group_id).answers[0].response
        for group_id in ("modern", "simple", "classic", "absent")
    }
    assert [row.member_id for row in told["modern"].members] == ["a"]
    assert (told["modern"].error_code, told["modern"].assignor_name) == (0, "uniform")
    refused = {group_id: told[group_id].error_message for group_id in list(told)[1:]}
    assert refused == {
        "simple": "Group simple is not a consumer group.",
        "classic": "Group classic is not a consumer group.",
        "absent": "Group absent not found.",
    }
    codes = {told[group_id].error_code for group_id in refused}
    assert codes == {ErrorCode.GROUP_ID_NOT_FOUND}


def test_groups_of_all_kinds_are_listed_and_found_by_state_and_type() -> None:
    shard = shard_with("simple")
    beat(shard, "modern")
    join(shard, "classic")
    assert [row.group_id for row in list_groups(shard, [], [])] == ["classic", "simple", "modern"]
    assert [row.group_id for row in list_groups(shard, [], ["consumer"])] == ["modern"]
    assert [row.group_id for row in list_groups(shard, ["Empty"], [])] == ["simple"]


def test_a_group_with_only_offsets_is_empty_and_of_no_protocol() -> None:
    ((answer),) = describe(shard_with("simple"), 7, "simple", 5).answers
    assert answer.waiter == 7
    told = answer.response
    assert (told.group_state, told.protocol_type, list(told.members)) == ("Empty", "", [])


def test_a_group_with_members_and_offsets_is_listed_once() -> None:
    shard = shard_with("both", "simple")
    join(shard, "both")
    found = [(row.group_id, row.group_state) for row in list_groups(shard, [], [])]
    assert found == [("both", "PreparingRebalance"), ("simple", "Empty")]


def test_a_group_with_members_stays() -> None:
    shard = shard_with("both")
    join(shard, "both")
    with pytest.raises(KafkaError) as refused:
        delete(shard, 1, "both")
    assert refused.value.code == ErrorCode.NON_EMPTY_GROUP
    assert shard.offsets.has_offsets("both")


def test_a_group_that_nobody_is_in_is_deleted_with_all_that_the_log_has_of_it() -> None:
    shard = shard_with("both")
    identity = MemberIdentity(member_id=join(shard, "both"))
    leaving = LeaveGroupRequest(group_id="both", member_id="", members=[identity])
    shard.members.leave(2, leaving, 0, 0)
    due_ms = shard.members.next_due_ms()
    assert due_ms is not None
    assert len(shard.members.expire(due_ms, due_ms).records) == 1
    decided = delete(shard, 1, "both")
    assert not decided.is_atomic
    assert [value for _, value in decided.records] == [None, None]
    assert [answer.response for answer in decided.answers] == [ErrorCode.NONE]
    with pytest.raises(KafkaError):
        delete(shard, 1, "both")


def test_a_group_whose_only_offsets_were_aborted_is_empty_until_it_is_deleted() -> None:
    shard = shard_with()
    shard.offsets.put("g", {ORDERS: Committed(5, 3, "hi", 0)}, producer_id=9)
    shard.replay_end(9, is_commit=False)
    assert [(row.group_id, row.group_state) for row in list_groups(shard, [], [])] == [
        ("g", "Empty")
    ]
    assert [answer.response for answer in delete(shard, 1, "g").answers] == [ErrorCode.NONE]
    assert list_groups(shard, [], []) == []


def test_a_group_whose_only_offset_was_refused_is_empty_and_can_be_deleted() -> None:
    shard = shard_with()
    too_much = NewOffset(ORDERS, 5, 3, "x" * 5000)
    committer = Committer(generation=-1, is_transactional=False)
    decided = shard.commit(1, Commit("g", committer, [too_much]), 0, 0)
    assert [answer.response for answer in decided.answers] == [[TOO_LARGE]]
    assert [row.group_id for row in list_groups(shard, [], [])] == ["g"]
    assert [answer.response for answer in delete(shard, 1, "g").answers] == [ErrorCode.NONE]


def test_a_group_whose_only_offsets_were_aborted_goes_with_the_next_look() -> None:
    shard = shard_with()
    shard.loaded(0, 0)
    shard.offsets.put("g", {ORDERS: Committed(5, 3, "hi", 0)}, producer_id=9)
    shard.replay_end(9, is_commit=False)
    look_ms = CoordinationConfig().offsets_retention_check_interval_ms
    shard.expire(look_ms - 1, 0)
    assert len(list_groups(shard, [], [])) == 1
    shard.expire(look_ms, 0)
    assert list_groups(shard, [], []) == []
