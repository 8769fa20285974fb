"""What is told about hosted logs: DescribeLogDirs, gauges, metric rows."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.future_log import MoveEvent
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition, uuid_text
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, records
from tests.broker.engine.moved import begin, copied, filled, stopped
from tests.broker.engine.transactions import three_transactions

OTHER = TopicPartition("other", 0)


@pytest.mark.scenario(111)
async def test_each_configured_log_dir_is_described_with_its_sizes(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone.create(OTHER, replicas=[1])
    await alone[1].produce("a")
    node = alone[1]
    node.log_dirs[node.paths[2]].fail("test", OSError("broken"))
    first, second, failed = node.engine.describe.log_dirs(None)
    assert [one.path for one in (first, second, failed)] == node.paths
    (replica,) = first.replicas
    assert (replica.tp, replica.offset_lag, replica.is_future) == (ORDERS, 0, False)
    assert replica.size_bytes == len(records("a"))
    assert second.replicas[0].tp == OTHER
    assert first.total_bytes > first.usable_bytes > 0
    assert (failed.error_code, failed.usable_bytes) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)


@pytest.mark.kafka_bug("KAFKA-16807")
@pytest.mark.scenario(112, 115, 120)
async def test_the_filter_names_partitions_and_null_means_all(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone.create(OTHER, replicas=[1])

    async def described(topics: dict[str, list[int]] | None) -> list[TopicPartition]:
        found = alone[1].engine.describe.log_dirs(topics)
        assert [one.error_code for one in found] == [ErrorCode.NONE] * 3
        return [replica.tp for one in found for replica in one.replicas]

    assert await described(None) == [ORDERS, OTHER]
    assert await described({"other": [0, 7]}) == [OTHER]
    assert await described({"nothing": [0]}) == await described({}) == []


async def test_what_a_filter_names_is_looked_through_once_and_not_for_every_log(alone: Lab) -> None:
    class Looked(list[int]):
        def __contains__(self, key: object) -> bool:
            raise AssertionError(f"a list is searched for {key}")

    await alone.create(replicas=[1])
    log_dirs = alone[1].engine.describe.log_dirs({"orders": Looked(range(100))})
    assert [replica.tp for one in log_dirs for replica in one.replicas] == [ORDERS]


async def test_a_log_that_waits_for_its_first_leader_and_isr_has_no_lag(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = await alone.restart(1)
    (replica,) = (node.engine.describe.log_dirs(None))[0].replicas
    assert (replica.tp, replica.offset_lag) == (ORDERS, -1)
    assert node.engine.describe.replica_rows(123, 50) == []


async def test_the_last_copies_of_a_log_dir_are_those_that_lead_alone(lab: Lab) -> None:
    await lab.create()
    path = await lab[1].dir_of()
    assert path is not None
    assert lab[1].engine.describe.last_copies(path) == []
    await lab.elect(ORDERS, 1, [1])
    assert lab[1].engine.describe.last_copies(path) == [ORDERS]
    assert (
        lab[1].engine.describe.last_copies(next(one for one in lab[1].paths if one != path)) == []
    )
    follower = await lab[2].dir_of()
    assert lab[2].engine.describe.last_copies(str(follower)) == []


async def test_a_description_does_not_wait_for_a_hung_disk(alone: Lab) -> None:
    await alone.create(replicas=[1])
    for worker in alone[1].workers.values():
        worker.hangs = True
    alone.begin(alone[1].produce("a"))
    assert len(alone[1].engine.describe.log_dirs(None)) == 3


async def test_gauges_count_leaders_and_what_they_miss(lab: Lab) -> None:
    await lab.create(min_insync_replicas="2")
    await lab.create(OTHER)
    await lab.elect(ORDERS, 1, [1])
    gauges = lab[1].engine.gauges()
    assert (gauges.partition_count, gauges.leader_count) == (2, 2)
    assert (gauges.under_replicated_count, gauges.under_min_isr_count) == (1, 1)
    assert (gauges.move_count, gauges.failed_fetch_count, gauges.failed_move_count) == (0, 0, 0)


async def test_rows_sum_what_each_log_dir_holds(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    first, second = lab[1].engine.describe.log_dir_rows(123, 50)
    assert (first.at_ms, first.replica_count, first.used_bytes) == (123, 1, len(records("a")))
    assert (first.append_count_total, second.append_count_total) == (1, 0)
    (row,) = lab[1].engine.describe.replica_rows(123, 50)
    assert (row.is_leader, row.isr_count, row.log_end_offset, row.lag) == (True, 3, 1, 0)
    (row,) = lab[2].engine.describe.replica_rows(123, 50)
    assert (row.is_leader, row.isr_count) == (False, -1)


async def test_a_future_log_has_a_row_of_its_own(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    alone[1].set_move_limit(1)
    alone[1].state.quotas.moves.record(1 << 40, alone[1].state.now_ms())
    await alone[1].engine.moves.alter([(ORDERS, alone[1].paths[1])])
    current, future = alone[1].engine.describe.replica_rows(1, 1)
    assert (current.is_future, future.is_future, future.lag) == (False, True, 1)
    assert [row.future_count for row in alone[1].engine.describe.log_dir_rows(1, 1)] == [0, 1, 0]


async def test_cordoned_log_dirs_are_shown_and_passed_over() -> None:
    async with Lab.running(broker_count=1, dir_count=2, cordoned_log_dirs="/b1/d1") as lab:
        for number in range(3):
            await lab.create(TopicPartition("orders", number), replicas=[1])
        cordoned, used = lab[1].engine.describe.log_dirs(None)
        assert (cordoned.is_cordoned, len(cordoned.replicas)) == (True, 0)
        assert (used.is_cordoned, len(used.replicas)) == (False, 3)


async def test_a_hanging_transaction_is_seen_in_its_producer(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await three_transactions(alone[1])
    open_since = {
        entry.producer_id: entry.transaction_first_offset
        for entry in alone[1].engine.describe.producers(ORDERS)
    }
    assert open_since == {1: -1, 2: -1, 3: 6, 9: -1}


async def test_gauges_count_producers_and_late_transactions(lab: Lab) -> None:
    await lab.create()
    lab[1].topic_configs[ORDERS.topic]["message.timestamp.type"] = "LogAppendTime"
    lab[1].engine.topic_configs_changed([ORDERS.topic])
    await three_transactions(lab[1])
    gauges = lab[1].engine.gauges()
    assert (gauges.producer_id_count, gauges.late_transaction_count) == (4, 0)
    await asyncio.sleep(1_201)
    assert lab[1].engine.gauges().late_transaction_count == 1
    assert lab[2].engine.gauges().late_transaction_count == 0


async def test_producers_of_a_partition_that_is_not_here_are_not_told(lab: Lab) -> None:
    await lab.create(replicas=[1])
    assert lab[1].engine.describe.producers(ORDERS) == []
    with pytest.raises(KafkaError) as refused:
        lab[2].engine.describe.producers(ORDERS)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_gauges_count_moves_that_failed_apart_from_those_under_way(alone: Lab) -> None:
    node = await filled(alone)
    stopped(node)
    await begin(node, node.paths[1])
    await asyncio.sleep(0.1)
    future = node.replica().future
    assert future is not None
    gauges = node.engine.gauges()
    assert (gauges.move_count, gauges.failed_move_count) == (1, 0)
    future.move.on(MoveEvent.ERROR)
    assert node.engine.gauges().failed_move_count == 1


async def test_rows_of_log_dirs_tell_their_ids_once_they_are_known(alone: Lab) -> None:
    log_dir = alone[1].log_dirs[alone[1].paths[0]]
    (row, *_) = alone[1].engine.describe.log_dir_rows(1, 1)
    assert row.directory_id == uuid_text(log_dir.directory_id)
    log_dir.directory_id = ZERO_UUID
    (row, *_) = alone[1].engine.describe.log_dir_rows(1, 1)
    assert row.directory_id == ""


async def test_only_a_leader_below_its_minimum_isr_has_a_row_that_says_so(lab: Lab) -> None:
    await lab.create(min_insync_replicas="2")

    def are_under_min_isr() -> list[bool]:
        return [
            row.is_under_min_isr
            for number in (1, 2)
            for row in lab[number].engine.describe.replica_rows(1, 1)
        ]

    assert are_under_min_isr() == [False, False]
    await lab.elect(ORDERS, 1, [1])
    assert are_under_min_isr() == [True, False]


async def test_a_lag_is_what_a_copy_has_not_got_or_what_is_committed_and_not_here(
    alone: Lab,
) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    future = node.replica().future
    assert future is not None
    copied(future).next_offset = copied(future).log_end_offset = 3
    partition = node.replica().partition
    lags = [
        [row.lag for row in node.engine.describe.replica_rows(1, 1)]
        for partition.high_watermark in (15, 20, 22)
    ]
    assert lags == [[0, 17], [0, 17], [2, 17]]
    copied(future).next_offset = copied(future).log_end_offset = 0
    partition.high_watermark = 20
