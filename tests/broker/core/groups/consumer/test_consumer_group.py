"""One group: its state, what its members read, who has what."""

from __future__ import annotations

from broker.core.groups.assignors.assignment import SubscriptionType
from broker.core.groups.consumer.consumer_group import ConsumerGroup, ConsumerGroupState
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.topic_patterns import ResolvedRegularExpression
from protocol.messages.consumer_group_records import ClassicMemberMetadata, ClassicProtocol
from tests.broker.core.groups.consumer.lab import GROUP, topic_id

T = topic_id("t")
HOMOGENEOUS, HETEROGENEOUS = SubscriptionType


def group_of(*members: ConsumerMember) -> ConsumerGroup:
    group = ConsumerGroup(GROUP)
    for member in members:
        group.put(member)
    return group


def reader(member_id: str, *topics: str, regex: str = "", assignor: str | None = None):
    return ConsumerMember(
        member_id=member_id, topics=frozenset(topics), regex=regex, assignor=assignor
    )


def test_a_group_is_assigning_then_reconciling_then_stable() -> None:
    group = ConsumerGroup(GROUP)
    states = [group.state]
    group.put(reader("a", "t"))
    group.epoch = 2
    states.append(group.state)
    group.assignment_epoch = 2
    states.append(group.state)
    group.put(ConsumerMember(member_id="a", epoch=2))
    states.append(group.state)
    group.put(ConsumerMember(member_id="a", epoch=2, state=MemberState.UNRELEASED_PARTITIONS))
    states.append(group.state)
    group.remove("a")
    assert [state.value for state in (*states, group.state)] == [
        *("Empty", "Assigning", "Reconciling", "Stable", "Reconciling", "Empty")
    ]


def test_topics_are_read_until_the_last_member_leaves_them() -> None:
    group = group_of(reader("a", "t", "u"), reader("b", "u", regex="v.*"))
    group.put_regex("v.*", ResolvedRegularExpression(frozenset({"v1", "u"}), 1, 0))
    assert group.topics() == ["t", "u", "v1"]
    assert group.topics_of(group.members["b"]) == {"u", "v1"}
    group.put(reader("b", "u"))
    group.put_regex("v.*", None)
    group.remove("a")
    assert group.topics() == ["u"]


def test_members_read_the_same_by_name_or_by_one_regular_expression() -> None:
    assert group_of(reader("a", "t"), reader("b", "t")).subscription_type() is HOMOGENEOUS
    assert group_of(reader("a", "t"), reader("b", "u")).subscription_type() is HETEROGENEOUS
    by_regex = group_of(reader("a", regex="t.*"), reader("b", regex="t.*"))
    by_regex.put_regex("t.*", ResolvedRegularExpression(frozenset({"t"}), 1, 0))
    assert by_regex.subscription_type() is HOMOGENEOUS
    by_regex.put(reader("c", "t", regex="t.*"))
    assert by_regex.subscription_type() is HETEROGENEOUS
    by_regex.put(reader("c", regex="u.*"))
    assert by_regex.subscription_type() is HETEROGENEOUS


def test_the_assignor_that_most_ask_for_is_preferred() -> None:
    group = group_of(reader("a", "t"))
    assert group.preferred_assignor() is None
    for member_id, assignor in (("b", "range"), ("c", "uniform"), ("d", "range")):
        group.put(reader(member_id, "t", assignor=assignor))
    assert group.preferred_assignor() == "range"
    group.remove("b")
    assert group.preferred_assignor() == "uniform"
    group.remove("d")
    assert group.preferred_assignor() == "uniform"


def test_a_partition_is_owned_until_its_member_gave_it_back() -> None:
    group = group_of(ConsumerMember(member_id="a", assigned={T: {0: 1}}, revoking={T: {1: 1}}))
    assert [group.is_owned(T, index) for index in range(3)] == [True, True, False]
    group.put(ConsumerMember(member_id="a", assigned={T: {0: 1}}))
    group.put(ConsumerMember(member_id="b", assigned={T: {1: 2}}))
    group.remove("a")
    assert [group.is_owned(T, index) for index in range(3)] == [False, True, False]


def test_an_instance_id_belongs_to_who_had_it_last() -> None:
    old = ConsumerMember(member_id="a", instance_id="desk")
    group = group_of(old)
    assert group.static_member("desk") is old
    new = ConsumerMember(member_id="b", instance_id="desk")
    group.put(new)
    group.remove("a")
    assert group.static_member("desk") is new
    group.remove("b")
    assert (group.static_member("desk"), group.static_member(None)) == (None, None)


def test_classic_members_have_to_know_one_protocol_together() -> None:
    def classic(member_id: str, *names: str) -> ConsumerMember:
        protocols = [ClassicProtocol(name=name, metadata=b"") for name in names]
        said = ClassicMemberMetadata(session_timeout_ms=1, supported_protocols=protocols)
        return ConsumerMember(member_id=member_id, classic=said)

    group = group_of(reader("a", "t"), classic("b", "range", "sticky"), classic("c", "sticky"))
    assert group.classic_count == 2
    assert group.supports(["sticky"])
    assert not group.supports(["range"])
    assert group.state is ConsumerGroupState.RECONCILING
