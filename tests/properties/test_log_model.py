"""Random lives of one log, held against a plain list of batches after every step.

Appended to, rolled, cut, shortened from its start, flushed, closed, killed and cut off from power,
in any order. The checkpoints of the log dir are kept as the engine keeps them; compaction has a
model of its own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker.core.leader_epochs import LeaderEpochs
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, open_log
from broker.storage.log_segments import SetAside
from broker.storage.memory_disk import MemoryDisk
from broker.storage.segment_files import PartitionFiles
from protocol.records.batch import read_batch_header, stamp
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.records import ControlRecordType
from tests.broker.storage.builders import Config, log_on
from tests.crash.judge import batches_of, check_log

NAME = "orders-0"
CONFIG = Config(segment_bytes=700, index_interval_bytes=150, segment_index_bytes=120)
FIRST_MS = 1_700_000_000_000

producers = st.integers(0, 3)
"""0 stands for none; 3 writes transactions."""


@dataclass(slots=True)
class Sequences:
    """The next sequence of each producer; a truncation begins new producers."""

    generation: int = 0
    next_sequence: dict[int, int] | None = None

    def take(self, producer: int, count: int) -> tuple[int, int]:
        """Return producer id and base sequence."""
        known = self.next_sequence = self.next_sequence or {}
        producer_id = self.generation * 10 + producer
        sequence = known.get(producer_id, 0)
        known[producer_id] = sequence + count
        return producer_id, sequence


class LogAndModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = MemoryDisk()
        self.log = log_on(self.disk, NAME, CONFIG)
        self.batches: dict[int, bytes] = {}
        """By base offset: what the log holds, whether it shows it or not."""
        self.ever: dict[int, list[bytes]] = {}
        """By base offset: everything that was written there."""
        self.epochs = LeaderEpochs()
        self.epoch = 0
        self.end = 0
        self.sequences = Sequences()
        self.recovery_point = 0
        """As the checkpoint on the disk says."""
        self.log_start = 0
        """As the checkpoint on the disk says."""
        self.set_aside: list[SetAside] = []

    # Writing.

    @rule(
        wanted=st.lists(st.tuples(producers, st.integers(1, 3)), min_size=1, max_size=4),
        size=st.sampled_from([0, 40, 300]),
        late_ms=st.sampled_from([0, 0, 5000]),
    )
    def append(self, wanted: list[tuple[int, int]], size: int, late_ms: int) -> None:
        self.write([self.records(producer, count, size, late_ms) for producer, count in wanted])

    def records(self, producer: int, count: int, size: int, late_ms: int) -> bytearray:
        options = BatchOptions()
        if producer:
            producer_id, sequence = self.sequences.take(producer, count)
            options = BatchOptions(
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=sequence,
                is_transactional=producer == 3,
            )
        at_ms = FIRST_MS + self.end * 10 - late_ms
        records = [
            NewRecord(value=b"%d." % number + bytes(size), timestamp_ms=at_ms + number * 10)
            for number in range(count)
        ]
        return build_batch(records, options)

    @rule(commits=st.booleans())
    def end_transaction(self, commits: bool) -> None:
        kind = ControlRecordType.COMMIT if commits else ControlRecordType.ABORT
        producer_id = self.sequences.generation * 10 + 3
        marker = build_end_marker(
            kind,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=1,
            timestamp_ms=FIRST_MS + self.end * 10,
        )
        self.write([marker])

    def write(self, made: list[bytearray]) -> None:
        if self.epochs.assign(self.epoch, self.end):
            self.write_epochs()
        for batch in made:
            stamp(batch, 0, base_offset=self.end, leader_epoch=self.epoch)
            self.batches[self.end] = bytes(batch)
            self.ever.setdefault(self.end, []).append(bytes(batch))
            self.end = read_batch_header(batch).next_offset
        assert self.log.append(made, now_ms=FIRST_MS) == self.end

    def write_epochs(self) -> None:
        self.log.write_leader_epochs(
            [(each.epoch, each.start_offset) for each in self.epochs.entries]
        )

    @rule()
    def elect(self) -> None:
        self.epoch += 1

    @rule()
    def roll(self) -> None:
        self.log.roll(now_ms=FIRST_MS)

    # Cutting.

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        bounds = [at for at in [*self.batches, self.end] if at >= self.log.log_start_offset]
        offset = bounds[int(share * (len(bounds) - 1))]
        self.log.truncate_to(offset)
        self.batches = {base: batch for base, batch in self.batches.items() if base < offset}
        self.after_cut(offset)

    @rule(ahead=st.integers(0, 50))
    def restart(self, ahead: int) -> None:
        offset = self.end + ahead
        self.log.truncate_fully_and_start_at(offset)
        self.batches.clear()
        self.after_cut(offset)

    def after_cut(self, offset: int) -> None:
        self.end = offset
        self.epoch += 1
        self.sequences.generation += 1
        if self.epochs.truncate_from_end(offset):
            self.write_epochs()
        self.recovery_point = min(self.recovery_point, self.log.recovery_point)

    @rule(share=st.floats(0, 1))
    def raise_log_start(self, share: float) -> None:
        start = self.log.log_start_offset
        self.log.raise_log_start_offset(start + int(share * (self.end - start)))
        self.epochs.truncate_from_start(self.log.log_start_offset)

    @rule()
    def retain(self) -> None:
        bases = self.log.segment_base_offsets
        count = sum(end <= self.log.log_start_offset for end in bases[1:])
        if count:
            self.set_aside.append(self.log.remove_oldest(count, now_ms=FIRST_MS))
            first = self.log.segment_base_offsets[0]
            self.batches = {base: b for base, b in self.batches.items() if base >= first}

    @precondition(lambda self: self.set_aside)
    @rule()
    def remove_set_aside(self) -> None:
        self.set_aside.pop(0).remove()

    # Making durable.

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.end

    @rule()
    def checkpoint(self) -> None:
        self.log.flush_sealed()
        self.recovery_point = self.log.recovery_point
        self.log_start = self.log.log_start_offset

    # Ending and opening.

    def reopen(self, *, was_clean: bool = False) -> None:
        self.set_aside.clear()
        known = KnownOffsets(
            recovery_point=self.recovery_point,
            log_start_offset=self.log_start,
            was_clean=was_clean,
            whole_from=self.recovery_point,
        )
        files = PartitionFiles(LogDirFiles(self.disk), NAME)
        opened = open_log(files, CONFIG, known, now_ms=FIRST_MS)
        self.log = opened.log
        check_log(self.log, opened.leader_epochs, opened.producers.snapshot_entries())
        self.epochs = LeaderEpochs(opened.leader_epochs)
        self.recovery_point = min(self.recovery_point, self.log.recovery_point)

    @rule()
    def close(self) -> None:
        start = self.log.log_start_offset
        self.log.close()
        self.recovery_point, self.log_start = self.end, start
        self.reopen(was_clean=True)
        assert (self.log.log_start_offset, self.log.log_end_offset) == (start, self.end)
        assert self.log.recovery_point == self.end

    @rule()
    def kill(self) -> None:
        before = self.log.recovery_point
        self.reopen()
        assert self.log.recovery_point <= before

    @rule(seed=st.one_of(st.none(), st.integers(0, 1000)))
    def cut_power(self, seed: int | None) -> None:
        durable_end = self.log.recovery_point
        kept = {
            base: batch
            for base, batch in self.batches.items()
            if base < durable_end and read_batch_header(batch).last_offset >= self.log_start
        }
        self.disk.power_cut(None if seed is None else random.Random(seed))
        if not self.disk.exists(NAME):
            assert not kept
            self.disk.make_dir(NAME)
        self.reopen()
        self.adopt(kept)

    def adopt(self, kept: dict[int, bytes]) -> None:
        """Go on with what was found, which has all that was durable and nothing invented."""
        found = {header.base_offset: batch for header, batch in batches_of(self.log)}
        assert {base: found.get(base) for base in kept} == kept
        for base, batch in found.items():
            assert batch in self.ever[base], f"nobody wrote the batch at {base}"
        self.batches, self.end = found, self.log.log_end_offset
        self.epoch += 1
        self.sequences.generation += 1

    # Always.

    @invariant()
    def the_log_is_its_batches(self) -> None:
        assert self.log.log_end_offset == self.end
        assert {header.base_offset: batch for header, batch in batches_of(self.log)} == self.batches

    @invariant()
    def everything_agrees_with_a_scan(self) -> None:
        entries = [(each.epoch, each.start_offset) for each in self.epochs.entries]
        check_log(self.log, entries, self.log.producer_entries)


class TestLogAndModel(LogAndModel.TestCase):
    settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
