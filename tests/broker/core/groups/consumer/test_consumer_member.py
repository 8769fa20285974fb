"""Members of the consumer protocol, as values."""

from __future__ import annotations

import pytest

from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from tests.broker.core.groups.consumer.lab import Parts, rows, topic_id

MEMBER = ConsumerMember(
    member_id="a", epoch=5, assigned={topic_id("t"): {0: 3, 1: 5}}, revoking={topic_id("u"): {2: 4}}
)


def test_a_member_has_what_it_is_assigned_and_what_it_gives_back() -> None:
    asked = [("t", 0), ("t", 1), ("u", 2), ("u", 0), ("v", 0)]
    found = [MEMBER.assignment_epoch(topic_id(name), index) for name, index in asked]
    assert found == [3, 5, 4, None, None]


@pytest.mark.parametrize(
    ("owned", "is_part"), [({}, True), ({"t": [1]}, True), ({"t": [2]}, False), ({"u": [2]}, False)]
)
def test_only_what_is_assigned_counts_as_owned_rightly(owned: Parts, is_part: bool) -> None:
    assert MEMBER.has_at_least(rows(owned)) is is_part


def test_who_does_not_say_what_it_owns_may_own_more() -> None:
    assert not MEMBER.has_at_least(None)


def test_states_are_stored_under_the_numbers_that_apache_kafka_reads() -> None:
    assert [(state.name, state.value) for state in MemberState] == [
        ("STABLE", 0),
        ("UNREVOKED_PARTITIONS", 1),
        ("UNRELEASED_PARTITIONS", 2),
        ("UNKNOWN", 127),
    ]


def test_a_state_of_a_later_release_is_unknown() -> None:
    assert MemberState.stored(2) is MemberState.UNRELEASED_PARTITIONS
    assert MemberState.stored(3) is MemberState.UNKNOWN


def test_a_member_is_reconciled_in_the_epoch_of_the_target_only() -> None:
    assert MEMBER.is_reconciled_to(5)
    assert not MEMBER.is_reconciled_to(6)
