"""Records on their way, by the age of the client."""

from __future__ import annotations

import asyncio

import pytest

from protocol.records.batch import Compression, read_batch_header
from protocol.records.build import NewRecord
from protocol.records.entries import iterate_stored_batches, iterate_stored_records
from simulation.core.history import Function, Kind, Poll, ProducerRange
from simulation.workload.consumer import ConsumerSettings, ConsumerWorkload
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.workload.record_formats import RecordFormat
from tests.simulation.workload.lab import Lab

OLD_CODECS = (Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4)
FORMATS = [
    *(
        RecordFormat(message_format=magic, compression=each)
        for magic in (0, 1)
        for each in OLD_CODECS
    ),
    *(RecordFormat(compression=each) for each in Compression),
]


@pytest.mark.parametrize("record_format", FORMATS)
def test_what_is_written_in_a_format_is_read_again(record_format: RecordFormat) -> None:
    records = [NewRecord(b"one", key=b"k", timestamp_ms=5), NewRecord(b"two", timestamp_ms=6)]
    data = bytes(record_format.encoded(records, None))
    read = [
        (record.key, record.value)
        for at, header in iterate_stored_batches(data)
        for record in iterate_stored_records(data, at, header)
    ]
    assert read == [(b"k", b"one"), (None, b"two")]
    assert {header.magic for _, header in iterate_stored_batches(data)} == {
        record_format.message_format
    }


def test_a_producer_that_is_known_numbers_its_batch() -> None:
    data = RecordFormat().encoded([NewRecord(b"one")], ProducerRange(7, 1, 40))
    header = read_batch_header(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 40)


@pytest.mark.parametrize("record_format", [FORMATS[1], FORMATS[6], FORMATS[-1]])
@pytest.mark.parametrize("understood", [0, 1])
async def test_old_consumers_read_what_producers_of_any_age_wrote(
    lab: Lab, record_format: RecordFormat, understood: int
) -> None:
    """But for zstd, which brokers do not unpack for them."""
    await lab.create()
    settings = ProducerSettings(
        topic="orders", records_max=9, batch_records=3, keys=2, record_format=record_format
    )
    await ProducerWorkload(3, lab.new_client("writer"), lab.history, settings, lab.clock).run()
    reading = ConsumerSettings(topic="orders", message_format=understood)
    consumer = ConsumerWorkload(lab.new_client("reader"), lab.history, reading)
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer.run())
        await asyncio.sleep(2)
        consumer.stop()

    polls = [each.value for each in lab.ended(Function.POLL, Kind.OK)]
    read = [
        record
        for poll in polls
        if isinstance(poll, Poll)
        for each in poll.reads
        for record in each.records
    ]
    if record_format.compression is Compression.ZSTD:
        assert consumer.progress.errors["UNSUPPORTED_COMPRESSION_TYPE"] > 0
    else:
        assert read == [(number, 3_000_000_000 + number) for number in range(9)]
