"""Every golden vector, in all three formats: read as Kafka reads it, written back byte for byte."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.records.batch import (
    HEADER_SIZE_BYTES,
    BatchHeader,
    Compression,
    UnsupportedMagic,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.build_message_set import (
    MessageSetOptions,
    build_message_set,
    pack_message_set,
)
from protocol.records.compression import decompress
from protocol.records.entries import (
    EntryHeader,
    check_entry_crc,
    check_stored_crc,
    iterate_entries,
    iterate_entry_records,
    iterate_entry_views,
    iterate_stored_batches,
    iterate_stored_records,
    read_entry_header,
)
from protocol.records.message_set import MessageHeader, iterate_message_views
from protocol.records.records import control_type, iterate_record_views, read_headers
from tests.golden.record_vectors import (
    Vector,
    batch_words,
    message_words,
    record_vectors,
    record_words,
)

VECTORS = [pytest.param(vector, id=vector["name"]) for vector in record_vectors()]


def test_no_vector_is_left_out() -> None:
    assert len(VECTORS) == 128
    magics = [{batch["magic"] for batch in vector["batches"]} for vector in record_vectors()]
    assert [magics.count(one) for one in ({0}, {1}, {2}, {0, 1}, {0, 1, 2})] == [12, 24, 90, 1, 1]


@pytest.mark.parametrize("vector", VECTORS)
def test_headers_are_read_as_kafka_reads_them(vector: Vector) -> None:
    data = bytes.fromhex(vector["hex"])
    found = list(iterate_entries(data))
    for (position, header), batch in zip(found, vector["batches"], strict=True):
        assert check_entry_crc(data, position, header)
        words = batch_words(header) if isinstance(header, BatchHeader) else message_words(header)
        assert words == {name: batch[name] for name in words}
        records = list(iterate_entry_records(data, position, header))
        assert len(records) == batch["numRecords"]
        if isinstance(header, MessageHeader):
            assert records[0].offset == batch["baseOffset"]
    end = found[-1][0] + found[-1][1].size_bytes if found else 0
    assert len(data) - end == vector["trailingBytes"]


@pytest.mark.parametrize("vector", VECTORS)
def test_records_are_read_as_kafka_reads_them(vector: Vector) -> None:
    data = bytes.fromhex(vector["hex"])
    found = [
        record
        for position, header in iterate_entries(data)
        for record in iterate_entry_records(data, position, header)
    ]
    for record, wanted in zip(found, vector["records"], strict=True):
        words = record_words(record)
        assert words | wanted == wanted | {"sequence": words["sequence"]}
        assert words["sequence"] == wanted.get("sequence", -1)
        if "controlType" in wanted:
            assert control_type(record).name == wanted["controlType"]


@pytest.mark.parametrize("vector", VECTORS)
def test_entries_are_written_as_kafka_writes_them(vector: Vector) -> None:
    data = bytes.fromhex(vector["hex"])
    for position, header in iterate_entries(data):
        stored = data[position : position + header.size_bytes]
        built = rebuild(stored, header)
        if header.compression is Compression.NONE:
            assert built.hex() == stored.hex()
        else:
            assert plain(built).hex() == plain(stored).hex()


def rebuild(stored: bytes, header: EntryHeader) -> bytes:
    """Write the entry anew from its records."""
    if isinstance(header, MessageHeader):
        return bytes(
            pack_message_set(
                iterate_message_views(stored, 0, header),
                header.magic,
                header.compression,
                is_log_append_time=header.is_log_append_time,
            )
        )
    records = [
        NewRecord(
            value=None if view.value is None else bytes(view.value),
            key=None if view.key is None else bytes(view.key),
            timestamp_ms=view.created_ms,
            headers=read_headers(view.headers),
            offset_delta=view.offset - header.base_offset,
        )
        for view in iterate_record_views(stored, 0, header)
    ]
    options = BatchOptions(
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        compression=header.compression,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
        last_offset_delta=header.last_offset_delta,
        max_timestamp_ms=header.max_timestamp,
        delete_horizon_ms=header.delete_horizon_ms,
    )
    return bytes(build_batch(records, options))


def plain(stored: bytes) -> bytes:
    """The entry with its records decompressed, without its lengths and sum."""
    header = read_entry_header(stored)
    if isinstance(header, BatchHeader):
        body = stored[HEADER_SIZE_BYTES:]
        records = decompress(header.compression, body) if body else b""
        return stored[:8] + stored[12:17] + stored[21:HEADER_SIZE_BYTES] + bytes(records)
    fields_end = 26 if header.magic else 18
    value = stored[fields_end + 8 :]  # the key is null
    records = decompress(header.compression, value, magic=header.magic)
    return stored[:8] + stored[16 : fields_end + 4] + bytes(records)


def sets() -> Iterator[bytes]:
    """A few entries of each format, some compressed."""
    records = [NewRecord(b"value", b"key", 5), NewRecord(None, b"", 6), NewRecord(b"", None, 4)]
    for codec in (Compression.NONE, Compression.GZIP, Compression.LZ4, Compression.SNAPPY):
        for magic in (0, 1):
            yield bytes(
                build_message_set(records, MessageSetOptions(magic=magic, compression=codec))
            )
        yield bytes(build_batch(records, BatchOptions(compression=codec)))


SETS = list(sets())


def read_all(data: bytes) -> list[tuple[int, bytes | None]]:
    return [
        (record.offset, record.value)
        for position, header in iterate_entries(data)
        for record in iterate_entry_records(data, position, header)
    ]


@pytest.mark.parametrize("data", SETS)
def test_a_cut_at_any_byte_leaves_whole_entries(data: bytes) -> None:
    ends = [0] + [position + header.size_bytes for position, header in iterate_entries(data)]
    for cut in range(len(data)):
        found = [p + h.size_bytes for p, h in iterate_entries(data[:cut])]
        assert found == [end for end in ends[1:] if end <= cut]


@settings(deadline=None)
@given(st.sampled_from(SETS), st.data())
def test_damage_raises_malformed_and_nothing_else(data: bytes, draw: st.DataObject) -> None:
    damaged = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 4))):
        damaged[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        read_all(bytes(damaged))
    except Malformed:
        return


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_noise_raises_malformed_and_nothing_else(data: bytes) -> None:
    try:
        read_all(data)
    except Malformed:
        return


@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13, 2**31 - 1])
def test_an_extreme_length_is_damage_or_a_cut_tail(data: bytes, length: int) -> None:
    damaged = data[:8] + length.to_bytes(4, "big", signed=True) + data[12:]
    if length > len(data):
        assert read_all(damaged) == []
    else:
        with pytest.raises(Malformed):
            read_all(damaged)


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_a_format_that_nobody_knows_is_refused(magic: int) -> None:
    with pytest.raises(UnsupportedMagic, match=r"record format"):
        read_all(SETS[0][:16] + bytes((magic,)) + SETS[0][17:] + bytes(61))


def test_formats_may_follow_each_other_and_are_told_apart_by_each_entry() -> None:
    data = SETS[0] + SETS[2] + SETS[1]
    assert [h.magic for _, h in iterate_entries(data)] == [0, 0, 0, 2, 1, 1, 1]
    assert [offset for offset, _ in read_all(data)] == [0, 1, 2] * 3


@pytest.mark.parametrize("data", SETS)
def test_views_are_slices_where_nothing_was_compressed(data: bytes) -> None:
    for position, header in iterate_entries(data):
        for view in iterate_entry_views(data, position, header):
            for part in (view.key, view.value):
                if part is not None and header.compression is Compression.NONE:
                    assert isinstance(part, memoryview)
                    assert part.obj is data


@pytest.mark.parametrize("vector", VECTORS)
def test_every_entry_can_be_read_as_a_batch(vector: Vector) -> None:
    data = bytes.fromhex(vector["hex"])
    stored = list(iterate_stored_batches(data))
    for (position, header), (at, entry) in zip(stored, iterate_entries(data), strict=True):
        assert (position, header.size_bytes) == (at, entry.size_bytes)
        assert check_stored_crc(data, position, header)
        assert header.compression is entry.compression
        assert header.is_log_append_time is entry.is_log_append_time
        records = list(iterate_stored_records(data, position, header))
        assert records == list(iterate_entry_records(data, position, entry))
        if isinstance(entry, MessageHeader):
            assert header.last_offset == entry.offset == records[-1].offset
            assert (header.max_timestamp, header.producer_id) == (entry.timestamp, -1)
            assert not header.is_control
        else:
            assert header == entry


def test_a_wrong_sum_of_a_stored_message_is_noticed() -> None:
    data = build_message_set([NewRecord(b"v")], MessageSetOptions(magic=1))
    data[-1] ^= 1
    ((position, header),) = iterate_stored_batches(data)
    assert not check_stored_crc(data, position, header)
