"""What kafka-consumer-groups writes."""

from __future__ import annotations

from dataclasses import replace

from jbodlab.kafka_tools.core.group_report import (
    deletion_lines,
    listing_lines,
    member_document,
    member_lines,
    missing,
    offset_document,
    offset_lines,
    offset_rows,
    remark,
    reset_document,
    reset_lines,
    state_lines,
)
from protocol.admin.cluster import BrokerView
from protocol.admin.groups import GroupListing, GroupView, MemberView
from protocol.ids import TopicPartition

A, B, C = (TopicPartition("t", number) for number in range(3))
BUSY = MemberView("m-1", "", "me", "/h", (B, A))
IDLE = MemberView("m-2", "inst", "me", "/h", ())
GROUP = GroupView("g", "Stable", "range", (IDLE, BUSY))


def test_members_come_before_what_nobody_reads():
    rows = offset_rows(GROUP, {A: 1, C: 4}, {A: 5, B: 7})
    assert [(row.partition, row.offset, row.end_offset, row.lag) for row in rows] == [
        (0, 1, 5, 4),
        (1, None, 7, None),
        (2, 4, None, None),
    ]
    assert [row.member for row in rows] == [BUSY, BUSY, None]
    assert [line.split() for line in offset_lines(rows)][2:] == [
        ["g", "t", "0", "1", "5", "4", "m-1", "/h", "me"],
        ["g", "t", "1", "-", "7", "-", "m-1", "/h", "me"],
        ["g", "t", "2", "4", "-", "-", "-", "-", "-"],
    ]
    assert list(offset_lines([])) == []
    assert offset_document(rows[2])["member_id"] is None


def test_columns_are_as_wide_as_what_is_in_them():
    long = "g" * 20
    header, row = list(offset_lines(offset_rows(replace(GROUP, group=long), {}, {})))[1:3]
    assert header.index("TOPIC") == row.index("t") == 21
    assert [header.index(name) for name in ("PARTITION", "CURRENT-OFFSET", "LAG")] == [37, 48, 80]


def test_names_of_static_members_have_a_column_where_there_are_any():
    header, idle, busy = list(member_lines(GROUP, is_verbose=True))[1:]
    assert header.split()[2] == "GROUP-INSTANCE-ID"
    assert idle.split() == ["g", "m-2", "inst", "/h", "me", "0", "-"]
    assert busy.split() == ["g", "m-1", "/h", "me", "2", "(0,1)"]
    alone = replace(GROUP, members=(BUSY,))
    assert "INSTANCE" not in next(iter(list(member_lines(alone, is_verbose=False))[1:]))
    assert member_document(BUSY)["instance_id"] is None


def test_states_have_remarks():
    assert remark(GROUP) == missing(GROUP) == ""
    assert "has no active members" in remark(replace(GROUP, state="Empty"))
    assert "is rebalancing" in remark(replace(GROUP, state="PreparingRebalance"))
    assert missing(replace(GROUP, state="Dead")) == "Consumer group 'g' does not exist."
    lines = list(state_lines(GROUP, BrokerView(3, "h", 9, None)))
    assert lines[2].split() == ["g", "h:9", "(3)", "range", "Stable", "2"]


def test_groups_are_listed_by_name_or_in_columns():
    groups = [GroupListing("g", "Empty", "Classic"), GroupListing("h", "", "")]
    assert list(listing_lines(groups, has_type=False, has_state=False)) == ["g", "h"]
    lines = list(listing_lines(groups, has_type=True, has_state=True))
    assert [line.split() for line in lines[1:]] == [
        ["g", "Classic", "Empty"],
        ["h", "Unknown", "Unknown"],
    ]
    (only,) = listing_lines([], has_type=False, has_state=True)
    assert only == f"{'GROUP':<25} {'STATE':<20}"


def test_every_offset_that_is_set_or_deleted_has_a_line():
    assert list(reset_lines({})) == []
    assert [line.split() for line in reset_lines({"g": {A: 1, B: 2}})][2:] == [
        ["g", "t", "0", "1"],
        ["g", "t", "1", "2"],
    ]
    assert reset_document({"g": {A: 1}}) == [
        {"group": "g", "topic": "t", "partition": 0, "offset": 1}
    ]
    lines = list(deletion_lines({A: "Successful", TopicPartition("u", -1): "Error: x"}))
    assert [line.split() for line in lines[2:]] == [
        ["t", "0", "Successful"],
        ["u", "Not", "Provided", "Error:", "x"],
    ]
