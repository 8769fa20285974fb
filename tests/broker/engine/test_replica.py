"""A hosted replica: its settings, and whom it wakes."""

from __future__ import annotations

from broker.core.delayed import DelayedFetch, DelayedProduce
from protocol.errors import ErrorCode
from tests.broker.engine.lab import Lab


class Calls:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


async def test_settings_reach_limits_partition_and_log(alone: Lab) -> None:
    await alone.create(
        replicas=[1],
        message_timestamp_type="LogAppendTime",
        min_insync_replicas="3",
        segment_bytes="2000",
        file_delete_delay_ms="7",
    )
    replica = alone[1].replica()
    assert replica.limits.is_log_append_time
    assert replica.partition.min_insync_replicas == 3
    assert replica.log.files.config.segment_bytes == 2_000
    assert replica.delete_delay_ms == 7


async def test_a_topic_says_which_of_its_replicas_are_throttled(lab: Lab) -> None:
    await lab.create(
        leader_replication_throttled_replicas="*",
        follower_replication_throttled_replicas="0:2,1:1,0:3",
    )
    flags = [
        (node.replica().is_leader_throttled, node.replica().is_follower_throttled)
        for node in lab.nodes.values()
    ]
    assert flags == [(True, False), (True, True), (True, True)]


async def test_an_ended_replica_answers_all_and_keeps_no_batches(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    replica = alone[1].replica()
    woken = Calls()
    produces = [DelayedProduce(1, Calls()) for _ in range(2)]
    replica.written.add(9, produces[0], 0)
    replica.replicated.add(9, produces[1], 0)
    replica.consumers.add(DelayedFetch(woken), 0)
    replica.followers.add(DelayedFetch(woken), 0)
    token = replica.log.token
    replica.end(ErrorCode.KAFKA_STORAGE_ERROR)
    assert [delayed.codes for delayed in produces] == [[ErrorCode.KAFKA_STORAGE_ERROR]] * 2
    assert (woken.count, replica.tail.size_bytes) == (2, 0)
    assert not replica.log.is_still(token)


async def test_a_raised_high_watermark_settles_what_it_reaches(alone: Lab) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    reached, waits = DelayedProduce(1, Calls()), DelayedProduce(1, Calls())
    replica.replicated.add(3, reached, 0)
    replica.replicated.add(4, waits, 0)
    replica.partition.high_watermark = 3
    replica.on_high_watermark()
    assert (reached.codes, waits.codes) == ([ErrorCode.NONE], [None])


async def test_it_says_where_its_logs_are(alone: Lab) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    assert (replica.log_dir, replica.future_log_dir, replica.leader_epoch) == (
        alone[1].paths[0],
        None,
        0,
    )
    assert replica.partition.is_settled
