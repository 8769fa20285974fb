# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from protocol.configs.types import ResourceType
from protocol.ids import TopicPartition
from simulation.core.history import Function, Kind, Poll, Send
from simulation.workload.aiokafka_clients import (
    GIVES_UP_S,
    STUCK_S,
    UNTOLD,
    AiokafkaConsumerWorkload,
    AiokafkaProducerWorkload,
)
from simulation.workload.clients import addresses_of
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.producer import ProducerSettings
from simulation.world.foreign_clocks import foreign_clocks
from tests.simulation.workload.lab import TP, Lab
from tests.simulation.world.worlds import sim_loop


def _producer(lab: Lab, settings: ProducerSettings) -> AiokafkaProducerWorkload:
    addresses = addresses_of(lab.cluster.spec)
    return AiokafkaProducerWorkload(3, addresses, "writer", lab.history, settings)


def _consumer(lab: Lab) -> AiokafkaConsumerWorkload:
    addresses = addresses_of(lab.cluster.spec)
    settings = ConsumerSettings(topic="orders")
    return AiokafkaConsumerWorkload(addresses, "reader", lab.history, settings)


def _sends(lab: Lab) -> list[Send]:
    values = [operation.value for operation in lab.ended(Function.SEND)]
    return [value for value in values if isinstance(value, Send)]


def _read_offsets(lab: Lab) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for operation in lab.ended(Function.POLL):
        poll = operation.value
        assert isinstance(poll, Poll)
        for read in poll.reads:
            found.setdefault(read.tp.partition, []).extend(offset for offset, _ in read.records)
    return found


@pytest.mark.parametrize("acks", [-1, 1])
async def test_what_it_writes_is_written_down(lab: Lab, acks: int) -> None:
    await lab.create(partitions=2, replication_factor=3)
    settings = ProducerSettings(topic="orders", acks=acks, records_max=10, batch_records=2)
    with foreign_clocks(sim_loop()):
        await _producer(lab, settings).run()

    sends = sorted(_sends(lab), key=lambda send: send.records)
    assert [send.records[0] for send in sends] == [3_000_000_000 + n for n in range(10)]
    assert [(send.tp.partition, send.base_offset) for send in sends] == [
        (n % 2, n // 2) for n in range(10)
    ]
    assert {send.producer for send in sends} == {None}


async def test_with_acks_0_nobody_tells_the_offset(lab: Lab) -> None:
    await lab.create()
    with foreign_clocks(sim_loop()):
        await _producer(lab, ProducerSettings(topic="orders", acks=0, records_max=3)).run()

    assert [send.base_offset for send in _sends(lab)] == [-1, -1, -1]


async def test_an_idempotent_one_survives_the_death_of_a_leader(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    settings = ProducerSettings(topic="orders", is_idempotent=True, interval_ms=20)
    producer, consumer = _producer(lab, settings), _consumer(lab)
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            group.create_task(producer.run())
            group.create_task(consumer.run())
            await asyncio.sleep(2)
            leader = (await lab.client.view(["orders"])).by_partition[_sends(lab)[0].tp].leader
            lab.cluster.brokers[leader].kill()
            await asyncio.sleep(15)
            producer.stop()
            await asyncio.sleep(5)
            consumer.stop()

    offsets = sorted(send.base_offset for send in _sends(lab))
    assert len(offsets) > 500
    assert offsets == list(range(len(offsets)))
    assert {send.producer for send in _sends(lab)} == {UNTOLD}
    assert _read_offsets(lab) == {0: offsets}
    assert consumer.progress.read == producer.progress.acknowledged == len(offsets)
    assert lab.ended(Function.SEND, Kind.INFO) == []


async def test_a_record_too_large_certainly_failed(lab: Lab) -> None:
    await lab.create()
    settings = ProducerSettings(topic="orders", records_max=1, record_bytes=2_000_000)
    with foreign_clocks(sim_loop()):
        await _producer(lab, settings).run()

    (failed,) = lab.ended(Function.SEND, Kind.FAIL)
    assert failed.error in ("MESSAGE_TOO_LARGE", "RecordTooLargeError")


async def test_both_wait_for_a_cluster_and_end_when_it_never_comes(lab: Lab) -> None:
    for broker in lab.cluster.brokers.values():
        broker.kill()
    producer = _producer(lab, ProducerSettings(topic="orders"))
    consumer = _consumer(lab)
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            group.create_task(producer.run())
            group.create_task(consumer.run())
            await asyncio.sleep(3)
            producer.stop()
            consumer.stop()

    assert list(producer.progress.errors) == ["KafkaConnectionError"]
    assert list(consumer.progress.errors) == ["KafkaConnectionError"]


async def test_a_producer_waits_for_a_topic_that_does_not_exist_yet(lab: Lab) -> None:
    settings = ProducerSettings(topic="orders", records_max=1)
    lab.cluster.controller.kill()  # nobody makes it by himself
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            group.create_task(_producer(lab, settings).run())
            await asyncio.sleep(100)  # longer than it asks for metadata
            assert _sends(lab) == []
            lab.cluster.controller.start()

    assert len(_sends(lab)) == 1


async def test_a_producer_that_ends_does_not_wait_for_ever_for_a_cluster_that_refuses(
    lab: Lab,
) -> None:
    await lab.create(replication_factor=3)
    producer = _producer(lab, ProducerSettings(topic="orders", is_idempotent=True, interval_ms=20))
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            group.create_task(producer.run())
            await asyncio.sleep(1)
            needs = {"min.insync.replicas": "3"}
            await lab.admin.alter_configs(ResourceType.TOPIC, "orders", needs)
            follower = (await lab.client.view(["orders"])).by_partition[TP].replicas[-1]
            lab.cluster.brokers[follower].kill()
            await asyncio.sleep(15)
            stopped_s = asyncio.get_running_loop().time()
            producer.stop()

    assert GIVES_UP_S < asyncio.get_running_loop().time() - stopped_s < GIVES_UP_S + 60
    assert lab.ended(Function.SEND, Kind.INFO)


async def test_a_producer_without_answers_does_not_wait_for_ever_for_who_has_gone_without_a_word(
    lab: Lab,
) -> None:
    """Its connection takes nothing more, and nobody says so (seeds 1053567, 1062276)."""
    await lab.create()
    settings = ProducerSettings(topic="orders", acks=0, interval_ms=20, record_bytes=50_000)
    producer = _producer(lab, settings)
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            group.create_task(producer.run())
            await asyncio.sleep(1)
            sim_loop().network.half_open("*", "broker-*")
            await asyncio.sleep(10)
            stopped_s = asyncio.get_running_loop().time()
            producer.stop()

    assert STUCK_S <= asyncio.get_running_loop().time() - stopped_s < STUCK_S + 60
    assert lab.ended(Function.SEND, Kind.INFO)


async def test_a_producer_that_ends_does_not_wait_for_a_partition_that_is_gone(lab: Lab) -> None:
    await lab.create(partitions=2)
    producer = _producer(lab, ProducerSettings(topic="orders", interval_ms=20))
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            running = group.create_task(producer.run())
            await asyncio.sleep(1)
            leader = (
                (await lab.client.view(["orders"])).by_partition[TopicPartition("orders", 1)].leader
            )
            lab.cluster.brokers[leader].kill()
            await asyncio.sleep(1)
            await lab.admin.delete_topic("orders")
            lab.cluster.brokers[leader].start()
            await asyncio.sleep(1)
            producer.stop()
            await asyncio.sleep(1)
            assert running.done()

    assert list(producer.progress.errors) == ["NOT_LEADER_OR_FOLLOWER"]
    assert lab.ended(Function.SEND, Kind.INFO)


class Counted(AiokafkaConsumerWorkload):
    """Keeps the library's consumers that it began."""

    def __init__(self, lab: Lab) -> None:
        settings = ConsumerSettings(topic="orders")
        super().__init__(addresses_of(lab.cluster.spec), "reader", lab.history, settings)
        self.begun: list[Any] = []

    def _subscribed(self) -> Any:
        self.begun.append(super()._subscribed())
        return self.begun[-1]


async def test_a_consumer_whose_fetcher_ended_is_begun_anew(lab: Lab) -> None:
    await lab.create()
    reader = Counted(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(reader.run())
        await asyncio.sleep(2)
        reader.begun[0]._fetcher._fetch_task.cancel()
        await _producer(lab, ProducerSettings(topic="orders", records_max=20)).run()
        await asyncio.sleep(5)
        reader.stop()

    assert len(reader.begun) == 2
    assert len(_read_offsets(lab)[0]) == 20
