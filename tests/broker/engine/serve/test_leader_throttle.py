"""The leader's replication quota (KIP-73)."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.replication_quota import SAMPLE_COUNT, SAMPLE_MS
from broker.engine.types import FetchParams, FetchPart
from protocol.ids import TopicPartition
from protocol.messages.fetch import FetchRequest
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of, topic_id_of
from tests.broker.engine.throttled import (
    BATCH_BYTES,
    RATE,
    left_behind,
    now_s,
    seconds_to_catch_up,
)

OTHER = TopicPartition("other", 0)


def limit(lab: Lab, rate: int = RATE) -> None:
    lab[1].state.quotas.leader.limit_bytes_per_second = rate


def fetches(lab: Lab) -> int:
    return sum(isinstance(request, FetchRequest) for _, _, request in lab.requests)


async def test_a_throttled_replica_catches_up_at_the_rate(lab: Lab) -> None:
    await left_behind(lab, leader_replication_throttled_replicas="0:1")
    limit(lab)
    took_s = await seconds_to_catch_up(lab)
    assert took_s == pytest.approx(200 * BATCH_BYTES / RATE, rel=0.1)
    assert lab[1].disk_bytes() == lab[2].disk_bytes()


async def test_data_on_disk_is_served_at_the_rate_too(lab: Lab) -> None:
    await left_behind(lab, ORDERS, OTHER, leader_replication_throttled_replicas="*")
    lab[1].state.tails.drop_older_than(1 << 62)
    limit(lab)
    took_s = await seconds_to_catch_up(lab, ORDERS, OTHER)
    assert took_s == pytest.approx(400 * BATCH_BYTES / RATE, rel=0.1)


async def test_a_limit_below_a_batch_lets_one_through_whenever_the_samples_are_over(
    lab: Lab,
) -> None:
    """So a reassignment that is held back by a byte per second ends by itself, as in Kafka."""
    await left_behind(lab, batch_count=5, leader_replication_throttled_replicas="*")
    limit(lab, 1)
    took_s = await seconds_to_catch_up(lab)
    assert took_s == pytest.approx(4 * SAMPLE_COUNT * SAMPLE_MS / 1000, rel=0.1)


async def test_nothing_spins_while_a_partition_is_throttled(lab: Lab) -> None:
    await left_behind(lab, leader_replication_throttled_replicas="*")
    limit(lab)
    before = fetches(lab)
    took_s = await seconds_to_catch_up(lab)
    assert fetches(lab) - before < 6 * took_s  # A burst is a quarter of a second's worth.


@pytest.mark.parametrize("named", ["", "0:2", "1:1"])
async def test_replicas_that_are_not_named_are_not_throttled(lab: Lab, named: str) -> None:
    await left_behind(lab, leader_replication_throttled_replicas=named)
    limit(lab)
    assert await seconds_to_catch_up(lab) < 1


async def test_members_of_the_isr_count_but_never_wait(lab: Lab) -> None:
    await lab.create(replicas=[1, 2], leader_replication_throttled_replicas="*")
    limit(lab, 1_000)
    before_s = now_s()
    for _ in range(20):
        await lab[1].produce("x" * BATCH_BYTES)
    assert now_s() - before_s < 1
    assert lab[1].state.quotas.leader.is_exceeded(lab[1].state.now_ms())


async def test_a_throttled_partition_holds_up_no_other(lab: Lab) -> None:
    await left_behind(lab, leader_replication_throttled_replicas="*")
    await lab.create(OTHER, replicas=[1, 2])
    limit(lab, 100)
    lab[2].is_reachable = True
    await lab.tell(ORDERS, OTHER, to=[2])
    await asyncio.sleep(2)
    before_s = now_s()
    for _ in range(5):
        await lab[1].produce("y", tp=OTHER)
    assert now_s() - before_s < 0.1
    assert 2 not in lab.led[ORDERS].isr


async def test_an_answer_waits_for_room_and_is_empty_at_its_deadline(lab: Lab) -> None:
    await left_behind(lab, leader_replication_throttled_replicas="*")
    limit(lab)
    asked = FetchPart(ORDERS, topic_id_of("orders"), 0, 0, -1, -1, 1 << 20)
    quota = lab[1].state.quotas.leader
    params = FetchParams(replica_id=2, max_wait_ms=500, min_bytes=1)
    quota.record(RATE + RATE // 5, lab[1].state.now_ms())
    before_s = now_s()
    (result,) = await lab[1].engine.fetches.fetch(params, [asked])
    assert (offsets_of(result), result.high_watermark) == ([], 200)
    assert now_s() - before_s == pytest.approx(0.5)
    (result,) = await lab[1].engine.fetches.fetch(params._replace(max_wait_ms=5_000), [asked])
    assert len(offsets_of(result)) == quota.burst_bytes // BATCH_BYTES
    assert now_s() - before_s == pytest.approx(1.2, abs=0.01)


async def test_a_limit_that_is_lifted_lets_everything_through(lab: Lab) -> None:
    await left_behind(lab, leader_replication_throttled_replicas="*")
    limit(lab, 1)
    catching_up = lab.begin(seconds_to_catch_up(lab))
    await asyncio.sleep(5)
    assert not catching_up.done()
    lifted_s = now_s()
    limit(lab, 2**63 - 1)
    await catching_up
    assert now_s() - lifted_s < 1.1
