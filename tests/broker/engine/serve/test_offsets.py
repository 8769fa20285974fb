"""ListOffsets and OffsetForLeaderEpoch."""

from __future__ import annotations

import asyncio

import pytest

from broker.engine.types import EpochAnswer, FetchParams, ListedOffset
from protocol.errors import ErrorCode
from tests.broker.engine.fetched import as_follower
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.transactions import write

AT_MS = 1_700_001_000_000
"""The timestamp of every record of the lab."""


async def listed(
    lab: Lab, timestamp: int, *, replica_id: int = -1, epoch: int = -1
) -> ListedOffset:
    return await lab[1].engine.offsets.list_offsets(
        ORDERS, timestamp, current_leader_epoch=epoch, isolation_level=0, replica_id=replica_id
    )


async def test_latest_is_the_high_watermark_for_consumers_and_the_end_for_followers(
    lab: Lab,
) -> None:
    await lab.create()
    await lab[1].produce(["a", "b"])
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab[1].produce("c", timeout_ms=10)
    assert await listed(lab, -1) == (ErrorCode.NONE, -1, 2, 0)
    assert (await listed(lab, -1, replica_id=2)).offset == 3


async def test_a_debugging_consumer_may_ask_any_replica_for_its_own_end(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce(["a", "b"])
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab[1].produce("c", timeout_ms=10)
    ends: list[tuple[int, int]] = []
    for node in lab.nodes.values():
        answer = await node.engine.offsets.list_offsets(
            ORDERS, -1, current_leader_epoch=-1, isolation_level=0, replica_id=-2
        )
        ends.append((answer.error_code, answer.offset))
    assert ends == [(0, 3), (0, 2), (0, 2)]


async def test_records_below_the_log_start_are_not_found(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b", "c"])
    alone[1].logs.raise_log_start(alone[1].replica(), 2)
    assert (await listed(alone, -2)).offset == 2
    assert (await listed(alone, -3)).offset == 2
    assert (await listed(alone, AT_MS)).offset == 2


async def test_the_start_and_the_special_timestamps(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b"])
    assert await listed(alone, -2) == (ErrorCode.NONE, -1, 0, 0)
    assert (await listed(alone, -4)).offset == 0
    assert (await listed(alone, -5)).offset == -1
    assert (await listed(alone, -6)).offset == -1
    assert await listed(alone, -3) == (ErrorCode.NONE, AT_MS, 0, 0)


async def test_a_timestamp_finds_the_first_record_that_is_not_older(alone: Lab) -> None:
    await alone.create(replicas=[1])
    assert (await listed(alone, AT_MS)).offset == -1
    await alone[1].produce(["a", "b"])
    assert await listed(alone, AT_MS) == (ErrorCode.NONE, AT_MS, 0, 0)
    assert (await listed(alone, AT_MS + 1)).offset == -1


async def test_what_is_not_committed_is_not_found_by_consumers(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab[1].produce("a", timeout_ms=10)
    assert (await listed(lab, AT_MS)).offset == -1
    assert (await listed(lab, AT_MS, replica_id=2)).offset == 0


async def test_right_after_an_election_the_end_is_not_available(lab: Lab) -> None:
    """KIP-207: the high watermark may still be behind what the old leader had told."""
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab[1].produce("a", timeout_ms=10)
    lab.led[ORDERS].leader_epoch += 1
    await lab.tell(ORDERS, to=[1])
    assert (await listed(lab, -1)).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert (await listed(lab, AT_MS)).error_code == ErrorCode.OFFSET_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(0, ErrorCode.FENCED_LEADER_EPOCH), (9, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
async def test_other_leader_epochs_are_refused(alone: Lab, epoch: int, code: ErrorCode) -> None:
    await alone.create(replicas=[1])
    await alone.elect(ORDERS, 1, [1])
    assert (await listed(alone, -1, epoch=epoch)).error_code == code
    answer = alone[1].engine.offsets.offset_for_leader_epoch(
        ORDERS, current_leader_epoch=epoch, leader_epoch=0, replica_id=-1
    )
    assert answer == (code, -1, -1)


async def test_a_broken_disk_in_a_search_is_a_storage_error(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    alone[1].disks[await alone[1].dir_of() or ""].set_fault("eio")
    assert (await listed(alone, AT_MS)).error_code == ErrorCode.KAFKA_STORAGE_ERROR


async def test_leader_epochs_end_where_the_next_one_begins(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b"])
    await alone.elect(ORDERS, 1, [1])
    await alone[1].produce("c")

    def end_of(epoch: int) -> tuple[int, int]:
        answer = alone[1].engine.offsets.offset_for_leader_epoch(
            ORDERS, current_leader_epoch=-1, leader_epoch=epoch, replica_id=-1
        )
        return answer.leader_epoch, answer.end_offset

    assert [end_of(epoch) for epoch in (0, 1, 2)] == [(0, 2), (1, 3), (-1, -1)]


async def test_offsets_by_time_end_at_the_last_stable_one(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await write(alone[1], 1, 0)
    found = [
        await alone[1].engine.offsets.list_offsets(
            ORDERS, 0, current_leader_epoch=-1, isolation_level=level, replica_id=-1
        )
        for level in (0, 1)
    ]
    assert [listed.offset for listed in found] == [0, -1]


async def test_a_time_is_not_looked_for_in_what_is_no_batch(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a", acks=1)
    alone[1].state.tails.drop_older_than(1 << 62)
    disk = alone[1].disks[await alone[1].dir_of() or ""]
    disk.write_file("orders-0/00000000000000000000.log", bytes(200))
    assert (await listed(alone, AT_MS)).error_code == ErrorCode.CORRUPT_MESSAGE


async def test_of_a_partition_that_is_not_here_no_offset_is_told(lab: Lab) -> None:
    await lab.create(replicas=[1])
    for node, tp, code in (
        (lab[2], ORDERS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (lab[1], ORDERS._replace(topic="nothing"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        offsets = node.engine.offsets
        listing = await offsets.list_offsets(
            tp, -1, current_leader_epoch=-1, isolation_level=0, replica_id=-1
        )
        assert listing == ListedOffset(code)
        answer = offsets.offset_for_leader_epoch(
            tp, current_leader_epoch=-1, leader_epoch=0, replica_id=-1
        )
        assert answer == EpochAnswer(code)


async def test_only_a_debugging_consumer_is_told_the_end_of_a_follower(lab: Lab) -> None:
    await lab.create()
    codes = {
        replica_id: (
            await lab[2].engine.offsets.list_offsets(
                ORDERS, -1, current_leader_epoch=-1, isolation_level=0, replica_id=replica_id
            )
        ).error_code
        for replica_id in (-2, -1, 3)
    }
    refused = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert codes == {-2: ErrorCode.NONE, -1: refused, 3: refused}


async def test_the_latest_timestamp_is_that_of_the_newest_record(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b"])
    await alone[1].produce("c")
    found = await listed(alone, -3)
    assert (found.error_code, found.timestamp) == (ErrorCode.NONE, AT_MS)
    nothing = await listed(alone, AT_MS + 1)
    assert nothing == ListedOffset(ErrorCode.NONE), "which is no error"


@pytest.mark.parametrize("follower", [0, 8])
async def test_who_asks_for_epochs_has_its_waiting_fetch_answered(
    alone: Lab, follower: int
) -> None:
    await alone.create(replicas=[1])
    alone.led[ORDERS].replicas = [1, follower]
    alone.led[ORDERS].leader_epoch = 1
    await alone.tell(ORDERS, to=[1])
    params = FetchParams(replica_id=follower, max_wait_ms=5_000, min_bytes=1)
    waiting = alone.begin(alone[1].engine.fetches.fetch(params, [as_follower(0, epoch=1)]))
    await asyncio.sleep(0.1)

    async def ask(replica_id: int) -> None:
        alone[1].engine.offsets.offset_for_leader_epoch(
            ORDERS, current_leader_epoch=1, leader_epoch=0, replica_id=replica_id
        )
        await asyncio.sleep(0.01)

    await ask(-1)
    assert not waiting.done()
    await ask(follower)
    assert waiting.done()


async def test_a_leader_whose_high_watermark_is_where_its_epoch_begins_tells_its_end(
    lab: Lab,
) -> None:
    await lab.create()
    await lab[1].produce(["a", "b"])
    await asyncio.sleep(1)
    await lab.elect(ORDERS, 1, [1, 2, 3])
    partition = lab[1].replica().partition
    assert partition.leader_epoch_start_offset == partition.high_watermark == 2
    assert await listed(lab, -1) == (ErrorCode.NONE, -1, 2, 1)
