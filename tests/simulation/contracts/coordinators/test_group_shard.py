"""What the contracts of a coordinator of groups say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.coordination import Answer, Decided, TransactionProducer
from broker.core.groups import group_catalog
from broker.core.groups.classic_group import ClassicGroup
from broker.core.groups.group_offsets import Committed, offset_key, offset_value
from broker.core.groups.group_shard import Commit, FetchedOffset, GroupShard, NewOffset
from broker.core.groups.joins import Joining
from broker.core.groups.membership import Committer
from broker.core.metadata_image import MetadataImage
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.groups import JoinGroupRequest, JoinGroupRequestProtocol
from tests.simulation.contracts.wrong_rules import answers, told_of

TP, OTHER = TopicPartition("orders", 0), TopicPartition("bills", 1)
NONE = ErrorCode.NONE
FIVE = Committed(5, 1, "hi", 100)
RECORD = (offset_key("g", TP), offset_value(FIVE))
PENDING = TransactionProducer(7, 3)
JOINING = JoinGroupRequest(
    group_id="g",
    session_timeout_ms=10_000,
    member_id="",
    protocol_type="consumer",
    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
)
Wrong = Callable[..., Any]


def shard_of(*, pending: bool = False, is_empty: bool = False) -> GroupShard:
    shard = GroupShard(broker_config({}), lambda: 10_000, MetadataImage(broker_id=BrokerId(1)))
    if not is_empty:
        shard.offsets.put("g", {OTHER: FIVE})
    if pending:
        shard.offsets.put("g", {OTHER: FIVE}, producer_id=7)
    return shard


def commit(
    new: NewOffset, *, generation: int = -1, producer: TransactionProducer | None = None
) -> Callable[[], object]:
    committer = Committer(generation=generation, is_transactional=producer is not None)
    return lambda: shard_of().commit(1, Commit("g", committer, [new], producer=producer), 0, 100)


def told(response: object, *records: Any, producer: TransactionProducer | None = None) -> Decided:
    return Decided(records, [Answer(1, response)], producer=producer)


def puts(committed: Committed, decided: Decided) -> Wrong:
    def rule(shard: GroupShard, *_: object) -> Decided:
        shard.offsets.put("g", {TP: committed})
        return decided

    return rule


def refuses(shard: GroupShard, *_: object) -> Decided:
    shard.offsets.put("g", {TP: FIVE})
    raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


def ends_as(*, is_commit: bool) -> Wrong:
    def rule(shard: GroupShard, producer_id: int, **_: object) -> None:
        shard.offsets.end_transaction(producer_id, is_commit=is_commit)

    return rule


def fetch(*tps: TopicPartition, pending: bool = False) -> Callable[[], object]:
    return lambda: shard_of(pending=pending).fetch(1, "g", tps or None, require_stable=True)


def end(*, is_commit: bool) -> Callable[[], object]:
    def use() -> None:
        shard = shard_of()
        shard.offsets.put("g", {TP: FIVE}, producer_id=7)
        shard.replay_end(7, is_commit=is_commit)

    return use


def silent() -> object:
    """Let a member be silent for its session."""
    shard = shard_of()
    shard.members.join(Joining(1, JOINING, 4, "client", "/h", "unique"), 0, 0)
    return shard.members.next_due_ms(), shard.members.expire(10_000, 10_000)


def looked(expired: Committed, *, after_ms: int = 600_000, wall_ms: int = 1_000) -> Wrong:
    """Look for expired offsets once."""

    def use() -> None:
        shard = shard_of(is_empty=True)
        shard.offsets.put("g", {TP: expired})
        shard.loaded(0, 0)
        shard.expire(after_ms, wall_ms)

    return use


def looks_again(after_ms: int) -> Wrong:
    def rule(shard: GroupShard, *_: object) -> Decided:
        shard._look_due_ms = after_ms  # pyright: ignore[reportPrivateUsage] - nothing public sets it
        return Decided()

    return rule


GOOD = NewOffset(TP, 5, 1, "hi")
UNSTABLE = FetchedOffset(OTHER, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("GroupShard.commit", answers(told([NONE], RECORD)), commit(GOOD)),
    ("GroupShard.commit", puts(FIVE, told([NONE])), commit(GOOD)),
    ("GroupShard.commit", puts(FIVE._replace(offset=6), told([NONE], RECORD)), commit(GOOD)),
    ("GroupShard.commit", puts(FIVE._replace(commit_ms=9), told([NONE], RECORD)), commit(GOOD)),
    ("GroupShard.commit", puts(FIVE, told([NONE], RECORD)), commit(GOOD, producer=PENDING)),
    (
        "GroupShard.commit",
        puts(FIVE, told([NONE], RECORD, producer=PENDING)),
        commit(GOOD, producer=PENDING),
    ),
    ("GroupShard.commit", refuses, commit(GOOD)),
    (
        "GroupShard.commit",
        puts(FIVE, told([ErrorCode.OFFSET_METADATA_TOO_LARGE], RECORD)),
        commit(GOOD),
    ),
    ("GroupShard.fetch", answers(told([])), fetch()),
    ("GroupShard.fetch", answers(told([FetchedOffset(TP, 5)])), fetch(TP)),
    (
        "GroupShard.fetch",
        answers(told([FetchedOffset(OTHER, 5, 1, "hi")])),
        fetch(OTHER, pending=True),
    ),
    ("GroupShard.fetch", answers(told([UNSTABLE])), fetch(OTHER)),
    (
        "GroupShard.delete_offsets",
        answers(told([NONE])),
        lambda: shard_of().delete_offsets(1, "g", [OTHER]),
    ),
    (
        "GroupShard.delete_offsets",
        answers(told([ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])),
        lambda: shard_of().delete_offsets(1, "g", [OTHER]),
    ),
    ("GroupShard.replay", answers(None), lambda: shard_of().replay(*RECORD)),
    ("GroupShard.replay", answers(None), lambda: shard_of().replay(*RECORD, producer_id=7)),
    ("GroupShard.replay_end", answers(None), end(is_commit=False)),
    ("GroupShard.replay_end", ends_as(is_commit=True), end(is_commit=False)),
    ("GroupShard.replay_end", ends_as(is_commit=False), end(is_commit=True)),
    ("GroupShard.loaded", answers(Decided()), lambda: shard_of().loaded(0, 0)),
    ("GroupShard.expire", looks_again(1_200_000), looked(FIVE._replace(expire_ms=1_000))),
    ("GroupShard.expire", looks_again(1_200_000), looked(FIVE, wall_ms=604_800_100)),
    ("GroupShard.expire", looks_again(600_000 + 1), looked(FIVE)),
    (
        "GroupShard.next_due_ms",
        answers(None),
        lambda: (shard := shard_of(), shard.loaded(0, 0), shard.next_due_ms()),
    ),
    ("GroupMembers.next_due_ms", answers(None), silent),
    ("GroupMembers.expire", answers(Decided()), silent),
    (
        "group_catalog.delete",
        answers(told(NONE)),
        lambda: group_catalog.delete(shard_of(), 1, "g"),
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_members_of_a_group_without_any_may_not_commit() -> None:
    taken = puts(FIVE, told([NONE], RECORD))
    assert told_of(taken, "GroupShard.commit", commit(GOOD, generation=3))


def test_members_of_a_group_that_has_offsets_alone_are_told_that_they_are_none() -> None:
    told: list[str] = []
    for code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):

        def refuse(*_: object, code: ErrorCode = code) -> Decided:
            raise KafkaError(code)

        told += told_of(refuse, "GroupShard.commit", commit(GOOD, generation=3))
    assert len(told) == 1
    assert "ILLEGAL_GENERATION" in told[0]


def test_a_group_that_is_not_there_has_nothing_to_delete() -> None:
    assert told_of(
        answers(told([])),
        "GroupShard.delete_offsets",
        lambda: shard_of(is_empty=True).delete_offsets(1, "g", []),
    )


def test_a_group_that_all_left_while_it_was_joined_anew_may_be_kept() -> None:
    """Seed 910150."""
    shard = shard_of()
    shard.members.join(Joining(1, JOINING, 3, "client", "/h", "unique"), 0, 0)
    group = shard.members.get("g")
    assert isinstance(group, ClassicGroup)
    group.members.clear()

    def use() -> None:
        with pytest.raises(KafkaError, match="NON_EMPTY_GROUP"):
            group_catalog.delete(shard, 1, "g")

    assert told_of(None, "group_catalog.delete", use) == []
