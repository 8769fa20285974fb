"""A follower's log as its fetcher sees it: what it takes, where it is cut, and who hears of it."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.delayed import DelayedFetch
from broker.core.leader_epochs import EpochEnd
from broker.engine.follow.followed import FetchedRecords, FetchPosition
from broker.engine.follow.follower import FollowedLog
from broker.engine.replica import Replica
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.fake_configs import compaction_rules

OTHER = TopicPartition("other", 0)


async def followed(lab: Lab, *, count: int = 0) -> tuple[FollowedLog, Replica]:
    """Return broker 2's log of a partition whose leader is cut off, with ``count`` records."""
    await lab.create(replicas=[1, 2])
    for number in range(count):
        await lab[1].produce(str(number))
    await asyncio.sleep(1)
    lab[1].is_reachable = False
    await asyncio.sleep(1)
    replica = lab[2].replica()
    assert replica.partition.next_offset == count
    return FollowedLog(lab[2].state, lab[2].logs, replica), replica


def batch(base_offset: int, *values: bytes, epoch: int = 0) -> bytes:
    options = BatchOptions(base_offset=base_offset, leader_epoch=epoch)
    return bytes(build_batch([NewRecord(value) for value in values or (b"v",)], options))


def fetched(records: bytes = b"", high_watermark: int = 0, log_start: int = 0) -> FetchedRecords:
    return FetchedRecords(records, high_watermark, log_start)


async def test_it_goes_on_behind_its_last_record_and_tells_its_start_and_epoch(lab: Lab) -> None:
    log, replica = await followed(lab, count=3)
    assert log.position() == FetchPosition(3, 0, 0)
    lab[2].logs.raise_log_start(replica, 2)
    assert log.position() == FetchPosition(3, 2, 0)
    assert (log.tp, log.topic_id, log.is_throttled) == (ORDERS, replica.topic_id, False)


async def test_its_log_start_is_being_written_until_it_is_written(lab: Lab) -> None:
    log, replica = await followed(lab, count=1)
    assert log.log_start_write is None
    for is_written in (False, True):
        replica.log_start_write = write = asyncio.get_running_loop().create_future()
        assert log.log_start_write is write
        assert log.settle() is write
        write.set_result(is_written)
        assert log.log_start_write is None


async def test_it_is_settled_when_what_was_appended_is_written(lab: Lab) -> None:
    log, replica = await followed(lab)
    assert log.settle() is None
    lab[2].workers[replica.log_dir].delay_s = 1
    written = log.append(fetched(batch(0)))
    settled = log.settle()
    assert settled is not None
    await settled
    assert written is not None
    assert written.done()
    assert log.settle() is None


async def test_a_log_on_a_log_dir_that_is_closed_has_nothing_to_wait_for(lab: Lab) -> None:
    log, replica = await followed(lab)
    await replica.log.dir.close()
    replica.partition.next_offset = 1
    assert not replica.partition.is_settled
    assert log.settle() is None


async def test_while_a_log_is_cut_nothing_is_appended_to_it_and_nothing_more_is_cut(
    lab: Lab,
) -> None:
    log, replica = await followed(lab, count=3)
    lab[2].workers[replica.log_dir].delay_s = 1
    lab[2].logs.truncate(replica, 2)
    unwritable = replica.log.unwritable
    assert unwritable is not None
    assert log.append(fetched(batch(2))) is unwritable
    assert log.reconcile(EpochEnd(0, 1)) == (unwritable, False)
    assert log.return_to_range(0, 0) is unwritable
    assert log.settle() is unwritable
    await asyncio.shield(unwritable)
    assert replica.partition.next_offset == 2


async def test_readers_are_woken_by_the_high_watermark_that_comes_with_records_or_alone(
    lab: Lab,
) -> None:
    log, replica = await followed(lab)
    woken: list[int] = []
    consumer = DelayedFetch(lambda: woken.append(replica.partition.high_watermark))
    replica.consumers.add(consumer, 0)
    followers: list[int] = []
    replica.followers.add(DelayedFetch(lambda: followers.append(1)), 0)
    for records, high_watermark in ((batch(0), 0), (batch(1), 1), (b"", 1), (b"", 2)):
        written = log.append(fetched(records, high_watermark))
        if written is not None:
            await written
    assert woken == [1, 2]
    assert len(followers) == 2
    assert lab[2].metrics.counters.replication_bytes_in.value == len(batch(0) + batch(1))


async def test_the_leaders_log_start_is_taken_over_with_records_or_alone(lab: Lab) -> None:
    log, replica = await followed(lab)
    written = log.append(fetched(batch(0) + batch(1), 2, 1))
    assert written is not None
    await written
    assert replica.partition.log_start_offset == 1
    assert not log.note_high_watermark(fetched(high_watermark=2, log_start=1))
    assert log.note_high_watermark(fetched(high_watermark=2, log_start=2))
    assert replica.partition.log_start_offset == 2


async def test_an_answer_with_a_part_of_a_batch_tells_its_high_watermark(lab: Lab) -> None:
    log, replica = await followed(lab, count=2)
    replica.partition.high_watermark = 0
    assert log.append(fetched(batch(2)[:20], 2)) is None
    assert replica.partition.high_watermark == 2


async def test_what_was_cut_before_it_was_written_counts_as_fetched_alone(lab: Lab) -> None:
    log, replica = await followed(lab)
    lab[2].workers[replica.log_dir].delay_s = 1
    written = log.append(fetched(batch(0), 1))
    lab[2].logs.truncate(replica, 0)
    assert written is not None
    await written
    assert (replica.partition.log_end_offset, replica.partition.high_watermark) == (0, 0)
    assert lab[2].metrics.counters.replication_bytes_in.value == len(batch(0))


async def test_records_of_an_epoch_that_cannot_be_theirs_are_refused_while_others_are_there(
    lab: Lab,
) -> None:
    await lab.create(replicas=[1, 2])
    await lab.elect(ORDERS, 1, [1, 2])
    await lab[1].produce("a")
    await asyncio.sleep(1)
    lab[1].is_reachable = False
    await asyncio.sleep(1)
    log = FollowedLog(lab[2].state, lab[2].logs, lab[2].replica())
    for epoch in (0, 2):
        with pytest.raises(KafkaError) as refused:
            log.append(fetched(batch(1, epoch=epoch)))
        assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    written = log.append(fetched(batch(1, epoch=0), 2, 1))  # The leader has deleted the others.
    assert written is not None
    await written
    assert lab[2].replica().partition.log_end_offset == 2


async def test_a_gap_that_was_seen_stays_known_over_an_answer_without_records(lab: Lab) -> None:
    log, replica = await followed(lab, count=1)
    assert log.append(fetched(batch(3))) is None
    assert log.append(fetched()) is None
    written = log.append(fetched(batch(3)))
    assert written is not None
    await written
    assert replica.partition.log_end_offset == 4


async def test_an_empty_log_begins_anew_at_the_batch_that_its_start_lies_in(lab: Lab) -> None:
    log, replica = await followed(lab)
    await lab[2].logs.restart_at(replica, 2)
    assert log.position().fetch_offset == 2
    emptied = log.append(fetched(batch(1, b"a", b"b", b"c"), 4, 2))
    assert emptied is not None
    await emptied
    assert replica.partition.next_offset == 1
    assert log.position() == FetchPosition(2, 1, -1)
    written = log.append(fetched(batch(1, b"a", b"b", b"c"), 4, 2))
    assert written is not None
    await written
    assert log.position() == FetchPosition(4, 2, 0)


async def test_a_range_that_was_asked_for_ends_the_wait_for_such_a_batch(lab: Lab) -> None:
    log, replica = await followed(lab)
    await lab[2].logs.restart_at(replica, 2)
    emptied = log.append(fetched(batch(1, b"a", b"b"), 3, 2))
    assert emptied is not None
    await emptied
    assert log.position().fetch_offset == 2
    assert log.return_to_range(0, 9) is None
    assert log.position().fetch_offset == 1


async def test_a_log_that_does_not_part_from_the_leaders_is_not_cut(lab: Lab) -> None:
    log, replica = await followed(lab, count=3)
    for answer in (EpochEnd(0, 3), EpochEnd(0, 9)):
        assert log.reconcile(answer) == (None, True)
    assert replica.partition.next_offset == 3
    cut, is_finished = log.reconcile(EpochEnd(0, 2))
    assert (cut is not None, is_finished) == (True, True)
    assert replica.partition.next_offset == 2


async def test_a_log_of_an_epoch_that_its_leader_does_not_know_is_cut_to_what_is_committed(
    lab: Lab,
) -> None:
    log, replica = await followed(lab, count=3)
    replica.partition.high_watermark = 1
    cut, is_finished = log.reconcile(EpochEnd(-1, -1))
    assert (cut is not None, is_finished) == (True, True)
    assert replica.partition.next_offset == 1


async def test_a_log_goes_to_the_end_or_the_start_of_its_leaders_or_stays(lab: Lab) -> None:
    log, replica = await followed(lab, count=3)
    for start, end in ((0, 3), (3, 3), (0, 9)):
        assert log.return_to_range(start, end) is None
    assert log.return_to_range(0, 2) is not None
    assert replica.partition.next_offset == 2
    unwritable = replica.log.unwritable
    assert unwritable is not None
    await asyncio.shield(unwritable)
    assert log.return_to_range(7, 9) is not None
    assert (replica.partition.log_start_offset, replica.partition.next_offset) == (7, 7)


async def test_a_compacted_log_begins_anew_where_the_first_of_both_begins(lab: Lab) -> None:
    """The leader may know of nothing as far as this log begins."""
    log, replica = await followed(lab, count=3)
    replica.compaction = compaction_rules()
    lab[2].state.cleaner_offsets.put(replica.log_dir, ORDERS, 3)
    lab[2].logs.raise_log_start(replica, 1)
    assert log.return_to_range(0, 2) is not None
    assert (replica.partition.log_start_offset, replica.partition.next_offset) == (1, 1)
    await replica.log.queue.submit("settle", lambda: None)
    lab[2].state.cleaner_offsets.put(replica.log_dir, ORDERS, 3)
    assert log.return_to_range(0, 0) is not None
    assert (replica.partition.log_start_offset, replica.partition.next_offset) == (0, 0)


# Who is fetched from whom.


async def test_a_follower_without_a_leader_or_with_itself_for_one_is_fetched_from_nobody(
    lab: Lab,
) -> None:
    await lab.create()
    following, replica = lab[2].following, lab[2].replica()
    assert following.source_ids == [1]
    for leader_id in (-1, 2):
        replica.partition.leader_id = leader_id
        following.follow(replica)
        following.prune()
        assert following.source_ids == []
        assert replica.tell_log_start is None
    replica.partition.leader_id = 0
    following.follow(replica)
    assert following.source_ids == [0], "broker 0 may lead, too"


async def test_what_is_followed_no_more_tells_nobody_and_may_be_let_go_twice(lab: Lab) -> None:
    await lab.create()
    await asyncio.sleep(1)
    following, replica = lab[2].following, lab[2].replica()
    assert replica.tell_log_start is not None
    assert following.unsettled == {1: []}
    for _ in range(2):
        following.unfollow(replica)
        assert replica.tell_log_start is None
    following.prune()
    assert following.source_ids == []


async def test_a_stopped_follower_asks_nobody_and_follows_nobody_any_more(lab: Lab) -> None:
    await lab.create()
    await lab.create(OTHER)
    following = lab[2].following
    lab[2].is_reachable = True
    following.stop()
    await asyncio.sleep(0)
    count = len([own for own, _, _ in lab.requests if own == 2])
    await asyncio.sleep(5)
    assert len([own for own, _, _ in lab.requests if own == 2]) == count
    assert (following.source_ids, following.failed_count) == ([], 0)
    following.unfollow(lab[2].replica())
    following.follow(lab[2].replica())
    assert following.source_ids == []
