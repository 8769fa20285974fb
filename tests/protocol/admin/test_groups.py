"""Groups as coordinators are asked for them, and what they answer."""

from __future__ import annotations

from protocol.admin.groups import (
    GroupListing,
    GroupView,
    MemberView,
    commit_request,
    committed_offsets,
    committed_request,
    consumer_group_view,
    delete_offsets_request,
    describe_consumer_group_request,
    describe_group_request,
    find_coordinator_request,
    group_listings,
    group_view,
)
from protocol.admin.partitions import errors_by_partition
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages import consumer_groups as kip_848
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
)
from protocol.messages.group_offsets import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from protocol.messages.groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsResponse,
)
from protocol.stored_records import encode_versioned

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def described(code: int = 0, *members: DescribedGroupMember) -> DescribeGroupsResponse:
    group = DescribedGroup(
        error_code=code,
        error_message=None,
        group_id="g",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=members,
    )
    return DescribeGroupsResponse(throttle_time_ms=0, groups=[group])


def described_member(member_id: str, assignment: bytes) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member_id,
        client_id="c",
        client_host="/h",
        member_metadata=b"",
        member_assignment=assignment,
    )


def test_only_groups_of_consumers_are_listed() -> None:
    kinds = {"a": "consumer", "b": "", "c": "connect"}
    groups = [
        ListedGroup(group_id=name, protocol_type=kind, group_state="Empty", group_type="classic")
        for name, kind in kinds.items()
    ]
    answer = ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=groups)
    assert group_listings(answer) == [
        GroupListing("a", "Empty", "Classic"),
        GroupListing("b", "Empty", "Classic"),
    ]


def test_a_group_is_described_with_what_its_members_read() -> None:
    topic = ConsumerProtocolAssignmentTopicPartition(topic="t", partitions=[0, 1])
    assignment = encode_versioned(ConsumerProtocolAssignment(assigned_partitions=[topic]), 1)
    answer = described(0, described_member("m", assignment), described_member("n", b""))
    assert group_view(answer) == GroupView(
        "g",
        "Stable",
        "range",
        (MemberView("m", "", "c", "/h", (T0, T1)), MemberView("n", "", "c", "/h", ())),
    )


def test_a_group_that_is_not_there_is_dead_and_other_errors_stay_errors() -> None:
    assert group_view(described(ErrorCode.GROUP_ID_NOT_FOUND)) == GroupView("g", "Dead", "")
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert group_view(described(code)) is code


def test_a_group_of_kip_848_is_described_as_well() -> None:
    nothing = kip_848.ConsumerGroupDescribeResponseAssignment(topic_partitions=[])
    topic = kip_848.ConsumerGroupDescribeResponseTopicPartitions(
        topic_id=bytes(16), topic_name="t", partitions=[1]
    )
    member = kip_848.Member(
        member_id="m",
        instance_id="i",
        member_epoch=1,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=["t"],
        assignment=kip_848.ConsumerGroupDescribeResponseAssignment(topic_partitions=[topic]),
        target_assignment=nothing,
    )

    def answer(code: int) -> kip_848.ConsumerGroupDescribeResponse:
        group = kip_848.DescribedGroup(
            error_code=code,
            group_id="g",
            group_state="Reconciling",
            group_epoch=1,
            assignment_epoch=1,
            assignor_name="uniform",
            members=[member],
        )
        return kip_848.ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=[group])

    found = GroupView("g", "Reconciling", "uniform", (MemberView("m", "i", "c", "/h", (T1,)),))
    assert consumer_group_view(answer(0)) == found
    code = ErrorCode.GROUP_ID_NOT_FOUND
    assert consumer_group_view(answer(code)) is code


def test_partitions_without_an_offset_are_left_out() -> None:
    parts = [
        OffsetFetchResponsePartition(
            partition_index=number, committed_offset=offset, metadata="", error_code=0
        )
        for number, offset in ((0, 5), (1, -1))
    ]
    topics = [OffsetFetchResponseTopic(name="t", partitions=parts)]
    answer = OffsetFetchResponse(throttle_time_ms=0, topics=topics, error_code=0)
    assert committed_offsets(answer) == {T0: 5}


def test_offsets_are_set_and_deleted_topic_by_topic() -> None:
    request = commit_request("g", {T0: 1, U0: 2, T1: 3})
    assert (request.group_id, request.generation_id_or_member_epoch, request.member_id) == (
        "g",
        -1,
        "",
    )
    assert [
        (topic.name, [(each.partition_index, each.committed_offset) for each in topic.partitions])
        for topic in request.topics
    ] == [("t", [(0, 1), (1, 3)]), ("u", [(0, 2)])]
    deletion = delete_offsets_request("g", [U0, T1, T0])
    assert [
        (topic.name, [each.partition_index for each in topic.partitions])
        for topic in deletion.topics
    ] == [("t", [0, 1]), ("u", [0])]


def test_every_partition_has_an_error_code() -> None:
    part = OffsetCommitResponsePartition(partition_index=0, error_code=25)
    topics = [OffsetCommitResponseTopic(name="t", partitions=[part])]
    committed = OffsetCommitResponse(throttle_time_ms=0, topics=topics)
    assert errors_by_partition(committed.topics) == {T0: ErrorCode.UNKNOWN_MEMBER_ID}
    gone = OffsetDeleteResponsePartition(partition_index=0, error_code=0)
    answer = OffsetDeleteResponse(
        error_code=0,
        throttle_time_ms=0,
        topics=[OffsetDeleteResponseTopic(name="u", partitions=[gone])],
    )
    assert errors_by_partition(answer.topics) == {U0: ErrorCode.NONE}


def test_questions_name_their_group() -> None:
    assert find_coordinator_request("g").key == "g"
    assert find_coordinator_request("g").key_type == 0
    assert describe_group_request("g").groups == ["g"]
    assert describe_consumer_group_request("g").group_ids == ["g"]
    assert (committed_request("g").group_id, committed_request("g").topics) == ("g", None)
