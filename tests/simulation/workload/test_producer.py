from __future__ import annotations

import asyncio

import pytest

from protocol.records.batch import read_batch_header
from simulation.core.history import Function, Kind, Send
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.log_sampler import sample_logs
from tests.simulation.workload.lab import TP, Lab


def _sends(lab: Lab, kind: Kind = Kind.OK) -> list[Send]:
    values = [operation.value for operation in lab.ended(Function.SEND, kind)]
    return [value for value in values if isinstance(value, Send)]


def _producer(lab: Lab, **settings: object) -> ProducerWorkload:
    shape = ProducerSettings(topic="orders", **settings)  # type: ignore[arg-type]
    return ProducerWorkload(3, lab.new_client("writer"), lab.history, shape, lab.clock)


@pytest.mark.parametrize("acks", [-1, 1, 0])
async def test_records_go_to_all_partitions_in_turn(lab: Lab, acks: int) -> None:
    await lab.create(partitions=2, replication_factor=3)
    producer = _producer(lab, acks=acks, records_max=10, batch_records=2)

    await producer.run()

    sends = _sends(lab)
    assert [send.tp.partition for send in sends] == [0, 1, 0, 1, 0]
    assert [record for send in sends for record in send.records] == [
        3_000_000_000 + number for number in range(10)
    ]
    assert producer.progress.acknowledged == 10
    assert producer.progress.errors == {}
    assert [send.base_offset for send in sends] == ([-1] * 5 if acks == 0 else [0, 0, 2, 2, 4])


async def test_it_writes_at_its_rate_until_it_is_stopped(lab: Lab) -> None:
    await lab.create()
    producer = _producer(lab, interval_ms=100)
    async with asyncio.TaskGroup() as group:
        group.create_task(producer.run())
        await asyncio.sleep(1.05)
        producer.stop()

    assert len(_sends(lab)) == 11


async def test_it_writes_a_tenth_when_its_story_lasts(lab: Lab) -> None:
    await lab.create()
    producer = _producer(lab, interval_ms=100, slower_after_ms=1_000)
    async with asyncio.TaskGroup() as group:
        group.create_task(producer.run())
        await asyncio.sleep(4.5)
        producer.stop()

    assert len(_sends(lab)) == 10 + 4


async def test_an_idempotent_one_numbers_its_batches(lab: Lab) -> None:
    await lab.create(partitions=2)
    await _producer(lab, is_idempotent=True, records_max=6, batch_records=1).run()

    numbers = [send.producer for send in _sends(lab)]

    assert len({each.producer_id for each in numbers if each}) == 1
    assert [each.base_sequence for each in numbers if each] == [0, 0, 1, 1, 2, 2]


async def test_it_goes_on_with_the_next_leader_when_one_dies(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    producer = _producer(lab, is_idempotent=True, interval_ms=20, in_flight_max=5)
    async with asyncio.TaskGroup() as group:
        group.create_task(producer.run())
        await asyncio.sleep(1)
        leader = _sends(lab)[-1].broker
        lab.cluster.brokers[leader].kill()
        await asyncio.sleep(10)
        producer.stop()

    assert _sends(lab)[-1].broker != leader
    assert _sends(lab, Kind.FAIL) == []
    assert _sends(lab, Kind.INFO) == []
    assert producer.progress.errors
    made = [record for send in _sends(lab) for record in send.records]
    assert made == sorted(made)
    offsets = [send.base_offset for send in _sends(lab)]
    assert offsets == list(range(len(offsets)))


async def test_what_was_never_sent_fails_after_the_delivery_timeout(lab: Lab) -> None:
    await lab.create(replication_factor=1)
    producer = _producer(lab, records_max=3, delivery_timeout_ms=2_000)
    for broker in lab.cluster.brokers.values():
        broker.kill()

    async with asyncio.TaskGroup() as group:
        group.create_task(producer.run())
        await asyncio.sleep(5)
        producer.stop()

    assert _sends(lab) == []


async def test_a_batch_too_large_fails_at_once(lab: Lab) -> None:
    await lab.create()
    producer = _producer(lab, records_max=1, record_bytes=2_000_000)

    await producer.run()

    (failed,) = lab.ended(Function.SEND, Kind.FAIL)
    assert failed.error == "MESSAGE_TOO_LARGE"
    assert producer.progress.errors == {"MESSAGE_TOO_LARGE": 1}


async def test_records_bear_the_time_of_day(lab: Lab) -> None:
    """Without it brokers take them for ages old, and forget their producers at the next start."""
    await lab.create()
    before_ms = lab.clock.now_ms()
    await _producer(lab, records_max=1).run()

    (log,) = sample_logs(lab.cluster)
    data = (
        lab.cluster.brokers[log.broker]
        .drives[log.log_dir]
        .disk.memory.read_file(f"{TP}/{0:020d}.log")
    )
    assert before_ms <= read_batch_header(data).max_timestamp <= lab.clock.now_ms()
