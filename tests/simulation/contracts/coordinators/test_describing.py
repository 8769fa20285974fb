"""What the contracts of what is told of groups and transactions say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core.coordination import Decided
from broker.core.groups import group_catalog
from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.group_offsets import Committed
from broker.core.groups.group_shard import GroupShard
from broker.core.transaction_state import listing
from broker.core.transaction_state.listing import ListingFilter
from broker.core.transaction_state.metadata import TransactionMetadata
from broker.core.transaction_state.metadata import TransactionState as State
from protocol.configs.coordination import CoordinationConfig
from protocol.ids import TopicPartition
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.broker.core.groups.consumer.lab import image_with, topic_id
from tests.broker.core.groups.test_group_catalog import join
from tests.simulation.contracts.wrong_rules import answers, told_of

CLASSIC, CONSUMERS, SIMPLE = "classic", "consumers", "simple"
Use = Callable[[], object]
Wrong = Callable[..., Any]


def shard_of_all() -> GroupShard:
    """Return a shard with a group of each kind; a member of one is giving a partition back."""
    config = replace(CoordinationConfig(), group_consumer_assignment_interval_ms=0)
    shard = GroupShard(config, lambda: 1_000_000, image_with(orders=2))
    shard.offsets.put(SIMPLE, {TopicPartition("orders", 0): Committed(5, 3, "hi", 0)})
    join(shard, CLASSIC)
    owned = [TopicPartitions(topic_id=topic_id("orders"), partitions=[0, 1])]
    for member_id, epoch, rows in (("a", 0, []), ("b", 0, []), ("a", 2, owned)):
        is_first = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=CONSUMERS,
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=1_000 if is_first else -1,
            subscribed_topic_names=["orders"] if is_first else None,
            server_assignor="range" if is_first else None,
            topic_partitions=rows,
        )
        shard.members.beat(1, Heartbeating(request, 1, "client", "/h", "unique"), 0, 100)
    return shard


def describe(group_id: str, version: int = 6) -> Use:
    return lambda: group_catalog.describe(shard_of_all(), 1, group_id, version)


def describe_consumers(group_id: str = CONSUMERS) -> Use:
    return lambda: group_catalog.describe_consumer_group(shard_of_all(), 1, group_id)


def listed(*states: str, types: tuple[str, ...] = ()) -> Use:
    return lambda: group_catalog.list_groups(shard_of_all(), states, types)


def with_answer(right: Callable[..., Decided], change: Callable[[Any], None]) -> Wrong:
    """Return a rule that changes what the right one tells."""

    def rule(*args: Any) -> Decided:
        decided = right(*args)
        change(decided.answers[0].response)
        return decided

    return rule


def set_to(**values: object) -> Callable[[Any], None]:
    def change(told: Any) -> None:
        for name, value in values.items():
            setattr(told, name, value)

    return change


def set_of_member(**values: object) -> Callable[[Any], None]:
    return lambda told: set_to(**values)(told.members[0])


def forget_a_member(told: Any) -> None:
    told.members = told.members[1:]


def forget_what_is_given_back(told: Any) -> None:
    rows = told.members[0].assignment.topic_partitions
    rows[0].partitions = list(rows[0].partitions)[:1]


def forget_the_target(told: Any) -> None:
    told.members[1].target_assignment.topic_partitions = []


def listing_all(right: Callable[..., Any], times: int = 1) -> Wrong:
    return lambda *_: times * right(shard_of_all(), (), ())


CLASSICS = group_catalog.describe
OTHERS = group_catalog.describe_consumer_group
RESTING = TransactionMetadata(
    transactional_id="pay", producer_id=7, producer_epoch=3, timeout_ms=50, updated_ms=10
)
OPEN = replace(RESTING, transactional_id="buy", state=State.ONGOING, started_ms=100)
DEAD = replace(RESTING, transactional_id="old", state=State.DEAD)


def transactions(wanted: ListingFilter) -> Use:
    return lambda: listing.listed([RESTING, OPEN, DEAD], wanted, 200)


WRONG_RULES: Final[list[tuple[str, Wrong, Use]]] = [
    (
        "group_catalog.describe",
        with_answer(CLASSICS, set_to(group_state="Stable")),
        describe(CLASSIC),
    ),
    (
        "group_catalog.describe",
        with_answer(CLASSICS, set_to(protocol_data="range")),
        describe(CLASSIC),
    ),
    ("group_catalog.describe", with_answer(CLASSICS, forget_a_member), describe(CLASSIC)),
    (
        "group_catalog.describe",
        with_answer(CLASSICS, set_of_member(member_assignment=b"x")),
        describe(CLASSIC),
    ),
    (
        "group_catalog.describe",
        with_answer(CLASSICS, set_to(group_state="Dead")),
        describe(SIMPLE),
    ),
    ("group_catalog.describe", with_answer(CLASSICS, set_to(error_code=0)), describe(CONSUMERS)),
    ("group_catalog.describe", with_answer(CLASSICS, set_to(error_code=69)), describe("none", 5)),
    ("group_catalog.describe", answers(Decided()), describe("none", 5)),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, set_to(group_state="Stable")),
        describe_consumers(),
    ),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, set_to(assignment_epoch=9)),
        describe_consumers(),
    ),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, set_to(assignor_name="uniform")),
        describe_consumers(),
    ),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, forget_a_member),
        describe_consumers(),
    ),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, forget_what_is_given_back),
        describe_consumers(),
    ),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, forget_the_target),
        describe_consumers(),
    ),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, set_of_member(member_type=0)),
        describe_consumers(),
    ),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, set_of_member(member_epoch=1)),
        describe_consumers(),
    ),
    (
        "group_catalog.describe_consumer_group",
        with_answer(OTHERS, set_to(error_code=0)),
        describe_consumers(CLASSIC),
    ),
    ("group_catalog.list_groups", answers([]), listed()),
    ("group_catalog.list_groups", listing_all(group_catalog.list_groups), listed("EMPTY")),
    (
        "group_catalog.list_groups",
        listing_all(group_catalog.list_groups),
        listed(types=("Consumer",)),
    ),
    ("group_catalog.list_groups", listing_all(group_catalog.list_groups, 2), listed()),
    ("listing.listed", answers([RESTING]), transactions(ListingFilter())),
    ("listing.listed", answers([RESTING, OPEN, DEAD]), transactions(ListingFilter())),
    ("listing.listed", answers([RESTING, OPEN]), transactions(ListingFilter(["Ongoing"]))),
    ("listing.listed", answers([RESTING, OPEN]), transactions(ListingFilter(duration_ms=100))),
    ("listing.listed", answers([RESTING]), transactions(ListingFilter(duration_ms=99))),
    ("listing.listed", answers([RESTING, OPEN]), transactions(ListingFilter(pattern="b.*"))),
    ("listing.listed", answers([OPEN]), transactions(ListingFilter(producer_ids=[8]))),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(rule: str, wrong: Wrong, use: Use) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_a_group_whose_only_offsets_were_aborted_is_told_to_be_empty() -> None:
    shard = shard_of_all()
    offsets = {TopicPartition("orders", 0): Committed(5, 3, "hi", 0)}
    shard.offsets.put("aborted", offsets, producer_id=9)
    shard.replay_end(9, is_commit=False)

    def use() -> Decided:
        return group_catalog.describe(shard, 1, "aborted", 6)

    assert told_of(None, "group_catalog.describe", use) == []
