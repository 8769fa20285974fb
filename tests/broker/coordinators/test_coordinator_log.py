"""A shard's log: batches as Kafka's coordinator writes them, loaded to the end."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from broker.coordinators.coordinator_log import RECORDS_OF_A_STEP, CoordinatorLog, Reads
from broker.core.coordination import Answer, Decided, Record, TransactionProducer
from broker.core.transactions import EndMarker, build_marker
from broker.engine.serve.led_logs import LogSpan, Slice
from broker.engine.types import ProducePart
from protocol.configs.parsing import TopicConfig
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from protocol.records.batch import Compression, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.records import ControlRecordType
from protocol.transport.turns import Turns
from tests.broker.coordinators.asking import ports_of
from tests.broker.coordinators.conftest import OFFSETS
from tests.broker.engine.lab import Lab
from tests.broker.engine.node import Node


@dataclass
class Heard:
    """A shard that only remembers what it was told."""

    said: list[object] = field(default_factory=list[object])

    def replay(self, key: bytes, value: bytes | None, *, producer_id: int = -1) -> None:
        if key == b"damaged":
            raise Malformed("damaged")
        self.said.append((key, value, producer_id))

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        self.said.append((producer_id, is_commit))

    def loaded(self, now_ms: int, wall_ms: int) -> Decided:
        raise NotImplementedError

    expire = loaded

    def next_due_ms(self) -> int | None:
        raise NotImplementedError

    def unloaded(self, error: ErrorCode) -> Sequence[Answer]:
        raise NotImplementedError


def log_of(node: Node, **words: Any) -> CoordinatorLog:
    return CoordinatorLog(OFFSETS, replace(ports_of(node), **words))


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
async def test_what_is_appended_is_loaded_in_its_order(lab: Lab, codec: Compression) -> None:
    log = log_of(lab[1], compression=codec, load_bytes_max=100)
    written: list[Record] = [(b"a", b"1"), (b"b", None), (b"a", b"2")]
    for records in (written[:2], written[2:]):
        begun = await log.append(records)
        await begun.ready
        (result,) = begun.results()
        assert result.error_code is ErrorCode.NONE
    heard = Heard()
    replicated = await log.load(heard)
    await replicated.ready
    assert heard.said == [(key, value, -1) for key, value in written]


async def test_transactions_are_told_with_their_producer_and_their_end(lab: Lab) -> None:
    options = BatchOptions(producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
    batch = build_batch([NewRecord(b"1", b"a", 1)], options)
    marker = EndMarker(9, 0, 0, is_commit=True)
    parts = [
        ProducePart(OFFSETS, memoryview(batch)),
        ProducePart(OFFSETS, memoryview(build_marker(marker, 1)), marker),
    ]
    for part in parts:
        await lab[1].engine.produces.produce([part], acks=-1, timeout_ms=1_000)
    heard = Heard()
    await log_of(lab[1]).load(heard)
    assert heard.said == [(b"a", b"1", 9), (9, True)]


async def test_records_that_are_none_of_the_topic_s_are_left_out_and_counted(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    log = log_of(lab[1])
    many: list[Record] = [(b"damaged", b""), *[(b"k", b"v")] * RECORDS_OF_A_STEP]
    await (await log.append(many)).ready
    heard = Heard()
    await log.load(heard)
    assert len(heard.said) == RECORDS_OF_A_STEP
    assert any("1 records are none of this topic's" in line for line in caplog.messages)


async def test_a_batch_says_when_it_was_written_and_by_nobody(lab: Lab) -> None:
    begun = await log_of(lab[1]).append([(b"a", b"1")])
    await begun.ready
    (data,) = (await lab[1].engine.led_logs.read(OFFSETS, 0, up_to=1, max_bytes=1)).buffers
    header = read_batch_header(data)
    assert (header.producer_id, header.is_transactional, header.is_control) == (-1, False, False)
    assert header.base_timestamp == header.max_timestamp > 0


class DamagedReads:
    """A log of one batch whose records are none."""

    def span(self, tp: TopicPartition) -> LogSpan:
        del tp
        return LogSpan(0, 1)

    async def read(self, tp: TopicPartition, offset: int, *, up_to: int, max_bytes: int) -> Slice:
        del tp, offset, up_to, max_bytes
        batch = build_batch([NewRecord(b"1", b"a", 1)])
        batch[61:] = bytes([255]) * (len(batch) - 61)
        return Slice((bytes(batch),), 1)


class MisreadingReads:
    """Gives one batch, with a flipped bit in its byte ``place`` the first times."""

    def __init__(self, right: Reads, misread_count: int, place: int) -> None:
        self._right = right
        self._left = misread_count
        self._place = place

    def span(self, tp: TopicPartition) -> LogSpan:
        return self._right.span(tp)

    async def read(self, tp: TopicPartition, offset: int, *, up_to: int, max_bytes: int) -> Slice:
        found = await self._right.read(tp, offset, up_to=up_to, max_bytes=max_bytes)
        if self._left == 0:
            return found
        self._left -= 1
        data = bytearray(b"".join(found.buffers))
        data[self._place] ^= 8
        return Slice((bytes(data),), read_batch_header(data).next_offset)


@pytest.mark.parametrize("misread_count", [1, 2])
@pytest.mark.parametrize(
    ("place", "told"),
    [
        pytest.param(-2, "wrong CRC of the batch at offset 0", id="key"),
        pytest.param(7, "offsets 8 to 8, expected within 0 to 1", id="base offset"),
    ],
)
async def test_what_was_misread_once_is_read_again_and_not_loaded(
    lab: Lab, misread_count: int, place: int, told: str
) -> None:
    """A transactional id was another one (seed 984038), or a group unknown (seed 1066361)."""
    for key in (b"key", b"other"):
        await (await log_of(lab[1]).append([(key, b"value")])).ready
    heard = Heard()
    reads = MisreadingReads(ports_of(lab[1]).reads, misread_count, place)
    if misread_count == 1:
        await log_of(lab[1], reads=reads, load_bytes_max=1).load(heard)
        assert heard.said == [(b"key", b"value", -1), (b"other", b"value", -1)]
    else:
        with pytest.raises(KafkaError, match=told):
            await log_of(lab[1], reads=reads, load_bytes_max=1).load(heard)


async def test_a_batch_that_cannot_be_read_ends_the_load(lab: Lab) -> None:
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: from 0 on"):
        await log_of(lab[1], reads=DamagedReads()).load(Heard())


class GivenReads:
    """A log of these batches, one in each slice."""

    def __init__(self, *batches: bytearray) -> None:
        self._slices: dict[int, Slice] = {}
        self.asked: list[tuple[int, int, int]] = []
        self._end = 0
        for batch in batches:
            data, base_offset = bytearray(batch), self._end
            self._end += 1 + int.from_bytes(data[23:27])  # Its last offset delta.
            data[:8] = base_offset.to_bytes(8)
            self._slices[base_offset] = Slice((bytes(data),), self._end)

    def span(self, tp: TopicPartition) -> LogSpan:
        del tp
        return LogSpan(0, self._end)

    async def read(self, tp: TopicPartition, offset: int, *, up_to: int, max_bytes: int) -> Slice:
        del tp
        self.asked.append((offset, up_to, max_bytes))
        return self._slices[offset]


async def heard_of(lab: Lab, *batches: bytearray) -> list[object]:
    heard = Heard()
    await log_of(lab[1], reads=GivenReads(*batches)).load(heard)
    return heard.said


async def test_a_log_is_read_slice_by_slice_to_its_end(lab: Lab) -> None:
    reads = GivenReads(*(build_batch([NewRecord(b"1", key, 1)]) for key in (b"a", b"b")))
    heard = Heard()
    await log_of(lab[1], reads=reads, load_bytes_max=77).load(heard)
    assert heard.said == [(b"a", b"1", -1), (b"b", b"1", -1)]
    assert reads.asked == [(0, 2, 77), (1, 2, 77)]


async def test_records_without_a_key_say_nothing(lab: Lab) -> None:
    batch = build_batch([NewRecord(b"1", None, 1), NewRecord(None, b"a", 1)])
    assert await heard_of(lab, batch) == [(b"a", None, -1)]


async def test_only_records_of_transactions_are_told_with_their_producer(lab: Lab) -> None:
    said: list[object] = []
    for is_transactional in (False, True):
        options = BatchOptions(
            producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=is_transactional
        )
        said += await heard_of(lab, build_batch([NewRecord(b"1", b"a", 1)], options))
    assert said == [(b"a", b"1", -1), (b"a", b"1", 9)]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ControlRecordType.ABORT, [(9, False)]),
        (ControlRecordType.COMMIT, [(9, True)]),
        (ControlRecordType.LEADER_CHANGE, []),
    ],
)
async def test_of_control_records_only_markers_end_a_transaction(
    lab: Lab, kind: ControlRecordType, said: list[object]
) -> None:
    options = BatchOptions(producer_id=9, producer_epoch=0, is_transactional=True, is_control=True)
    key = bytes([0, 0, 0, kind])
    assert await heard_of(lab, build_batch([NewRecord(bytes(6), key, 1)], options)) == said


async def test_records_that_are_left_out_are_counted_in_all_batches(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    batch = build_batch([NewRecord(b"", b"damaged", 1), NewRecord(b"", b"a", 1)])
    assert len(await heard_of(lab, batch, batch)) == 2
    assert any("2 records are none of this topic's" in line for line in caplog.messages)


class CountedTurns(Turns):
    """Counts how often others had a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    async def run(self, steps: Generator[None, None, Any]) -> Any:
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            self.count += 1


async def test_others_have_turns_while_many_records_are_loaded(lab: Lab) -> None:
    many = [NewRecord(b"v", b"k", 1)] * (2 * RECORDS_OF_A_STEP + 1)
    heard, turns = Heard(), CountedTurns()
    await log_of(lab[1], reads=GivenReads(build_batch(many)), turns=turns).load(heard)
    assert (len(heard.said), turns.count) == (len(many), 2)


async def test_records_of_a_transaction_are_appended_as_its_part(lab: Lab) -> None:
    producer = TransactionProducer(9, 3)
    (await log_of(lab[1]).append([(b"a", b"1")], producer)).abandon()
    (data,) = (await lab[1].engine.led_logs.read(OFFSETS, 0, up_to=1, max_bytes=1)).buffers
    header = read_batch_header(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, 0)
    assert header.is_transactional


@pytest.mark.parametrize(("most", "segment"), [(1_000, 2_000), (2_000, 1_000)])
async def test_a_batch_may_be_as_large_as_the_topic_and_its_segments_take(
    lab: Lab, most: int, segment: int
) -> None:
    def configured(topic: str) -> TopicConfig:
        config = lab[1].topic_config(topic)
        return replace(config, max_message_bytes=most, segment_bytes=segment)

    assert log_of(lab[1], topic_config=configured).batch_bytes_max == 1_000


async def test_a_batch_of_a_format_that_nobody_knows_cannot_be_loaded(lab: Lab) -> None:
    batch = build_batch([NewRecord(b"1", b"a", 1)])
    batch[16] = 9
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: from 0 on"):
        await heard_of(lab, batch)
