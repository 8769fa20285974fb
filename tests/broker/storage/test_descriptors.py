from __future__ import annotations

import errno
import os
import random
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.storage.descriptors import DIRECT_BYTES_MIN, DirectWriter, past_cache, read_all

LARGE = DIRECT_BYTES_MIN


@pytest.fixture
def descriptor(tmp_path: Path) -> Generator[int]:
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


class Watched:
    """Counts the writes that went past the page cache."""

    def __init__(self, refusal: int | None = None) -> None:
        self.count = 0
        self.refusal = refusal

    @contextmanager
    def past_cache(self, descriptor: int) -> Generator[None]:
        self.count += 1
        if self.refusal is not None:
            raise OSError(self.refusal, "refused")
        with past_cache(descriptor):
            yield


def content(descriptor: int) -> bytes:
    return read_all(descriptor, 0, os.fstat(descriptor).st_size)


def drawn(chance: random.Random, size_bytes: int) -> list[bytes]:
    """Draw bytes of that size in a few buffers of any length."""
    cuts = sorted(chance.randrange(size_bytes + 1) for _ in range(chance.randrange(4)))
    data = chance.randbytes(size_bytes)
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, size_bytes], strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_a_file_holds_what_was_written_whatever_the_sizes(descriptor: int, seed: int) -> None:
    chance = random.Random(seed)
    writer, expected = DirectWriter(), b""
    for _ in range(6):
        position = chance.choice([len(expected), chance.randrange(len(expected) + 1)])
        sizes = [chance.randrange(5), 4096 * chance.randrange(40), chance.randrange(3 << 20)]
        buffers = drawn(chance, chance.choice(sizes))
        os.ftruncate(descriptor, position)  # As a log does it that was cut.
        writer.write(descriptor, buffers, position)
        expected = expected[:position] + b"".join(buffers)
        assert content(descriptor) == expected


def test_only_what_is_large_goes_past_the_page_cache(descriptor: int) -> None:
    watched = Watched()
    writer = DirectWriter(watched.past_cache)
    writer.write(descriptor, [bytes(LARGE - 1)], 0)
    assert watched.count == 0
    writer.write(descriptor, [bytes(LARGE - 1), b"x"], LARGE - 1)
    assert watched.count == 1
    assert content(descriptor) == bytes(2 * LARGE - 2) + b"x"


def test_the_descriptor_writes_through_the_page_cache_afterwards(descriptor: int) -> None:
    DirectWriter().write(descriptor, [bytes(LARGE)], 0)
    assert os.pwrite(descriptor, b"x", 1) == 1  # A direct write would refuse that.


def test_a_file_system_that_cannot_is_asked_once(descriptor: int) -> None:
    watched = Watched(errno.EINVAL)
    writer = DirectWriter(watched.past_cache)
    data = random.Random(1).randbytes(3 << 20)
    writer.write(descriptor, [data], 0)
    writer.write(descriptor, [data], len(data))
    assert content(descriptor) == data + data
    assert watched.count == 1


def test_the_error_of_a_broken_disk_is_told(descriptor: int) -> None:
    writer = DirectWriter(Watched(errno.EIO).past_cache)
    with pytest.raises(OSError, match="refused"):
        writer.write(descriptor, [bytes(LARGE)], 0)


def test_a_write_after_a_torn_one_takes_its_place(descriptor: int) -> None:
    writer = DirectWriter()
    writer.write(descriptor, [b"a" * 5000], 0)
    os.pwrite(descriptor, b"torn" * 100_000, 5000)
    writer.write(descriptor, [b"b" * LARGE], 5000)
    assert content(descriptor)[: 5000 + LARGE] == b"a" * 5000 + b"b" * LARGE
