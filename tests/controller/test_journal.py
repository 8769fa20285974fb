"""The journal: what was durable survives, what was not is left out, damage is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

import controller.journal
from controller.core.decision import Decision, Durable
from controller.core.records import ControllerStarted, ProducerIdsAllocated, Record
from controller.core.state import ClusterState
from controller.journal import (
    Entry,
    Journal,
    JournalCorruptError,
    JournalFile,
    JournalInUseError,
    decode_entry,
    encode_entry,
    replay,
)
from tests.controller.core.cluster import Cluster, three_brokers
from tests.controller.core.story import Move, Story, moves

PATH = Path("journal.jsonl")


def ids(*numbers: int) -> list[Record]:
    return [ProducerIdsAllocated(number) for number in numbers]


def decision(records: Sequence[Record], number: int = 1) -> Decision:
    return Decision(number, records, [])


def decisions_of(cluster: Cluster) -> list[list[Record]]:
    return [cluster.records[a:b] for a, b in pairwise([0, *cluster.decision_ends])]


def lines(*groups: list[list[Record]]) -> bytes:
    """Return the bytes of groups of decisions."""
    data = b""
    sequence = 0
    for group in groups:
        first = sequence
        for records in group:
            data += encode_entry(Entry(sequence, first, records))
            sequence += 1
    return data


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool


@hypothesis_settings(max_examples=25, deadline=None)
@given(moves)
def test_every_record_survives_its_line(story_moves: list[Move]) -> None:
    story = Story()
    for move in story_moves:
        story.play(move)
    records = story.end().records

    entry = Entry(3, 2, records)
    line = encode_entry(entry)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_entry(line[:-1]) == entry


def test_a_journal_rebuilds_the_state() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])

    replayed = replay(lines(decisions_of(cluster)), PATH)

    assert replayed.state == cluster.state
    assert (replayed.next_sequence, replayed.torn_bytes) == (len(decisions_of(cluster)), 0)


def test_a_cut_at_any_byte_loses_only_what_was_not_whole() -> None:
    data = lines([ids(1)], [ids(2, 3)], [ids(4)])
    ends = [0, *(i + 1 for i, byte in enumerate(data) if byte == ord("\n"))]
    expected = {0: 0, 1: 1, 2: 3, 3: 4}

    for cut in range(len(data) + 1):
        replayed = replay(data[:cut], PATH)
        whole = sum(end <= cut for end in ends) - 1
        assert replayed.state.next_producer_id == expected[whole]
        assert replayed.size_bytes == ends[whole]
        assert replayed.torn_bytes == cut - ends[whole]


def test_any_damaged_byte_of_a_durable_line_is_found_and_its_line_named() -> None:
    first, second, third = [ids(1)], [ids(2)], [ids(3)]
    data = lines(first, second, third)
    second_line = range(len(lines(first)), len(lines(first, second)))

    for position in second_line:
        damaged = bytearray(data)
        damaged[position] ^= 0x01
        with pytest.raises(JournalCorruptError) as error:
            replay(bytes(damaged), PATH)
        assert error.value.line_number == 2
        assert str(error.value).startswith("journal.jsonl, line 2: ")


def test_damage_in_the_last_group_is_a_torn_tail() -> None:
    data = bytearray(lines([ids(1)], [ids(2), ids(3)]))
    data[len(lines([ids(1)])) + 3] ^= 0x01

    replayed = replay(bytes(data), PATH)

    assert replayed.state.next_producer_id == 1
    assert replayed.torn_bytes == len(data) - len(lines([ids(1)]))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"00000000 []",
        b"zzzzzzzz " + encode_entry(Entry(0, 0, []))[9:],
    ],
)
def test_what_is_no_line_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="checksum"):
        decode_entry(line)


def test_an_unknown_record_is_refused() -> None:
    body = b'[0,0,[["Nonsense",{}]]]'
    line = b"%08x %s" % (controller.journal.crc32c(body), body)

    with pytest.raises(ValueError, match="unknown record Nonsense"):
        decode_entry(line)


def test_a_missing_line_is_found() -> None:
    data = lines([ids(1)], [ids(2)], [ids(3)])
    without_second = lines([ids(1)]) + data[len(lines([ids(1)], [ids(2)])) :]

    with pytest.raises(JournalCorruptError, match="sequence 2 where 1 belongs"):
        replay(without_second, PATH)


async def test_what_was_appended_is_there_for_the_next_one(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    first = Journal(JournalFile(tmp_path / "new" / "folder"), executor)
    assert (await first.load()).state == ClusterState()
    durable = await first.append([decision(ids(1), 1), decision(ids(2), 2)])
    assert durable == Durable(2)
    await first.append([decision(ids(3)), decision([])])  # What changes nothing has no line.
    await first.append([decision([])])
    await first.close()

    second = Journal(JournalFile(tmp_path / "new" / "folder"), executor)
    replayed = await second.load()
    await second.append([decision(ids(9))])
    await second.close()

    assert (replayed.state.next_producer_id, replayed.next_sequence) == (3, 3)
    content = (tmp_path / "new" / "folder" / "journal.jsonl").read_bytes()
    groups = [decode_entry(line)[:2] for line in content.splitlines()]
    assert groups == [(0, 0), (1, 0), (2, 2), (3, 3)]


async def test_only_the_owner_reads_what_has_keys_in_it(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    journal = Journal(JournalFile(tmp_path), executor)
    replayed = await journal.load()
    modes = [(tmp_path / "journal.jsonl").stat().st_mode & 0o777]
    await journal.compact(replayed.state)
    modes.append((tmp_path / "journal.jsonl").stat().st_mode & 0o777)
    await journal.close()
    assert modes == [0o600, 0o600]


async def test_a_journal_that_others_could_read_is_closed_to_them(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    file = tmp_path / "journal.jsonl"
    file.write_bytes(lines([ids(1)]))
    file.chmod(0o644)
    journal = Journal(JournalFile(tmp_path), executor)
    await journal.load()
    await journal.close()
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_torn_tail_is_cut_off_before_more_is_written(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    file = tmp_path / "journal.jsonl"
    file.write_bytes(lines([ids(1)]) + b"half a li")

    journal = Journal(JournalFile(tmp_path), executor)
    replayed = await journal.load()
    await journal.append([decision(ids(2))])
    await journal.close()

    assert replayed.torn_bytes == 9
    assert file.read_bytes() == lines([ids(1)], [ids(2)])


async def test_a_second_journal_on_the_same_folder_is_refused(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    first = Journal(JournalFile(tmp_path), executor)
    await first.load()
    second = Journal(JournalFile(tmp_path), executor)

    with pytest.raises(JournalInUseError, match="belongs to a running controller"):
        await second.load()

    await first.close()
    await second.load()
    await second.close()


async def test_a_compacted_journal_rebuilds_the_same_state_in_one_line(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], [2, 3])
    journal = Journal(JournalFile(tmp_path), executor)
    await journal.load()
    await journal.append([decision([record]) for record in cluster.records])

    await journal.compact(cluster.state)
    await journal.append([decision(ids(77))])
    await journal.close()

    content = (tmp_path / "journal.jsonl").read_bytes()
    assert content.count(b"\n") == 2
    again = replay(content, PATH).state
    assert again.topics == cluster.state.topics
    assert again.next_producer_id == 77


def test_a_file_that_takes_the_place_of_another_is_the_only_one_that_is_open(
    tmp_path: Path,
) -> None:
    file = JournalFile(tmp_path)
    file.open()
    before = psutil.Process().num_fds()
    for content in (b"one\n", b"two\n"):
        file.replace(content)
    assert psutil.Process().num_fds() == before
    file.close()
    assert file.path.read_bytes() == b"two\n"


async def test_a_crash_while_compacting_leaves_the_old_or_the_new_journal(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    journal = Journal(JournalFile(tmp_path), executor)
    await journal.load()
    await journal.append([decision(ids(5))])
    await journal.close()
    (tmp_path / "journal.tmp").write_bytes(b"a snapshot that never got its name")

    again = Journal(JournalFile(tmp_path), executor)
    assert (await again.load()).state.next_producer_id == 5
    await again.compact(await_state := ClusterState(next_producer_id=5))
    await again.close()

    assert replay((tmp_path / "journal.jsonl").read_bytes(), PATH).state == await_state
    assert not (tmp_path / "journal.tmp").exists()


async def test_growth_asks_for_compaction(tmp_path: Path, executor: ThreadPoolExecutor) -> None:
    journal = Journal(JournalFile(tmp_path), executor, compact_bytes_min=1000)
    await journal.load()
    assert not journal.should_compact

    await journal.append([decision([ControllerStarted("x" * 1000, 1)])])
    assert journal.should_compact
    await journal.compact(ClusterState(cluster_id="x" * 1000))

    # It may grow again to several times what the snapshot takes.
    assert not journal.should_compact
    await journal.close()


async def test_appends_never_block_the_loop(tmp_path: Path, executor: ThreadPoolExecutor) -> None:
    class SlowFile(JournalFile):
        def append(self, data: bytes) -> None:
            asyncio.run_coroutine_threadsafe(reached(), loop).result()
            super().append(data)

    async def reached() -> None:
        """Runs on the loop while the append is under way in its thread."""

    loop = asyncio.get_running_loop()
    journal = Journal(SlowFile(tmp_path), executor)
    await journal.load()

    await journal.append([decision(ids(1))])

    await journal.close()


async def test_a_failed_write_reaches_the_caller(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    class BrokenFile(JournalFile):
        def append(self, data: bytes) -> None:
            raise OSError(28, f"no space for {len(data)} bytes")

    journal = Journal(BrokenFile(tmp_path), executor)
    await journal.load()

    with pytest.raises(OSError, match="no space"):
        await journal.append([decision(ids(1))])
    await journal.close()
