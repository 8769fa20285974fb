"""What is told of groups."""

import pytest

from broker.core.groups.group_answers import (
    described,
    group_operations,
    listed,
    listed_group,
    not_described,
    not_there,
)
from protocol.acls.model import AclOperation
from protocol.errors import ErrorCode
from tests.broker.core.groups.lab import GROUP, Lab


def test_a_stable_group_is_described_with_what_its_members_say_and_are_assigned() -> None:
    lab = Lab()
    ids = lab.stable(2)
    told = described(lab.group)
    assert (told.group_id, told.group_state) == (GROUP, "Stable")
    assert (told.protocol_type, told.protocol_data) == ("consumer", "range")
    assert [row.member_id for row in told.members] == ids
    assert told.members[1].member_assignment == ids[1].encode()
    assert told.members[1].member_metadata == b"r"
    assert told.members[1].client_host == "/127.0.0.1"


def test_while_members_join_what_they_say_is_not_told() -> None:
    lab = Lab()
    ids = lab.stable(2)
    lab.join(ids[0])
    told = described(lab.group)
    assert (told.group_state, told.protocol_data) == ("PreparingRebalance", "")
    assert [row.member_metadata for row in told.members] == [b"", b""]


def test_a_group_that_is_not_there_is_dead_and_since_version_6_an_error() -> None:
    older, newer = not_there("g", 5, "Group g not found."), not_there("g", 6, "Group g not found.")
    assert (older.group_state, older.error_code) == ("Dead", ErrorCode.NONE)
    assert (newer.group_state, newer.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert newer.error_message == "Group g not found."
    assert not_described("g", ErrorCode.NOT_COORDINATOR).group_state == ""


@pytest.mark.parametrize(
    ("states", "types", "count"),
    [
        ([], [], 1),
        (["Stable"], ["Classic"], 1),
        (["empty", "sTABLE"], ["consumer", "classic"], 1),
        (["Empty"], [], 0),
        (["Nonsense"], [], 0),
        ([], ["Consumer"], 0),
        ([], ["Nonsense"], 0),
    ],
)
def test_groups_are_listed_by_state_and_type(
    states: list[str], types: list[str], count: int
) -> None:
    lab = Lab()
    lab.stable(1)
    found = listed(map(listed_group, lab.groups.groups), states, types)
    assert len(found) == count
    for row in found:
        assert (row.group_id, row.protocol_type) == (GROUP, "consumer")
        assert (row.group_state, row.group_type) == ("Stable", "classic")


def test_what_may_be_done_to_a_group_is_more_since_4_0() -> None:
    def names(release: str | None) -> set[str]:
        bits = group_operations(release)
        return {each.name for each in AclOperation if each > 0 and bits >> each & 1}

    assert names("3.9") == {"READ", "DELETE", "DESCRIBE"}
    assert names("4.0") == names("3.9") | {"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}


def test_a_group_of_which_the_log_knows_no_protocol_is_told_as_one_of_none() -> None:
    lab = Lab()
    lab.id_for()
    assert described(lab.group).protocol_type == listed_group(lab.group).protocol_type == ""
