"""Members of the classic protocol in a group of the consumer protocol."""

from __future__ import annotations

from typing import Any

import pytest

from broker.core.groups.subscription import assignment_of
from protocol.errors import ErrorCode, KafkaError
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
