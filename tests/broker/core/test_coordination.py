"""Where a key belongs, and what a refused batch means for those that wait."""

import pytest

from broker.core.coordination import append_error, batch_size_bound, in_batches, partition_for
from protocol.errors import ErrorCode
from protocol.records.build import BatchOptions, NewRecord, build_batch

JAVA_HASHES = {
    "": 0,
    "a": 97,
    "group": 98629247,
    "my-group": -1906497762,
    "polygenelubricants": -(1 << 31),
    "Grüße": 69215351,
    "\U0001f600": 1772899,
}
"""String.hashCode as Java has it."""


@pytest.mark.parametrize("key", JAVA_HASHES)
def test_a_key_is_in_the_partition_that_javas_hash_gives(key: str):
    hashed = JAVA_HASHES[key]
    expected = 0 if hashed == -(1 << 31) else abs(hashed)
    assert [partition_for(key, n) for n in (1, 3, 50)] == [expected % n for n in (1, 3, 50)]


def test_a_batch_that_was_not_replicated_in_time_sends_clients_to_look_for_the_coordinator():
    assert append_error(ErrorCode.REQUEST_TIMED_OUT) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert append_error(ErrorCode.KAFKA_STORAGE_ERROR) is ErrorCode.NOT_COORDINATOR
    assert append_error(ErrorCode.INVALID_RECORD) is ErrorCode.INVALID_RECORD


def test_records_are_cut_into_batches_in_their_order():
    records = [(bytes([n]), bytes(100 * n)) for n in range(7)]
    batches = list(in_batches(records, 700))
    assert [record for batch in batches for record in batch] == records
    assert [len(batch) for batch in batches] == [3, 1, 1, 1, 1]
    assert all(batch_size_bound(batch) <= 700 for batch in batches)


def test_a_record_that_fits_no_batch_has_one_of_its_own():
    small, large = (b"k", b""), (b"k", bytes(1_000))
    assert list(in_batches([small, large, small], 500)) == [[small], [large], [small]]
    assert list(in_batches([], 500)) == []


def test_records_that_just_fit_a_batch_go_into_one():
    records = [(b"k", bytes(100))] * 3
    size_bytes = batch_size_bound(records)
    assert list(in_batches(records, size_bytes)) == [records]
    assert [len(batch) for batch in in_batches(records, size_bytes - 1)] == [2, 1]


@pytest.mark.parametrize("size_bytes", [0, 1, 63, 64, 10_000, 2_000_000])
def test_no_batch_is_larger_than_its_bound(size_bytes: int):
    records = [(bytes(size_bytes), bytes(size_bytes)), (b"", None)]
    new = [NewRecord(value, key, 1_700_000_000_000) for key, value in records]
    assert len(build_batch(new, BatchOptions())) <= batch_size_bound(records)
    assert batch_size_bound([]) == len(build_batch([], BatchOptions()))
