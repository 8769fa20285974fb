"""Members of the classic protocol in a group of the consumer protocol."""

from __future__ import annotations

from typing import Any

import pytest

from broker.core.groups.subscription import assignment_of
from protocol.errors import ErrorCode, KafkaError
from protocol.messages import consumer_group_records as messages
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.groups import JoinGroupRequestProtocol, SyncGroupRequest
from protocol.stored_records import encode_versioned
from tests.broker.core.groups.consumer.lab import (
    CLASSIC_SESSION_MS,
    GROUP,
    REBALANCE_MS,
    Lab,
    image_with,
    tell,
)

AGAIN, NONE = ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def lab_with_member(partitions: int = 2) -> Lab:
    lab = Lab(image_with(orders=partitions))
    lab.beat("a")
    return lab


def refused(lab: Lab, member_id: str = "", **said: Any) -> ErrorCode:
    try:
        answer = lab.told[lab.join_classic(member_id, **said)]
    except KafkaError as error:  # Before anybody looks at the group.
        return error.code
    assert answer.error_code is not NONE, "it was taken"
    assert answer.member_id == ""
    return answer.error_code


def partitions(synced: Any) -> list[int]:
    rows = assignment_of(synced.assignment).assigned_partitions
    return [index for row in rows for index in row.partitions]


def test_who_joins_is_answered_at_once_and_follows() -> None:
    lab = lab_with_member()
    told = lab.told[lab.join_classic()]
    assert (told.error_code, told.member_id, told.generation_id) == (NONE, "c", 3)
    assert (told.leader, told.members, told.protocol_name) == ("", [], "range")
    assert partitions(lab.sync_classic("c", 3)) == []
    lab.settle("a")
    assert lab.beat_classic("c", 3) == AGAIN
    again = lab.told[lab.join_classic("c")]
    assert again.generation_id == 3
    assert partitions(lab.sync_classic("c", 3)) == [1]
    assert lab.beat_classic("c", 3) == NONE


def test_who_joins_again_as_it_was_is_not_written_again() -> None:
    lab = lab_with_member()
    lab.join_classic()
    lab.join_classic("c")
    count = len(lab.records)
    lab.join_classic("c")
    assert len(lab.records) == count
    lab.join_classic("c", session_timeout_ms=CLASSIC_SESSION_MS + 1)
    assert [number for number, _, _ in lab.written()][-1] == 5


def test_who_waits_for_partitions_of_others_is_not_asked_to_join_before() -> None:
    lab = lab_with_member()
    lab.join_classic()
    assert lab.beat_classic("c", 3) == NONE


def test_since_version_4_an_id_is_given_first() -> None:
    lab = lab_with_member()
    told = lab.told[lab.join_classic(version=4)]
    assert (told.error_code, told.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "c")
    assert lab.told[lab.join_classic("c", version=4)].error_code == NONE


def test_a_classic_member_gives_back_before_it_is_in_the_next_epoch() -> None:
    lab = lab_with_member(partitions=4)
    lab.join_classic()
    lab.settle("a")
    lab.join_classic("c")
    had = partitions(lab.sync_classic("c", 3))
    lab.settle("b", "a")
    assert lab.beat_classic("c", 3) == AGAIN
    told = lab.told[lab.join_classic("c", owned={"orders": had})]
    assert told.generation_id == 3
    (kept,) = partitions(lab.sync_classic("c", 3))
    assert kept in had
    assert lab.beat_classic("c", 3) == AGAIN
    told = lab.told[lab.join_classic("c", owned={"orders": [kept]})]
    assert told.generation_id == 4
    assert partitions(lab.sync_classic("c", 4)) == [kept]
    lab.settle("b", "a")
    assert lab.group.state.value == "Stable"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "x", "group_instance_id": "desk"}, UNKNOWN),
    ],
)
def test_a_join_that_fits_no_group_is_refused(said: dict[str, Any], code: ErrorCode) -> None:
    lab = lab_with_member()
    before = list(lab.records)
    assert refused(lab, **said) is code
    assert lab.records == before


def test_a_full_group_and_one_that_does_not_mix_refuse_classic_members() -> None:
    full = Lab(image_with(orders=2), group_consumer_max_size=1)
    full.beat("a")
    assert refused(full) is ErrorCode.GROUP_MAX_SIZE_REACHED
    pure = Lab(image_with(orders=2), group_consumer_migration_policy="disabled")
    pure.beat("a")
    assert refused(pure) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_strangers_and_other_generations_are_refused() -> None:
    lab = lab_with_member()
    lab.join_classic()
    for member_id, generation, message in (
        ("x", 3, "is not a member"),
        ("a", 2, "does not use the classic protocol"),
        ("c", 2, "ILLEGAL_GENERATION"),
    ):
        with pytest.raises(KafkaError, match=message):
            lab.beat_classic(member_id, generation)
        with pytest.raises(KafkaError, match=message):
            lab.sync_classic(member_id, generation)


def test_a_new_epoch_has_who_syncs_late_join_again() -> None:
    lab = lab_with_member()
    lab.join_classic()
    tell(lab.image, "orders", 3)
    lab.beat("a")
    with pytest.raises(KafkaError, match="REBALANCE_IN_PROGRESS"):
        lab.sync_classic("c", 3)


def test_a_silent_classic_member_is_removed_after_its_own_session() -> None:
    lab = lab_with_member()
    lab.join_classic()
    lab.later(CLASSIC_SESSION_MS - 1)
    assert list(lab.group.members) == ["a", "c"]
    lab.later(1)
    assert list(lab.group.members) == ["a"]


def assert_removed_after_rebalance_timeout(lab: Lab) -> None:
    """Both members beat; the classic one is there until its time is over, and no longer."""
    for _ in range(REBALANCE_MS // 5_000):
        assert "c" in lab.group.members
        lab.beat("a")
        lab.beat_classic("c", 3)
        lab.later(5_000)
    assert list(lab.group.members) == ["a"]


def test_who_never_syncs_is_removed() -> None:
    lab = lab_with_member()
    lab.join_classic()
    assert_removed_after_rebalance_timeout(lab)


def test_who_does_not_join_again_is_removed() -> None:
    lab = lab_with_member()
    lab.join_classic()
    lab.sync_classic("c", 3)
    tell(lab.image, "orders", 3)
    assert_removed_after_rebalance_timeout(lab)


def test_members_leave_by_either_name() -> None:
    lab = lab_with_member()
    lab.join_classic(group_instance_id="desk")
    assert lab.leave_classic("x") == [UNKNOWN]
    assert lab.leave_classic("x", "desk") == [ErrorCode.FENCED_INSTANCE_ID]
    assert lab.leave_classic("", "cellar") == [UNKNOWN]
    assert lab.leave_classic("", "desk") == [NONE]
    assert lab.leave_classic("a") == [NONE]
    assert lab.group.is_empty
    assert lab.members.get(GROUP) is lab.group


def test_who_joins_with_something_else_than_a_subscription_is_refused() -> None:
    lab = lab_with_member()
    said = [JoinGroupRequestProtocol(name="range", metadata=b"\x00")]
    assert refused(lab, protocols=said) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert list(lab.group.members) == ["a"]


def test_what_a_member_owns_of_a_topic_that_is_no_more_is_nothing() -> None:
    lab = lab_with_member()
    lab.join_classic()
    lab.settle("a")
    told = lab.told[lab.join_classic("c", owned={"absent": [7]})]
    assert told.error_code == NONE
    assert partitions(lab.sync_classic("c", 3)) == [1]


def test_a_member_that_a_later_release_left_behind_has_to_own_nothing() -> None:
    lab = lab_with_member()
    lab.join_classic()
    key = messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id="c")
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=3,
        previous_member_epoch=0,
        state=99,
        assigned_partitions=[],
        partitions_pending_revocation=[],
    )
    lab.members.consumer.replay(key, value)
    assert refused(lab, "c", owned={"orders": [0]}) is ErrorCode.FENCED_MEMBER_EPOCH
    assert lab.told[lab.join_classic("c")].error_code == NONE


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ({"protocol_type": "consumer", "protocol_name": "range"}, NONE),
        ({"protocol_type": "connect", "protocol_name": "range"}, None),
        ({"protocol_type": "consumer", "protocol_name": "sticky"}, None),
        ({"protocol_type": None, "protocol_name": "range"}, None),
        ({"protocol_type": "consumer", "protocol_name": None}, None),
    ],
)
def test_since_version_5_who_syncs_says_which_protocol_it_believes_in(
    names: dict[str, Any], code: ErrorCode | None
) -> None:
    lab = lab_with_member()
    lab.join_classic()
    request = SyncGroupRequest(
        group_id=GROUP, member_id="c", generation_id=3, assignments=[], **names
    )
    if code is None:
        with pytest.raises(KafkaError, match="INCONSISTENT_GROUP_PROTOCOL"):
            lab.members.sync(0, request, 5, lab.now_ms, lab.wall_ms)
    else:
        lab.take(lab.members.sync(0, request, 5, lab.now_ms, lab.wall_ms))
        told = lab.told[0]
        assert (told.error_code, told.protocol_type) == (code, "consumer")
        assert told.protocol_name == "range"


def test_a_static_classic_member_goes_on_by_its_name_and_nobody_else_does() -> None:
    lab = lab_with_member()
    told = lab.told[lab.join_classic(group_instance_id="desk", version=4)]
    assert (told.error_code, told.member_id) == (NONE, "c")
    assert lab.beat_classic("c", 3, "desk") == NONE
    for member_id, instance, message in (("c", "attic", "UNKNOWN"), ("a", "desk", "FENCED")):
        with pytest.raises(KafkaError, match=message):
            lab.beat_classic(member_id, 3, instance)
    again = lab.told[lab.join_classic("c", group_instance_id="desk")]
    assert (again.error_code, again.member_id) == (NONE, "c")
    assert refused(lab, "x", group_instance_id="desk") is ErrorCode.FENCED_INSTANCE_ID


def test_who_asked_for_its_share_is_not_removed_for_want_of_it() -> None:
    lab = lab_with_member()
    lab.join_classic()
    lab.settle("a")
    lab.join_classic("c")
    assert partitions(lab.sync_classic("c", 3)) == [1]
    for _ in range(2 * REBALANCE_MS // 5_000):
        lab.beat("a")
        assert lab.beat_classic("c", 3) == NONE
        lab.later(5_000)
    assert list(lab.group.members) == ["a", "c"]


def test_who_joins_again_in_time_is_not_removed() -> None:
    lab = lab_with_member()
    lab.join_classic()
    lab.sync_classic("c", 3)
    tell(lab.image, "orders", 4)
    lab.settle("a")
    assert lab.beat_classic("c", 3) == AGAIN
    epoch = lab.told[lab.join_classic("c")].generation_id
    lab.sync_classic("c", epoch)
    for _ in range(2 * REBALANCE_MS // 5_000):
        lab.beat("a")
        if lab.beat_classic("c", epoch) == AGAIN:
            epoch = lab.told[lab.join_classic("c")].generation_id
            lab.sync_classic("c", epoch)
        lab.later(5_000)
    assert list(lab.group.members) == ["a", "c"]


def test_who_syncs_is_alive_and_so_is_who_is_told_to_join_again() -> None:
    lab = lab_with_member()
    lab.join_classic()
    for _ in range(3):
        lab.later(CLASSIC_SESSION_MS - 1)
        lab.sync_classic("c", 3)
    lab.settle("a")
    for _ in range(3):
        lab.later(CLASSIC_SESSION_MS - 1)
        lab.beat("a")
        assert lab.beat_classic("c", 3) == AGAIN
    assert list(lab.group.members) == ["a", "c"]


def test_another_subscription_of_a_classic_member_begins_an_epoch() -> None:
    lab = Lab(image_with(orders=2, bills=1))
    lab.beat("a")
    lab.join_classic()
    epoch = lab.group.epoch
    lab.join_classic("c")
    assert lab.group.epoch == epoch
    lab.join_classic("c", topics=["bills"])
    assert lab.group.epoch == epoch + 1
    assert lab.group.members["c"].topics == {"bills"}


def test_a_member_that_changes_to_the_classic_protocol_leaves_its_regular_expression() -> None:
    lab = Lab(image_with(orders=1))
    lab.beat("b")
    lab.beat("a", instance_id="desk", subscribed_topic_regex="ord.*")
    lab.ask("a", -2, instance_id="desk")
    epoch = lab.group.epoch
    lab.join_classic(group_instance_id="desk")
    assert lab.group.regexes == {}
    assert list(lab.group.members) == ["b", "c"]
    assert lab.group.epoch == epoch + 1


def test_of_several_protocols_the_one_that_a_member_prefers_is_told_and_read() -> None:
    lab = lab_with_member()
    said = [
        JoinGroupRequestProtocol(
            name=name,
            metadata=encode_versioned(ConsumerProtocolSubscription(topics=topics), version),
        )
        for name, topics, version in (("range", ["orders"], 3), ("sticky", ["bills"], 0))
    ]
    told = lab.told[lab.join_classic(protocols=said)]
    assert told.protocol_name == "range"
    assert lab.group.members["c"].topics == {"orders"}
    lab.settle("a")
    lab.join_classic("c", protocols=said)
    request = SyncGroupRequest(
        group_id=GROUP,
        member_id="c",
        generation_id=3,
        assignments=[],
        protocol_type="consumer",
        protocol_name="range",
    )
    lab.take(lab.members.sync(0, request, 5, lab.now_ms, lab.wall_ms))
    assert bytes(lab.told[0].assignment)[:2] == b"\x00\x03"
    assert partitions(lab.told[0]) == [1]
