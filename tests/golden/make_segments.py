"""Builds the segments and indexes that Kafka's dump tool is asked about, damage included.

Only ``protocol.records`` is needed. What is damaged is said where it is done; what a codec wrote is
compared as it is: another version of its library may pack otherwise and mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from protocol.records.batch import Compression, stamp
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from protocol.records.records import ControlRecordType
from tests.golden.made import GOLDEN, Made

DUMPS: Final = GOLDEN / "dumps"
_NOW_MS: Final = 1_600_000_000_000
_HEADERS: Final = (("h", b"x"), ("g", None))
_OFFSET_INDEX: Final = Struct(">ii")
_TIME_INDEX: Final = Struct(">qi")
_ABORTED: Final = Struct(">hqqqq")
_CODECS_OF_OLD: Final = list(Compression)[: Compression.ZSTD]


def records(count: int, first_ms: int = _NOW_MS) -> list[NewRecord]:
    """Return records a millisecond apart: every third has no key, every second has headers."""
    return [
        NewRecord(
            b"value %d" % number,
            key=b"k%d" % number if number % 3 else None,
            timestamp_ms=first_ms + number,
            headers=_HEADERS if number % 2 else (),
        )
        for number in range(count)
    ]


def every_format() -> bytes:
    """Return one segment of all three formats in every codec, with damage at its end."""
    parts = [*_message_sets(), *_batches(), *_of_a_transaction(), *_damaged()]
    return b"".join(map(bytes, parts))


def _message_sets() -> Iterable[bytearray]:
    offset = 0
    for magic in (0, 1):
        for codec in _CODECS_OF_OLD:
            options = MessageSetOptions(magic=magic, base_offset=offset, compression=codec)
            yield build_message_set(records(3), options)
            offset += 3
    stamped = MessageSetOptions(magic=1, base_offset=offset, log_append_time_ms=_NOW_MS + 9_999)
    yield build_message_set(records(2), stamped)


def _batches() -> Iterable[bytearray]:
    for codec in Compression:
        options = BatchOptions(base_offset=26 + 3 * codec, leader_epoch=4, compression=codec)
        yield build_batch(records(3), options)
    stamped = BatchOptions(base_offset=41, leader_epoch=4, log_append_time_ms=1_700_000_000_000)
    tombstone = NewRecord(None, key=b"gone")
    yield build_batch([tombstone, NewRecord("é€".encode(), key=b"", timestamp_ms=7)], stamped)


def _of_a_transaction() -> Iterable[bytearray]:
    """Give a transaction whose sequences wrap, its marker, and what compaction left of another."""
    yield build_batch(
        records(2),
        BatchOptions(
            base_offset=53,  # Nothing has the ten offsets before it.
            producer_id=9,
            producer_epoch=1,
            base_sequence=2**31 - 1,
            is_transactional=True,
        ),
    )
    marker = build_end_marker(
        ControlRecordType.ABORT,
        producer_id=9,
        producer_epoch=1,
        coordinator_epoch=3,
        timestamp_ms=5,
    )
    stamp(marker, 0, base_offset=55, leader_epoch=5)
    yield marker
    yield build_batch(
        [],
        BatchOptions(
            base_offset=56,
            last_offset_delta=4,
            producer_id=9,
            base_sequence=7,
            max_timestamp_ms=99,
            delete_horizon_ms=1234,
        ),
    )


def _damaged() -> Iterable[bytearray]:
    wrong_sum = build_batch(records(2), BatchOptions(base_offset=61))
    wrong_sum[wrong_sum.index(b"value 1") + 3] ^= 1  # "valte 1"
    yield wrong_sum
    yield build_batch(records(3), BatchOptions(base_offset=63))[:70]  # Cut in its first record.


def _log(*batches: tuple[int, int, int, int]) -> bytes:
    """Return batches by base offset, leader epoch, count of records and first time."""
    return b"".join(
        build_batch(records(count, at_ms), BatchOptions(base_offset=offset, leader_epoch=epoch))
        for offset, epoch, count, at_ms in batches
    )


def _offset_index(base_offset: int, *entries: tuple[int, int], zeros: int = 0) -> bytes:
    found = (_OFFSET_INDEX.pack(offset - base_offset, at) for offset, at in entries)
    return b"".join(found) + bytes(zeros)


def _time_index(base_offset: int, *entries: tuple[int, int], zeros: int = 0) -> bytes:
    found = (_TIME_INDEX.pack(at_ms, offset - base_offset) for at_ms, offset in entries)
    return b"".join(found) + bytes(zeros)


def segments() -> dict[str, bytes]:
    """Return the files by their names below ``dumps``."""
    files = {
        "formats-0/00000000000000000000.log": every_format(),
        **{f"indexes-0/{name}": data for name, data in _mixed().items()},
    }
    one = {base: _log((base, -1, 1, _NOW_MS)) for base in (3000, 4000)}
    for base, content in {
        2000: (b"", b"", b""),
        # Both point before their segment.
        3000: (one[3000], _offset_index(3000, (2995, 0)), _time_index(3000, (5, 2999))),
        # An offset index of one entry and three bytes more; times that no record has, out of order.
        4000: (
            one[4000],
            _offset_index(4000, (4000, 0)) + b"abc",
            _time_index(4000, (5, 4000), (4, 4000)),
        ),
    }.items():
        for suffix, data in zip((".log", ".index", ".timeindex"), content, strict=True):
            files[f"indexes-0/{base:020}{suffix}"] = data
    return dict(sorted(files.items()))


def _mixed() -> dict[str, bytes]:
    """Return a segment of six batches of ten records, whose indexes are right and wrong."""
    base, second_ms = 1000, 1_000
    return {
        f"{base:020}.log": _log(
            *((base + 10 * n, 0, 10, _NOW_MS + second_ms * n) for n in range(6))
        ),
        # 1030 is not the last offset of the batch at 744; the end is preallocated.
        f"{base:020}.index": _offset_index(base, (1019, 248), (1030, 744), (1049, 992), zeros=16),
        f"{base:020}.timeindex": _time_index(
            base,
            (_NOW_MS + 1_009, 1019),
            (_NOW_MS + 3_008, 1039),  # The batch's newest is 3009.
            (_NOW_MS + 3_007, 1049),  # Out of order.
            (_NOW_MS + 5_009, 1058),  # In the middle of a batch.
            zeros=24,
        ),
        f"{base:020}.txnindex": _ABORTED.pack(0, 7, 1000, 1010, 1011),
    }


def made() -> Made:
    """Build all files."""
    built = segments()
    differing = [
        f"{name}: {len(data)} bytes" + (" for no file" if not (DUMPS / name).exists() else "")
        for name, data in built.items()
        if not (DUMPS / name).exists() or (DUMPS / name).read_bytes() != data
    ]

    def write() -> None:
        for name, data in built.items():
            (DUMPS / name).parent.mkdir(exist_ok=True)
            (DUMPS / name).write_bytes(data)

    return Made(f"{len(built)} built anew", differing, write)
