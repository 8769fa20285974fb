from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from protocol.configs.broker import RACK_AWARE_SELECTOR
from protocol.errors import ErrorCode
from protocol.faults.model import DiskMode, FileClass
from protocol.ids import TopicPartition
from protocol.messages.fetch import FetchRequest
from protocol.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from simulation.core.history import Function, Kind, Poll, Read, Send
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.workload.consumer import ConsumerSettings, ConsumerWorkload
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from tests.simulation.workload.lab import TP, Lab


def _reads(lab: Lab) -> list[Read]:
    polls = [operation.value for operation in lab.ended(Function.POLL)]
    return [read for poll in polls if isinstance(poll, Poll) for read in poll.reads]


def _read_records(lab: Lab) -> dict[TopicPartition, list[tuple[int, int]]]:
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    for read in _reads(lab):
        found.setdefault(read.tp, []).extend(read.records)
    return found


def _written(lab: Lab) -> dict[TopicPartition, list[tuple[int, int]]]:
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    for operation in lab.ended(Function.SEND):
        send = operation.value
        assert isinstance(send, Send)
        offsets = range(send.base_offset, send.base_offset + len(send.records))
        found.setdefault(send.tp, []).extend(zip(offsets, send.records, strict=True))
    return found


def _consumer(lab: Lab) -> ConsumerWorkload:
    return ConsumerWorkload(lab.new_client("reader"), lab.history, ConsumerSettings(topic="orders"))


async def _write(lab: Lab, count: int, *, number: int = 0) -> None:
    settings = ProducerSettings(
        topic="orders", records_max=count, batch_records=3, interval_ms=20, is_idempotent=True
    )
    await ProducerWorkload(number, lab.new_client("writer"), lab.history, settings, lab.clock).run()


async def _write_marker(lab: Lab) -> None:
    """Let the log end with the marker of a transaction of which nothing is known."""
    leader = lab.client.leader(TP)
    assert leader is not None
    topic = WritableTxnMarkerTopic(name=TP.topic, partition_indexes=[TP.partition])
    marker = WritableTxnMarker(
        producer_id=1000, producer_epoch=0, transaction_result=True, topics=[topic]
    )
    answer = await lab.client.ask(leader.broker, WriteTxnMarkersRequest(markers=[marker]), 1)
    (result,) = answer.markers[0].topics[0].partitions
    assert ErrorCode(result.error_code) is ErrorCode.NONE


async def test_it_reads_what_is_there_and_what_comes(lab: Lab) -> None:
    await lab.create(partitions=2, replication_factor=3)
    await _write(lab, 10)
    consumer = _consumer(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await asyncio.sleep(1)
        await _write(lab, 10, number=1)
        await asyncio.sleep(1)
        consumer.stop()

    assert _read_records(lab) == _written(lab)
    assert consumer.progress.read == 20
    assert consumer.progress.errors == {}


async def test_it_begins_before_its_topic_is_there(lab: Lab) -> None:
    consumer = _consumer(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await asyncio.sleep(1)
        await lab.create()
        await _write(lab, 3)
        await asyncio.sleep(3)
        consumer.stop()

    assert consumer.progress.read == 3
    assert list(consumer.progress.errors) == ["UNKNOWN_TOPIC_OR_PARTITION"]


async def test_it_follows_the_leader(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    consumer = _consumer(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await _write(lab, 10)
        leader = lab.client.leader(TP)
        assert leader is not None
        lab.cluster.brokers[leader.broker].kill()
        await _write(lab, 10, number=1)
        await asyncio.sleep(5)
        consumer.stop()

    assert _read_records(lab) == _written(lab)
    assert len({read.leader_epoch for read in _reads(lab) if read.records}) == 2
    assert lab.ended(Function.POLL, Kind.FAIL) != []


async def test_an_old_one_waits_before_what_its_format_cannot_say(lab: Lab) -> None:
    """Seed 788527; here a marker is at the end of the log, which the answer fills up."""
    await lab.create()
    await _write(lab, 3)
    await _write_marker(lab)
    settings = ConsumerSettings(topic="orders", message_format=1)
    consumer = ConsumerWorkload(lab.new_client("reader"), lab.history, settings)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await asyncio.sleep(4)
        at_the_marker = len(lab.ended(Function.POLL))
        await _write(lab, 300, number=1)
        await asyncio.sleep(2)
        consumer.stop()

    assert 2 < at_the_marker < 10
    assert _read_records(lab) == _written(lab)


async def test_it_goes_on_at_the_beginning_of_a_log_whose_records_were_deleted(lab: Lab) -> None:
    await lab.create()
    await _write(lab, 9)
    await lab.admin.delete_records(TP, 6)
    consumer = _consumer(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await asyncio.sleep(2)
        consumer.stop()

    assert consumer.progress.errors == {"OFFSET_OUT_OF_RANGE": 1}
    assert [offset for offset, _ in _read_records(lab)[TP]] == [6, 7, 8]


async def test_it_goes_back_to_where_a_log_was_cut(lab: Lab) -> None:
    """The only broker that had the last records comes back without them."""
    await lab.create(replication_factor=1)
    await _write(lab, 6)
    consumer = _consumer(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await asyncio.sleep(2)
        leader = lab.client.leader(TP)
        assert leader is not None
        node = lab.cluster.brokers[leader.broker]
        node.power_cut()
        await asyncio.sleep(5)
        node.start()
        await lab.until_led("orders", leader.broker)
        await _write(lab, 6, number=1)
        await asyncio.sleep(5)
        consumer.stop()

    read = _read_records(lab)[TP]
    assert consumer.progress.read == len(read)
    assert {record for _, record in read} >= {1_000_000_000 + number for number in range(6)}


class _Reader(ConsumerWorkload):
    """It works off the first records that it is given until it is let on."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab.new_client("reader"), lab.history, ConsumerSettings(topic="orders"))
        self.is_working = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def _after_read(self, reads: Sequence[Read]) -> None:
        if reads:
            self.is_working.set()
            await self.goes_on.wait()


async def test_a_position_that_moved_while_its_leader_was_asked_stays(lab: Lab) -> None:
    """Seed 58: the answer told where an epoch ended that was not the last one read any more."""
    await lab.create(replication_factor=3)
    leader = lab.client.leader(TP)
    assert leader is not None
    consumer = _Reader(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await _write(lab, 3)
        await consumer.is_working.wait()
        lab.cluster.brokers[leader.broker].kill()
        await _write(lab, 6, number=1)
        await asyncio.sleep(5)  # the second leader's records wait until the first are worked off
        lab.cluster.brokers[leader.broker].start()
        await asyncio.sleep(5)  # it is in the Isr
        (second,) = (await lab.client.view(["orders"])).partitions
        lab.cluster.brokers[second.leader].kill()
        await lab.until_led("orders", leader.broker)
        await asyncio.sleep(5)
        consumer.goes_on.set()
        await asyncio.sleep(5)
        consumer.stop()

    assert _read_records(lab) == _written(lab)


async def test_what_a_disk_gave_wrongly_is_fetched_again(lab: Lab) -> None:
    await lab.create()
    await _write(lab, 10)
    for node in lab.cluster.brokers.values():
        node.kill()  # and what it had in memory
        node.start()
    await lab.until_led("orders")
    for node in lab.cluster.brokers.values():
        for drive in node.drives.values():
            drive.faults.set_fault(DiskMode.BIT_FLIP, files=(FileClass.LOG,), times=4)
    consumer = _consumer(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await asyncio.sleep(3)
        consumer.stop()

    assert "CORRUPT_MESSAGE" in consumer.progress.errors
    assert _read_records(lab) == _written(lab)


class _Misled(ClusterClient):
    """One whose broker once reads from the beginning, and takes that for what was asked."""

    is_misled = False

    async def ask(
        self, broker: int, message: Any, version: int, *, timeout_ms: int | None = None
    ) -> Any:
        if isinstance(message, FetchRequest) and self.is_misled:
            self.is_misled = False
            (partition,) = message.topics[0].partitions
            partition.fetch_offset, partition.partition_max_bytes = 0, 1
        return await super().ask(broker, message, version, timeout_ms=timeout_ms)


async def test_a_broker_that_gives_records_of_before_sends_it_nowhere(lab: Lab) -> None:
    """Seed 988427: a flipped bit in a header had its leader begin too early."""
    await lab.create()
    client = _Misled(addresses_of(lab.cluster.spec), "reader")
    consumer = ConsumerWorkload(client, lab.history, ConsumerSettings(topic="orders"))
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await _write(lab, 10)
        await asyncio.sleep(1)
        client.is_misled = True
        await asyncio.sleep(1)
        assert not client.is_misled
        await _write(lab, 10, number=1)
        await asyncio.sleep(1)
        consumer.stop()

    assert _read_records(lab) == _written(lab)


async def _lab_with_racks() -> Lab:
    selector = "{replica.selector.class: " + RACK_AWARE_SELECTOR + "}"
    lab = Lab(selector, racks=("a", "b", "b"))
    await lab.cluster.start()
    code = await lab.admin.create_topic("orders", assignment=[[1, 2]])
    assert code is ErrorCode.NONE
    await lab.until_led("orders", 1)
    return lab


def _read_from(lab: Lab) -> list[int]:
    """Return who answered with records, in order, each as long as nobody else does."""
    polls = [operation.value for operation in lab.ended(Function.POLL)]
    brokers = [poll.broker for poll in polls if isinstance(poll, Poll) and poll.reads]
    return [broker for broker, _ in groupby(brokers)]


async def test_in_a_rack_it_reads_from_the_replica_there_until_that_is_gone() -> None:
    lab = await _lab_with_racks()
    settings = ConsumerSettings(topic="orders", rack="b")
    consumer = ConsumerWorkload(lab.new_client("reader"), lab.history, settings)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await asyncio.sleep(1)
        await _write(lab, 10)
        await asyncio.sleep(1)
        assert _read_from(lab) == [2]
        lab.cluster.brokers[2].kill()
        await _write(lab, 10, number=1)
        await asyncio.sleep(10)
        consumer.stop()

    assert _read_from(lab) == [2, 1]
    assert _read_records(lab) == _written(lab)
