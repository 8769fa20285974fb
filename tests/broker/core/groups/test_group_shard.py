"""What one partition of the offsets topic decides."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from broker.core.coordination import Decided, TransactionProducer
from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.group_offsets import Committed, offset_key
from broker.core.groups.group_shard import (
    LOOKED_AT_MAX,
    Commit,
    FetchedOffset,
    GroupShard,
    NewOffset,
)
from broker.core.groups.membership import Committer
from broker.core.metadata_image import MetadataImage
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
)
from protocol.stored_records import encode_key, encode_versioned

TP, OTHER = TopicPartition("orders", 0), TopicPartition("bills", 1)
MINUTE_MS = 60_000
WALL_MS = 1_700_000_000_000
NONE = ErrorCode.NONE
SESSION_MS = 45_000
GROUP_KEY = encode_key(GroupMetadataKey(group="g"))
EMPTY = GroupMetadataValue(
    protocol_type="consumer",
    generation=1,
    protocol=None,
    leader=None,
    current_state_timestamp=WALL_MS,
    members=[],
)


def shard_with(batch_bytes_max: int = 1_000_000, **overrides: str) -> GroupShard:
    configs = {name.replace("_", "."): value for name, value in overrides.items()}
    return GroupShard(
        broker_config(configs), lambda: batch_bytes_max, MetadataImage(broker_id=BrokerId(1))
    )


def commit(
    shard: GroupShard,
    *offsets: NewOffset,
    producer: TransactionProducer | None = None,
    **words: int,
) -> Decided:
    committer = Committer(generation=words.pop("generation", -1), is_transactional=False)
    wanted = Commit("g", committer, offsets, producer=producer, **words)
    return shard.commit(1, wanted, 0, WALL_MS)


def beat(shard: GroupShard, group_id: str) -> None:
    """Have a member ``a`` in a group of the consumer protocol, in epoch 2."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id="a",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    shard.members.beat(1, Heartbeating(request, 1, "client", "/h", "uuid"), 0, WALL_MS)


def answer(decided: Decided) -> object:
    (given,) = decided.answers
    return given.response


def fetched(shard: GroupShard, *tps: TopicPartition, stable: bool = False) -> object:
    return answer(shard.fetch(1, "g", tps or None, require_stable=stable))


def test_a_commit_is_kept_at_once_and_answered_with_its_records():
    shard = shard_with()
    decided = commit(shard, NewOffset(TP, 5, 3, "hi"), NewOffset(OTHER, 6))
    assert ([key for key, _ in decided.records], answer(decided)) == (
        [offset_key("g", TP), offset_key("g", OTHER)],
        [NONE, NONE],
    )
    assert fetched(shard, OTHER, TP) == [FetchedOffset(OTHER, 6), FetchedOffset(TP, 5, 3, "hi")]
    assert fetched(shard) == [FetchedOffset(TP, 5, 3, "hi"), FetchedOffset(OTHER, 6)]
    assert fetched(shard, TopicPartition("orders", 1))[0].offset == -1  # type: ignore[index]


def test_what_a_shard_wrote_another_one_loads():
    first, second = shard_with(), shard_with()
    records = [
        *commit(first, NewOffset(TP, 5, 3, "hi"), NewOffset(OTHER, 1)).records,
        *commit(first, NewOffset(OTHER, 2)).records,
        *first.delete_offsets(1, "g", [TP]).records,
    ]
    for key, value in records:
        second.replay(key, value)
    assert second.offsets.committed("g") == first.offsets.committed("g")
    assert list(second.offsets.committed("g")) == [OTHER]


def test_records_of_members_are_passed_over_and_damaged_ones_said():
    shard = shard_with()
    shard.replay(bytes.fromhex("0002000167"), None)
    for key in (b"", b"\0\x63", b"\0\1\0\5g"):
        with pytest.raises(Malformed):
            shard.replay(key, None)


@pytest.mark.parametrize(
    ("metadata", "code"), [("x" * 8, 0), ("x" * 9, 12), ("\U0001f600" * 5, 12)]
)
def test_metadata_that_is_too_long_is_refused_alone(metadata: str, code: int):
    shard = shard_with(offset_metadata_max_bytes="8")
    decided = commit(shard, NewOffset(TP, 5, metadata=metadata), NewOffset(OTHER, 6))
    assert answer(decided) == [code, NONE]
    assert len(decided.records) == 2 - (code > 0)


def test_a_commit_larger_than_a_batch_may_be_is_refused_and_changes_nothing():
    shard = shard_with(batch_bytes_max=150)
    with pytest.raises(KafkaError, match="INVALID_COMMIT_OFFSET_SIZE"):
        commit(shard, NewOffset(TP, 5, metadata="x" * 100))
    assert not shard.offsets.has_offsets("g")


def test_who_says_it_is_in_a_generation_of_a_simple_group_is_refused():
    with pytest.raises(KafkaError, match="ILLEGAL_GENERATION"):
        commit(shard_with(), NewOffset(TP, 5), generation=1)


def test_a_group_that_has_offsets_has_no_member_that_could_be_in_a_generation():
    shard = shard_with()
    commit(shard, NewOffset(TP, 5))
    for generation in (0, 1):
        with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
            commit(shard, NewOffset(TP, 6), generation=generation)
    assert fetched(shard, TP) == [FetchedOffset(TP, 5)]


def test_times_are_the_broker_s_unless_old_clients_chose_them():
    shard = shard_with()
    commit(shard, NewOffset(TP, 5), retention_ms=10)
    commit(shard, NewOffset(OTHER, 6, commit_ms=77))
    times = [(c.commit_ms, c.expire_ms) for c in shard.offsets.committed("g").values()]
    assert times == [(WALL_MS, WALL_MS + 10), (77, -1)]


def test_an_offset_under_an_open_transaction_is_unstable_for_who_asks():
    shard = shard_with()
    commit(shard, NewOffset(TP, 5))
    records = commit(shard, NewOffset(TP, 6), producer=TransactionProducer(9, 0)).records
    assert fetched(shard, TP) == [FetchedOffset(TP, 5)]
    unstable = FetchedOffset(TP, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert fetched(shard, TP, stable=True) == [unstable]
    shard.replay_end(9, is_commit=True)
    assert fetched(shard, TP, stable=True) == [FetchedOffset(TP, 6)]
    loaded = shard_with()
    for key, value in records:
        loaded.replay(key, value, producer_id=9)
    loaded.replay_end(9, is_commit=False)
    assert not loaded.offsets.has_offsets("g")


def test_offsets_are_deleted_of_groups_that_there_are():
    shard = shard_with()
    with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND"):
        shard.delete_offsets(1, "g", [TP])
    commit(shard, NewOffset(TP, 5))
    decided = shard.delete_offsets(1, "g", [TP, OTHER])
    assert not decided.is_atomic
    assert (decided.records, answer(decided)) == ([(offset_key("g", TP), None)], [NONE, NONE])


@pytest.mark.parametrize("is_topic_deleted", [True, False])
def test_from_4_0_on_a_group_that_lost_its_last_offset_is_there_until_the_next_look(
    *, is_topic_deleted: bool
):
    shard = GroupShard(
        broker_config({}),
        lambda: 1_000_000,
        MetadataImage(broker_id=BrokerId(1)),
        empties_stay=True,
    )
    for group in (shard, shard_with()):
        commit(group, NewOffset(TP, 5))
        if is_topic_deleted:
            list(group.partitions_deleted([TP]))
        else:
            group.delete_offsets(1, "g", [TP])
        assert group.offsets.is_here("g") is (group is shard)
    commit(shard, NewOffset(TP, 6))
    assert list(shard.offsets.group_ids()) == ["g"]


def test_offsets_of_deleted_partitions_go_from_every_group():
    shard = shard_with()
    commit(shard, NewOffset(TP, 5), NewOffset(OTHER, 6))
    (decided,) = shard.partitions_deleted([TP, TopicPartition("orders", 1)])
    assert not decided.is_atomic
    assert list(decided.records) == [(offset_key("g", TP), None)]
    assert list(shard.partitions_deleted([TP])) == []


def test_offsets_of_deleted_partitions_go_from_open_transactions_too():
    shard, loaded = shard_with(), shard_with()
    producer = TransactionProducer(9, 0)
    records = commit(shard, NewOffset(TP, 6), NewOffset(OTHER, 7), producer=producer).records
    for key, value in records:
        loaded.replay(key, value, producer_id=9)
    (decided,) = shard.partitions_deleted([TP])
    assert list(decided.records) == [(offset_key("g", TP), None)]
    loaded.replay(*decided.records[0])
    for each in (shard, loaded):
        each.replay_end(9, is_commit=True)
        assert list(each.offsets.committed("g")) == [OTHER]


def test_all_offsets_of_a_topic_are_told_one_after_the_other():
    shard = shard_with()
    pays = TopicPartition("pays", 0)
    for tp in (pays, TP, TopicPartition("pays", 1)):
        commit(shard, NewOffset(tp, 5))
    (answer,) = shard.fetch(1, "g", None, require_stable=False).answers
    topics = [found.tp.topic for found in answer.response]
    assert topics == ["pays", "pays", TP.topic]


def test_expired_offsets_are_looked_for_from_time_to_time():
    shard = shard_with(offsets_retention_minutes="1", offsets_retention_check_interval_ms="500")
    assert shard.next_due_ms() is None
    assert shard.loaded(1_000, WALL_MS) == Decided()
    assert shard.next_due_ms() == 1_500
    commit(shard, NewOffset(TP, 5))
    assert shard.expire(1_499, WALL_MS + MINUTE_MS) == Decided()
    assert shard.expire(1_500, WALL_MS + MINUTE_MS - 1) == Decided([])
    assert shard.next_due_ms() == 2_000
    assert list(shard.expire(2_000, WALL_MS + MINUTE_MS).records) == [(offset_key("g", TP), None)]
    assert list(shard.unloaded(ErrorCode.NOT_COORDINATOR)) == []


def test_tombstones_come_in_batches_that_the_log_takes():
    shard = shard_with(batch_bytes_max=400, offsets_retention_minutes="1")
    shard.loaded(0, WALL_MS)
    for number in range(20):
        commit(shard, NewOffset(TopicPartition("orders", number), 5))
    due_ms, batches = shard.next_due_ms() or 0, 0
    while shard.offsets.has_offsets("g"):
        assert shard.next_due_ms() == due_ms
        assert 0 < len(shard.expire(due_ms, WALL_MS + MINUTE_MS).records) < 10
        batches += 1
    assert batches > 2


def test_groups_without_offsets_are_looked_at_in_several_steps_too():
    shard = shard_with(offsets_retention_check_interval_ms="500")
    for number in range(LOOKED_AT_MAX + 1):
        key = encode_key(GroupMetadataKey(group=f"g{number}"))
        shard.replay(key, encode_versioned(EMPTY, 3))
    shard.loaded(0, WALL_MS)
    shard.expire(500, WALL_MS)
    assert shard.next_due_ms() == 500
    shard.expire(500, WALL_MS)
    assert shard.next_due_ms() == 1_000


# Looks for expired offsets.


def looking(every_ms: int = 500) -> GroupShard:
    """Return a shard that looks so often for offsets older than a minute."""
    shard = shard_with(
        offsets_retention_check_interval_ms=str(every_ms), offsets_retention_minutes="1"
    )
    shard.loaded(0, WALL_MS)
    return shard


def commit_to(shard: GroupShard, group_id: str, count: int = 1) -> None:
    offsets = [NewOffset(TopicPartition("orders", number), 5) for number in range(count)]
    committer = Committer(generation=-1, is_transactional=False)
    shard.commit(1, Commit(group_id, committer, offsets), 0, WALL_MS)


def test_a_group_ends_with_its_last_offset_where_nobody_is_in_it():
    shard = looking()
    shard.replay(GROUP_KEY, encode_versioned(EMPTY, 3))
    commit(shard, NewOffset(TP, 5))
    assert shard.expire(500, WALL_MS + MINUTE_MS - 1).records == []
    gone = shard.expire(1_000, WALL_MS + MINUTE_MS).records
    assert list(gone) == [(offset_key("g", TP), None), (GROUP_KEY, None)]
    assert not shard.members.knows("g")


def test_a_group_keeps_what_has_not_expired_and_so_is_there():
    shard = looking()
    shard.replay(GROUP_KEY, encode_versioned(replace(EMPTY, current_state_timestamp=-1), 3))
    commit(shard, NewOffset(TP, 5, commit_ms=WALL_MS + 1), NewOffset(OTHER, 5))
    gone = shard.expire(500, WALL_MS + MINUTE_MS).records
    assert list(gone) == [(offset_key("g", OTHER), None)]
    assert shard.members.knows("g")


def test_one_look_goes_through_so_many_offsets_and_the_next_goes_on():
    shard = looking()
    for group_id in ("a", "b", "c"):
        commit_to(shard, group_id, LOOKED_AT_MAX // 2 + 1)
    sizes: list[int] = []
    while (shard.next_due_ms() or 0) <= 500:
        shard.expire(500, WALL_MS + MINUTE_MS)
        sizes.append(len(list(shard.offsets.group_ids())))
    assert sizes == [1, 0]
    assert shard.next_due_ms() == 1_000


def test_what_members_are_due_is_done_first_and_offsets_are_looked_for_after_it():
    shard = looking(SESSION_MS)
    commit_to(shard, "simple")
    beat(shard, "modern")
    assert shard.next_due_ms() == SESSION_MS
    late_ms = WALL_MS + MINUTE_MS
    assert len(shard.expire(SESSION_MS, late_ms).records) > 1
    assert shard.offsets.has_offsets("simple")
    assert shard.next_due_ms() == SESSION_MS
    assert (offset_key("simple", TP), None) in shard.expire(SESSION_MS, late_ms).records


def test_a_shard_is_due_when_a_member_or_a_look_is_whichever_is_first():
    shard = looking(SESSION_MS + 1)
    assert shard.next_due_ms() == SESSION_MS + 1
    beat(shard, "modern")
    assert shard.next_due_ms() == SESSION_MS
    beat(early := looking(), "modern")
    assert early.next_due_ms() == 500
    unloaded = shard_with()
    beat(unloaded, "modern")
    assert unloaded.next_due_ms() == SESSION_MS


# Offsets that members read.


def test_offsets_of_topics_that_a_group_reads_are_not_deleted():
    shard = shard_with()
    beat(shard, "g")
    decided = shard.delete_offsets(1, "g", [TP])
    assert (decided.records, answer(decided)) == ([], [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])
    shard.offsets.put("g", {TP: Committed(5, 0, "", 0), OTHER: Committed(6, 0, "", 0)})
    decided = shard.delete_offsets(1, "g", [TP, OTHER])
    assert list(decided.records) == [(offset_key("g", OTHER), None)]
    assert answer(decided) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, NONE]
    assert list(shard.offsets.committed("g")) == [TP]


def test_members_fetch_in_their_epoch_alone_and_say_who_they_are():
    shard = shard_with()
    beat(shard, "g")
    ask = partial(shard.fetch, 1, "g", [TP], require_stable=False)
    assert answer(ask(member_id="a", member_epoch=2)) == [FetchedOffset(TP)]
    assert answer(ask()) == [FetchedOffset(TP)]
    for member_id, epoch, code in (("a", 1, "STALE_MEMBER_EPOCH"), ("b", 2, "UNKNOWN_MEMBER_ID")):
        with pytest.raises(KafkaError, match=code):
            ask(member_id=member_id, member_epoch=epoch)


def test_offsets_of_kafka_0_8_are_loaded():
    shard = shard_with()
    key = encode_key(LegacyOffsetCommitKey(group="g", topic="orders", partition=0))
    value = bytes.fromhex("0000000000000000000500026869 00000000000003e8")
    shard.replay(key, value)
    assert fetched(shard, TP) == [FetchedOffset(TP, 5, -1, "hi")]


def test_only_what_is_pending_makes_an_offset_unstable_and_only_for_who_asks():
    shard = shard_with()
    commit(shard, NewOffset(TP, 5), NewOffset(OTHER, 6))
    commit(shard, NewOffset(TP, 7), producer=TransactionProducer(9, 0))
    unstable = FetchedOffset(TP, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert fetched(shard, TP, OTHER, stable=True) == [unstable, FetchedOffset(OTHER, 6)]


def test_a_commit_is_part_of_the_transaction_that_it_names():
    producer = TransactionProducer(9, 3)
    shard = shard_with()
    assert commit(shard, NewOffset(TP, 5), producer=producer).producer == producer
    assert commit(shard, NewOffset(TP, 5)).producer is None
    shard.replay_end(9, is_commit=False)
    assert fetched(shard, TP) == [FetchedOffset(TP, 5)]
