"""What a snapshot leaves out of its producers is read back from the log, up to a bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.core.producer_entry import Duplicate
from broker.core.producers import ProducerStates
from broker.storage.earlier_batches import ENTRIES, headers_before, recall_batches
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, OpenedLog, open_log
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment_files import PartitionFiles
from protocol.errors import KafkaError
from protocol.records.batch import read_batch_header
from tests.broker.storage.builders import Config, log_on, produced

NAME = "orders-0"
KEPT = 5


def reopened(
    disk: MemoryDisk, config: Config, *, was_clean: bool, recovery_point: int = 0
) -> OpenedLog:
    known = KnownOffsets(was_clean=was_clean, recovery_point=recovery_point)
    return open_log(PartitionFiles(LogDirFiles(disk), NAME), config, known, now_ms=0)


def written(disk: MemoryDisk, producers: list[int], config: Config) -> PartitionLog:
    """A log with one record per batch; the numbers of producers, in order."""
    log = log_on(disk, NAME, config)
    sequences = dict.fromkeys(producers, 0)
    for offset, producer in enumerate(producers):
        log.append([produced(offset, producer, sequences[producer])], now_ms=0)
        sequences[producer] += 1
    return log


def known_offsets(states: ProducerStates, producers: list[int], producer: int) -> list[int]:
    """Which batches of a producer are taken for what they are when they come again."""
    found: list[int] = []
    offsets = [offset for offset, each in enumerate(producers) if each == producer]
    for sequence, offset in enumerate(offsets):
        try:
            answer = states.check(read_batch_header(produced(0, producer, sequence)))
        except KafkaError:
            continue
        assert isinstance(answer, Duplicate)
        assert answer.first_offset == offset
        found.append(offset)
    return found


@given(
    producers=st.lists(st.integers(1, 4), min_size=1, max_size=60),
    segment_bytes=st.sampled_from([300, 1000, 100_000]),
    was_clean=st.booleans(),
    recovered=st.floats(0, 1),
)
def test_a_log_that_is_opened_knows_the_last_five_batches_of_every_producer(
    producers: list[int], segment_bytes: int, recovered: float, *, was_clean: bool
) -> None:
    """However small its segments are, closed or killed, whatever of it is recovered."""
    disk, config = MemoryDisk(), Config(segment_bytes=segment_bytes)
    log = written(disk, producers, config)
    if was_clean:
        log.close()
    point = int(recovered * len(producers))
    opened = reopened(disk, config, was_clean=was_clean, recovery_point=point)
    for producer in set(producers):
        offsets = [offset for offset, each in enumerate(producers) if each == producer]
        assert known_offsets(opened.producers, producers, producer) == offsets[-KEPT:]


@given(
    producers=st.lists(st.integers(1, 3), min_size=2, max_size=60),
    segment_bytes=st.sampled_from([300, 1000, 100_000]),
    share=st.floats(0.1, 0.9),
)
def test_a_log_that_is_cut_knows_the_last_five_batches_before_the_cut(
    producers: list[int], segment_bytes: int, share: float
) -> None:
    disk = MemoryDisk()
    log = written(disk, producers, Config(segment_bytes=segment_bytes))
    end = max(1, int(share * len(producers)))
    states = log.truncate_to(end)
    assert states is not None
    for producer in set(producers[:end]):
        offsets = [offset for offset in range(end) if producers[offset] == producer]
        assert known_offsets(states, producers[:end], producer) == offsets[-KEPT:]


def test_a_promoted_future_log_brings_its_batches_along() -> None:
    disk, config = MemoryDisk(), Config()
    log = written(disk, [7] * 12, config)
    log.rename("orders-0.0123456789abcdef0123456789abcdef-future")
    log.rename(NAME)
    log.close()
    opened = reopened(disk, config, was_clean=True)
    assert known_offsets(opened.producers, [7] * 12, 7) == [7, 8, 9, 10, 11]


def test_segments_that_retention_removed_leave_the_one_batch_of_the_snapshot() -> None:
    disk, config = MemoryDisk(), Config(segment_bytes=300)
    log = written(disk, [7] * 8, config)
    count = len(log.segment_base_offsets)
    log.remove_oldest(count, now_ms=0).remove()
    log.close()
    opened = reopened(disk, config, was_clean=True)
    assert known_offsets(opened.producers, [7] * 8, 7) == [7]


def test_a_damaged_batch_before_the_snapshot_costs_what_lies_before_it_and_no_start() -> None:
    disk, config = MemoryDisk(), Config(segment_bytes=100_000, index_interval_bytes=100_000)
    log = written(disk, [7] * 8, config)
    log.close()
    data = bytearray(disk.read_file(f"{NAME}/{0:020d}.log"))
    data[8:12] = b"\xff\xff\xff\xff"  # the first batch's length
    producers = ProducerStates(log.producer_entries)
    disk.write_file(f"{NAME}/{0:020d}.log", bytes(data))
    recall_batches(log.segments, 8, producers)
    assert known_offsets(producers, [7] * 8, 7) == [7]


def test_no_more_is_read_than_the_last_entries_of_the_index_stand_for() -> None:
    disk = MemoryDisk()
    config = Config(segment_bytes=10_000_000, segment_index_bytes=1 << 20, index_interval_bytes=1)
    count = 2 * ENTRIES[1]
    log = written(disk, [1, *[2] * count], config)
    headers = headers_before(log.segments, count + 1, ENTRIES[0])
    assert len(headers) == ENTRIES[0]
    assert headers[-1].next_offset == count + 1
    producers = ProducerStates(log.producer_entries)
    recall_batches(log.segments, count + 1, producers)
    order = [1, *[2] * count]
    assert known_offsets(producers, order, 2) == list(range(count - KEPT + 1, count + 1))


def test_a_producer_whose_batches_lie_far_back_has_them_read_back_within_the_second_bound() -> None:
    disk = MemoryDisk()
    config = Config(segment_bytes=20_000, segment_index_bytes=1 << 20, index_interval_bytes=1)
    near = [1] * 8 + [2] * (ENTRIES[1] // 2) + [1] + [2] * 10
    log = written(disk, near, config)
    producers = ProducerStates(log.producer_entries)
    recall_batches(log.segments, len(near), producers)
    assert known_offsets(producers, near, 1) == [4, 5, 6, 7, len(near) - 11]
    far = [1] * 8 + [2] * (ENTRIES[1] * 2) + [1] + [2] * 10
    disk = MemoryDisk()
    log = written(disk, far, config)
    producers = ProducerStates(log.producer_entries)
    recall_batches(log.segments, len(far), producers)
    assert known_offsets(producers, far, 1) == [len(far) - 11]
