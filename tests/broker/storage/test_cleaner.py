"""Compaction of one log on a disk: against a dict, cut at every operation, and given up."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.core.compaction import CompactionRules
from broker.core.leader_epochs import LeaderEpochs
from broker.storage.batch_scan import CorruptBatch, MisplacedBatch
from broker.storage.cleaner import CleaningPass, DirtyPart, PassOptions, SegmentsChanged
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, open_log
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment_files import PartitionFiles
from protocol.ports import Disk
from protocol.records.batch import stamp
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.records import ControlRecordType
from tests.broker.fake_configs import compaction_rules
from tests.broker.storage.builders import Config, faulty, log_on, produced
from tests.broker.storage.keyed import Pairs, keyed_batch, keyed_log, last_values, records_of

CONFIG = Config(segment_bytes=300)
RULES = dataclasses.replace(compaction_rules(), segment_bytes=300)
OPTIONS = PassOptions(now_ms=1_000_000, step_bytes=128)


def dirty_part(log: PartitionLog, start: int = 0) -> DirtyPart:
    return DirtyPart(start, log.segment_base_offsets[-1])


def compact(
    log: PartitionLog,
    *,
    start: int = 0,
    rules: CompactionRules = RULES,
    options: PassOptions = OPTIONS,
    **changed: int,
) -> CleaningPass:
    """Run a pass to its end; replaced segments are removed at once."""
    cleaning = CleaningPass(
        log, dirty_part(log, start), rules, dataclasses.replace(options, **changed)
    )
    while not cleaning.is_done:
        cleaning.step()
        for aside in cleaning.take_set_aside():
            aside.remove()
    return cleaning


def reopened(disk: Disk, *, recovery_point: int = 0) -> PartitionLog:
    known = KnownOffsets(recovery_point=recovery_point)
    directory = PartitionFiles(LogDirFiles(disk), "orders-0")
    return open_log(directory, CONFIG, known, now_ms=0).log


KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
VALUES = st.none() | st.binary(min_size=1, max_size=60)
LOGS: st.SearchStrategy[list[Pairs]] = st.lists(
    st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4), min_size=1, max_size=25
)


@given(LOGS, st.integers(0, 30), st.integers(0, 1_200))
@settings(max_examples=40, deadline=None)
def test_a_compacted_log_is_what_a_dict_of_last_values_says(
    batches: list[Pairs], first_dirty: int, map_bytes: int
) -> None:
    disk = MemoryDisk()
    log = keyed_log(disk, batches, CONFIG)
    before = {record.offset: record for record in records_of(log)}
    end = log.log_end_offset
    bound = log.segment_base_offsets[-1]
    cleaning = compact(log, start=min(first_dirty, bound), map_bytes_max=map_bytes)
    assert min(first_dirty, bound) <= cleaning.end_offset <= bound
    after = {record.offset: record for record in records_of(log)}
    assert all(before[offset] == record for offset, record in after.items())
    assert last_values(after.values()) == last_values(before.values())
    for start in range(0, end, 7):
        wanted = last_values(record for at, record in before.items() if at >= start)
        assert last_values(records_of(log, start)) == wanted
    log.flush()
    again = {record.offset: record for record in records_of(reopened(disk))}
    assert again == after
    assert reopened(disk).log_end_offset == end


@given(LOGS)
@settings(max_examples=20, deadline=None)
def test_passes_until_the_end_leave_one_record_per_key(batches: list[Pairs]) -> None:
    log = keyed_log(MemoryDisk(), batches, CONFIG)
    before = {record.offset: record for record in records_of(log)}
    bound, start = log.segment_base_offsets[-1], 0
    while start < bound:
        cleaning = compact(log, start=start, map_bytes_max=60)
        assert cleaning.end_offset > start
        start = cleaning.end_offset
    last = {one.key: at for at, one in before.items() if at < bound}
    expected = sorted([*last.values(), *[at for at in before if at >= bound]])
    assert [record.offset for record in records_of(log)] == expected


def numbered(count: int, keys: int = 3) -> list[Pairs]:
    return [[(b"%d" % (number % keys), b"%30d" % number)] for number in range(count)]


def test_a_pass_reads_little_in_each_step_and_merges_small_segments() -> None:
    log = keyed_log(MemoryDisk(), numbered(60), CONFIG)
    assert len(log.segments) > 10
    before_bytes = log.size_bytes
    cleaning = CleaningPass(log, dirty_part(log), RULES, OPTIONS)
    steps: list[int] = []
    while not cleaning.is_done:
        steps.append(cleaning.step())
    assert max(steps) <= 2 * (OPTIONS.step_bytes + 150)
    assert cleaning.read_bytes == 2 * (before_bytes - log.segments[-1].size_bytes)
    assert log.size_bytes == sum(segment.size_bytes for segment in log.segments)
    assert len(cleaning.take_set_aside()) == len(log.segments) - 1
    compact(log)
    assert len(log.segments) == 2


def test_a_step_looks_at_few_records() -> None:
    pairs: Pairs = [(b"%d" % number, b"") for number in range(8)]
    log = keyed_log(MemoryDisk(), [pairs] * 40, CONFIG)
    options = dataclasses.replace(OPTIONS, step_bytes=1 << 20, step_records=8)
    cleaning = CleaningPass(log, dirty_part(log), RULES, options)
    steps: list[int] = []
    while not cleaning.is_done:
        steps.append(cleaning.step())
    assert len([one for one in steps if one]) == 2 * (log.segment_base_offsets[-1] // 8)


def test_reading_goes_on_across_a_segment_that_became_empty() -> None:
    rules = dataclasses.replace(RULES, segment_bytes=1)
    log = keyed_log(MemoryDisk(), numbered(30, keys=1), CONFIG)
    bases = log.segment_base_offsets
    compact(log, rules=rules)
    assert log.segment_base_offsets == bases
    assert log.segments[0].size_bytes == 0
    kept = [record.offset for record in records_of(log)]
    assert kept == [bases[-1] - 1, *range(bases[-1], 30)]
    assert log.offset_for_timestamp(0) is not None


def test_tombstones_stay_for_their_retention_and_go_then() -> None:
    log = keyed_log(MemoryDisk(), [[(b"a", b"1")], [(b"a", None)], *numbered(20)], CONFIG)
    compact(log, now_ms=1_000_000)
    assert [one.value for one in records_of(log) if one.key == b"a"] == [None]
    compact(log, now_ms=1_000_000 + RULES.delete_retention_ms - 1)
    assert [one.value for one in records_of(log) if one.key == b"a"] == [None]
    compact(log, now_ms=1_000_000 + RULES.delete_retention_ms)
    assert [one.value for one in records_of(log) if one.key == b"a"] == []


def test_the_state_of_a_producer_survives_compaction_and_restart() -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=CONFIG)
    for sequence in range(5):
        log.append([keyed_batch(sequence, [(b"p", b"%d" % sequence)], producer_id=7)], now_ms=0)
    log.append(
        [keyed_batch(offset, [(b"p", b"%60d" % offset)]) for offset in range(5, 30)], now_ms=0
    )
    before = log.producer_entries
    compact(log)
    log.flush()
    for name in disk.list_dir("orders-0"):
        if name.endswith(".snapshot"):
            disk.remove(f"orders-0/{name}")
    assert reopened(disk).producer_entries == before
    assert 4 not in [record.offset for record in records_of(log)]


def transaction(log: PartitionLog, key: bytes, control: ControlRecordType) -> None:
    """Two records and their marker."""
    first = log.log_end_offset
    options = BatchOptions(
        base_offset=first,
        producer_id=7,
        producer_epoch=0,
        base_sequence=first,
        is_transactional=True,
    )
    log.append([build_batch([NewRecord(b"v", key), NewRecord(b"w", key)], options)], now_ms=0)
    marker = build_end_marker(
        control, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp_ms=5
    )
    stamp(marker, 0, base_offset=log.log_end_offset, leader_epoch=0)
    log.append([marker], now_ms=0)


def test_aborted_records_go_while_their_entry_stays_as_long_as_the_marker() -> None:
    log = log_on(MemoryDisk(), config=CONFIG)
    transaction(log, b"gone", ControlRecordType.ABORT)
    transaction(log, b"kept", ControlRecordType.COMMIT)
    for offset in range(6, 20):
        log.append([keyed_batch(offset, [(b"x", b"%60d" % offset)])], now_ms=0)
    compact(log)
    keys = [record.key for record in records_of(log)]
    assert b"gone" not in keys
    assert keys.count(b"kept") == 1
    assert [one.first_offset for one in log.aborted_transactions(0, 10)] == [0]
    day_ms = RULES.delete_retention_ms
    compact(log, now_ms=1_000_000)
    assert log.aborted_transactions(0, 10) == []
    markers = len(records_of(log))
    compact(log, now_ms=1_000_000 + day_ms)
    assert len(records_of(log)) == markers - 1


@pytest.mark.parametrize("what", ["truncate", "retain", "restart"])
def test_a_pass_gives_up_when_its_segments_change(what: str) -> None:
    disk = MemoryDisk()
    log = keyed_log(disk, numbered(60), CONFIG)
    cleaning = CleaningPass(log, dirty_part(log), RULES, OPTIONS)
    while cleaning.written_bytes == 0:
        cleaning.step()
    match what:
        case "truncate":
            log.truncate_to(20)
        case "retain":
            log.remove_oldest(len(log.segments) - 1, now_ms=0)
        case _:
            log.truncate_fully_and_start_at(100)
    with pytest.raises(SegmentsChanged):
        cleaning.step()
    cleaning.discard()
    assert not [name for name in disk.list_dir("orders-0") if name.endswith(".cleaned")]


def test_a_pass_goes_on_while_the_log_grows() -> None:
    log = keyed_log(MemoryDisk(), numbered(40), CONFIG)
    cleaning = CleaningPass(log, dirty_part(log), RULES, OPTIONS)
    before = last_values(records_of(log))
    offset = 40
    while not cleaning.is_done:
        cleaning.step()
        log.append([keyed_batch(offset, [(b"new", b"%d" % offset)])], now_ms=0)
        before[b"new"] = b"%d" % offset
        offset += 1
    assert last_values(records_of(log)) == before


def test_a_damaged_batch_ends_the_pass_and_changes_nothing() -> None:
    disk = MemoryDisk()
    log = keyed_log(disk, numbered(40), CONFIG)
    name = f"orders-0/{log.segment_base_offsets[2]:020d}.log"
    data = bytearray(disk.read_file(name))
    data[80] ^= 1
    disk.write_file(name, data)
    bases = log.segment_base_offsets
    with pytest.raises(CorruptBatch):
        compact(log)
    assert log.segment_base_offsets == bases


@pytest.mark.parametrize(
    ("changed", "reason"),
    [(5, "offsets 65566 to 65566"), (15, "leader epoch 1 at offset 30")],
    ids=["base offset", "leader epoch"],
)
def test_what_no_crc_covers_is_held_against_what_the_log_knows(changed: int, reason: str) -> None:
    """A pass wrote a base offset that it had misread for good (seed 740674)."""
    disk = MemoryDisk()
    log = keyed_log(disk, numbered(40), CONFIG)
    bases = log.segment_base_offsets
    name = f"orders-0/{bases[-4]:020d}.log"
    data = bytearray(disk.read_file(name))
    data[changed] ^= 1
    disk.write_file(name, data)
    options = dataclasses.replace(OPTIONS, epochs=LeaderEpochs([(0, 0)]))
    with pytest.raises(MisplacedBatch, match=reason):
        compact(log, options=options)
    assert log.segment_base_offsets == bases


def cut_pass(count: int, *, power_cut: bool) -> MemoryDisk | None:
    """Compact a durable log until its ``count``-th operation; None when the pass got through."""
    memory = MemoryDisk()
    disk = faulty(memory)
    log = keyed_log(disk, numbered(14), CONFIG)
    log.flush()
    rule = disk.set_fault("eio", from_nth=count)
    with contextlib.suppress(OSError):
        compact(log, step_bytes=400)
    if rule.hits == 0:
        return None
    disk.clear()
    if power_cut:
        memory.power_cut()
    else:
        memory.kill()
    return memory


@pytest.mark.parametrize("power_cut", [False, True], ids=["killed", "power cut"])
def test_a_pass_cut_at_any_operation_leaves_every_last_value(*, power_cut: bool) -> None:
    whole = keyed_log(MemoryDisk(), numbered(14), CONFIG)
    before = {record.offset: record for record in records_of(whole)}
    count = 1
    sizes: set[int] = set()
    while (memory := cut_pass(count, power_cut=power_cut)) is not None:
        log = reopened(memory, recovery_point=14)
        found = {record.offset: record for record in records_of(log)}
        assert all(before[at] == record for at, record in found.items()), f"cut at {count}"
        assert last_values(found.values()) == last_values(before.values()), f"cut at {count}"
        assert log.log_end_offset == 14
        names = memory.list_dir("orders-0")
        assert not [n for n in names if n.endswith((".cleaned", ".swap", ".deleted"))]
        compact(log)
        assert last_values(records_of(log)) == last_values(before.values())
        sizes.add(len(found))
        count += 1
    assert count > 60
    assert len(sizes) > 2


def test_records_of_an_old_producer_are_no_state_to_keep() -> None:
    log = log_on(MemoryDisk(), config=CONFIG)
    log.append([produced(0, 7, 0)], now_ms=0)
    for offset in range(1, 20):
        log.append([keyed_batch(offset, [(b"x", b"%60d" % offset)])], now_ms=0)
    compact(log)
    assert 0 not in [record.offset for record in records_of(log)]
