"""What the contracts of a group of the classic protocol say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.groups import group_metadata
from broker.core.groups.classic_group import ClassicGroup, GroupState, Member
from protocol.errors import ErrorCode
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.group_records import GroupMetadataValue
from protocol.stored_records import encode_versioned
from tests.simulation.contracts.wrong_rules import answers, told_of

READS = encode_versioned(ConsumerProtocolSubscription(topics=["orders"], user_data=None), 1)
RANGE, BOTH = [("range", READS)], [("sticky", READS), ("range", READS)]
Wrong = Callable[..., Any]


def member(name: str, protocols: list[tuple[str, bytes]] = RANGE) -> Member:
    return Member(
        member_id=name,
        instance_id=name if name == "static" else None,
        client_id="c",
        client_host="h",
        session_timeout_ms=10,
        rebalance_timeout_ms=20,
        protocols=protocols,
    )


def group_of(*members: Member, state: GroupState = GroupState.PREPARING_REBALANCE) -> ClassicGroup:
    group = ClassicGroup("g", state=state, state_since_ms=0)
    for each in members:
        group.add(each, "consumer")
    return group


def two() -> ClassicGroup:
    return group_of(member("one", BOTH), member("static"))


def joined_by(who: str) -> ClassicGroup:
    group = two()
    group.join_waiters[who] = 1
    return group


def chosen() -> ClassicGroup:
    group = two()
    group.protocol_name = "range"
    return group


def adds_nobody_to_lead(group: ClassicGroup, one: Member, _: str) -> None:
    group.members[one.member_id] = one


def leaves_its_vote(group: ClassicGroup, who: str) -> None:
    del group.members[who]


def changes_alone(group: ClassicGroup, one: Member, *, protocols: Any) -> None:
    one.protocols = protocols


def names_it_alone(group: ClassicGroup, _: Member, new: str) -> None:
    group.instances["static"] = new


def jumps(group: ClassicGroup, state: GroupState, wall_ms: int) -> None:
    group.previous_state, group.state, group.state_since_ms = group.state, state, wall_ms


def keeps_its_generation(group: ClassicGroup, wall_ms: int) -> None:
    group.protocol_name = "range"
    group.unsynced = dict.fromkeys(group.members)
    group.move_to(GroupState.COMPLETING_REBALANCE, wall_ms)


def record() -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=4,
        protocol="range",
        leader=None,
        current_state_timestamp=7,
        members=[],
    )


NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID

WRONG_RULES: Final[list[tuple[str, Wrong | property, Callable[[], object]]]] = [
    ("ClassicGroup.add", adds_nobody_to_lead, two),
    ("ClassicGroup.remove", leaves_its_vote, lambda: two().remove("one")),
    ("ClassicGroup.remove", answers(None), lambda: two().remove("static")),
    (
        "ClassicGroup.change",
        changes_alone,
        lambda: (group := two()).change(group.members["one"], protocols=RANGE),
    ),
    (
        "ClassicGroup.replace_id",
        names_it_alone,
        lambda: (group := two()).replace_id(group.members["static"], "other"),
    ),
    ("ClassicGroup.move_to", answers(None), lambda: two().begin_generation(0)),
    (
        "ClassicGroup.elect_joined_leader",
        answers(value=True),
        lambda: joined_by("static").elect_joined_leader(),
    ),
    (
        "ClassicGroup.elect_joined_leader",
        answers(value=False),
        lambda: joined_by("one").elect_joined_leader(),
    ),
    ("ClassicGroup.begin_generation", keeps_its_generation, lambda: two().begin_generation(0)),
    ("ClassicGroup.selected_protocol", answers("sticky"), lambda: two().selected_protocol()),
    (
        "ClassicGroup.supports",
        answers(value=True),
        lambda: two().supports("consumer", ["sticky"]),
    ),
    (
        "ClassicGroup.supports",
        answers(value=False),
        lambda: two().supports("consumer", ["sticky", "range"]),
    ),
    ("ClassicGroup.supports", answers(value=True), lambda: two().supports("connect", ["range"])),
    (
        "ClassicGroup.read_subscribed_topics",
        answers(frozenset[str]()),
        lambda: chosen().read_subscribed_topics(),
    ),
    (
        "ClassicGroup.generation_error",
        answers(NONE),
        lambda: two().generation_error("one", None, -1),
    ),
    (
        "ClassicGroup.generation_error",
        answers(ErrorCode.ILLEGAL_GENERATION),
        lambda: two().generation_error("nobody", None, -1),
    ),
    ("ClassicGroup.member_error", answers(NONE), lambda: two().member_error("nobody", None)),
    (
        "ClassicGroup.member_error",
        answers(UNKNOWN),
        lambda: two().member_error("one", "static"),
    ),
    (
        "ClassicGroup.have_all_joined",
        property(answers(value=True)),
        lambda: joined_by("one").have_all_joined,
    ),
    (
        "ClassicGroup.rebalance_timeout_ms",
        property(answers(10)),
        lambda: two().rebalance_timeout_ms,
    ),
    (
        "group_metadata.stored_group",
        answers(two()),
        lambda: group_metadata.stored_group("g", record()),
    ),
    (
        "group_metadata.group_record",
        answers((b"", encode_versioned(record(), 3))),
        lambda: group_metadata.group_record(chosen()),
    ),
    (
        "group_metadata.group_record",
        answers(group_metadata.group_record(chosen())),
        lambda: group_metadata.group_record(chosen(), is_led=False),
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong | property, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_a_state_is_not_left_out() -> None:
    def use() -> None:
        two().move_to(GroupState.STABLE, 0)

    assert told_of(jumps, "ClassicGroup.move_to", use)
