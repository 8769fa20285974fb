"""What the newest batches that are kept in memory promise to readers at the end of a log."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from inspect import unwrap
from itertools import accumulate, takewhile

from broker.core.tail import NOTHING, Tail, TailCache, TailRead
from protocol.ports import Buffer
from simulation.contracts.contract import Broken, of_method


@of_method(Tail, "append")
def append(
    tail: Tail, first_offset: int, end_offset: int, batch: Buffer, now_ms: int
) -> Generator[None, None, Broken]:
    """What is kept has no gap and stays within its bounds; the newest batch comes last."""
    cache, joins = tail._cache, first_offset == tail.end_offset  # noqa: SLF001 -- nothing public
    yield
    if tail.end_offset != end_offset or tail.written_at_ms != now_ms:
        return f"it ends at {tail.end_offset}, not at {end_offset}"
    tails = cache._tails  # noqa: SLF001 -- as above
    if cache.size_bytes != sum(one.size_bytes for one in tails):
        return f"{cache.size_bytes} bytes are counted of {[one.size_bytes for one in tails]}"
    most = (cache.total_bytes_max, cache._tail_bytes_max)  # noqa: SLF001 -- as above
    if cache.size_bytes > most[0] or tail.size_bytes > most[1]:
        return f"{cache.size_bytes} bytes in all and {tail.size_bytes} of one, at most {most}"
    if tail.size_bytes == 0:
        return None
    found = unwrap(Tail.read)(tail, first_offset, len(batch), up_to=end_offset, min_one=False)
    if found is None or found.end_offset != end_offset or found.buffers[0] != batch:
        return f"{first_offset} to {end_offset} is read as {found and found[1:]}"
    return None if joins or _starts_at(tail, first_offset) else f"a gap before {first_offset}"


def _starts_at(tail: Tail, offset: int) -> bool:
    found = unwrap(Tail.read)(tail, offset - 1, 1, up_to=offset + 1, min_one=True)
    return found is None


@of_method(Tail, "read")
def read(
    tail: Tail, offset: int, max_bytes: int, *, up_to: int, min_one: bool
) -> Generator[None, TailRead | None, Broken]:
    """A reader gets whole batches one behind the other, from its offset and up to where it may."""
    found = yield
    if offset >= up_to:
        return None if found == NOTHING else f"{found} from {offset}, up to {up_to}"
    first = tail._first  # noqa: SLF001 -- nothing public has it
    starts = tail._starts[first:]  # noqa: SLF001 -- as above
    buffers = tail._buffers[first:]  # noqa: SLF001 -- as above
    ends = [*starts[1:], tail.end_offset]
    skipped = sum(1 for end in ends if end <= offset)
    if not starts or not starts[0] <= offset < ends[-1]:
        return None if found is None else f"{offset} is not in {starts[:1]} to {ends[-1:]}"
    visible = sum(1 for end in ends[skipped:] if end <= up_to)
    sizes = [len(each) for each in buffers[skipped : skipped + visible] if each is not None]
    count = sum(1 for _ in takewhile(lambda total: total <= max_bytes, accumulate(sizes)))
    count = max(count, min_one and visible > 0)
    last = skipped + count
    wanted = (count, sum(sizes[:count]), ends[last - 1] if count else -1)
    if found is None or (len(found.buffers), found.size_bytes, found.end_offset) != wanted:
        return f"{found and found[1:]} from {offset} to {up_to}, at most {max_bytes}: not {wanted}"
    if count and (found.buffers[0] is not buffers[skipped]):
        return f"it does not begin with the batch of {offset}"
    return None


@of_method(Tail, "clear")
def clear(tail: Tail, end_offset: int | None = None) -> Generator[None, None, Broken]:
    """Of a log that was cut nothing is kept, and it goes on where it ends."""
    before, kept_bytes, cache = tail.end_offset, tail.size_bytes, tail._cache  # noqa: SLF001
    all_bytes = cache.size_bytes
    yield
    wanted = before if end_offset is None else end_offset
    is_counted = cache.size_bytes == all_bytes - kept_bytes
    if tail.end_offset != wanted or tail.size_bytes or tail._starts or not is_counted:  # noqa: SLF001
        return f"{tail.size_bytes} bytes are kept up to {tail.end_offset}, not {wanted}"
    return None


@of_method(TailCache, "drop_older_than")
def drop_older_than(cache: TailCache, written_before_ms: int) -> Generator[None, None, Broken]:
    """Tails that are old are dropped, others stay."""
    before = [(one, one.size_bytes) for one in cache._tails]  # noqa: SLF001 -- nothing public
    yield
    for tail, size_bytes in before:
        wanted = 0 if tail.written_at_ms < written_before_ms else size_bytes
        if tail.size_bytes != wanted:
            return f"{tail.size_bytes} bytes of {tail.written_at_ms}, before {written_before_ms}"
    return None
