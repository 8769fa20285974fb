"""What a log promises to remember of its producers, and to forget.

Source: ProducerStateManager.java; KIP-360.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final

from broker.core.producer_entry import Producer, ProducerEntry, WrittenBatch
from broker.core.producers import ProducerStates
from protocol.ids import NO_OFFSET, NO_SEQUENCE
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.logs.producers import known, open_offsets

_BUFFER_MS: Final = 300_000
"""After which a transaction hangs that its coordinator should have aborted."""


@of_method(ProducerStates, "has_late_transaction")
def has_late_transaction(
    states: ProducerStates, now_ms: int, timeout_max_ms: int
) -> Generator[None, bool, Broken]:
    """A transaction hangs if its coordinator should have aborted it five minutes ago."""
    is_late = yield
    opened = open_offsets(states)
    producers = states._producers.values()  # noqa: SLF001 -- nothing public has all
    oldest = [one for one in producers if opened and one.transaction_first_offset == opened[0]]
    wanted = any(0 < one.timestamp < now_ms - timeout_max_ms - _BUFFER_MS for one in oldest)
    return None if is_late is wanted else f"{is_late}, open since {opened}, now {now_ms}"


@of_method(ProducerStates, "expire")
def expire(
    states: ProducerStates, now_ms: int, expiration_ms: int
) -> Generator[None, list[int], Broken]:
    """Who is idle for long is forgotten, but for those with an open transaction."""
    idle_since = {
        producer_id: producer.timestamp if producer.seen_ms < 0 else producer.seen_ms
        for producer_id, producer in states._producers.items()  # noqa: SLF001 -- nothing public has all
        if producer.transaction_first_offset == NO_OFFSET
    }
    verifications = states._verifications._of_producers  # noqa: SLF001 -- nothing public has all
    begun_ms = {one: verification.created_ms for one, verification in verifications.items()}
    expired = yield
    wanted = [
        producer_id
        for producer_id, at_ms in idle_since.items()
        if (now_ms if at_ms < 0 else at_ms) + expiration_ms <= now_ms
    ]
    left = [producer_id for producer_id in idle_since if known(states, producer_id) is None]
    if expired != wanted or left != wanted:
        return f"{expired} are told, {left} forgotten, not {wanted}; now {now_ms}, {expiration_ms}"
    young = [one for one, at_ms in begun_ms.items() if at_ms + expiration_ms > now_ms]
    if list(verifications) != young:
        return f"verifications of {list(verifications)} are kept, not of {young}"
    return None


@of_method(ProducerStates, "forget")
def forget(states: ProducerStates, producer_ids: Iterable[int]) -> Generator[None, None, Broken]:
    """Nobody is forgotten while a transaction of his is open."""
    before = open_offsets(states)
    yield
    after = open_offsets(states)
    return None if after == before else f"open were {before}, are {after}"


@of_method(ProducerStates, "truncate_from_end")
def truncate_from_end(states: ProducerStates, offset: int) -> Generator[None, None, Broken]:
    """What is cut off was never written: its batches are forgotten and may come again."""
    producers = states._producers  # noqa: SLF001 -- nothing public has all
    before = {one: (list(each.batches), each.last_sequence) for one, each in producers.items()}
    opened = open_offsets(states)
    yield
    for producer_id, (batches, last) in before.items():
        after = producers[producer_id]
        kept = [batch for batch in batches if batch.last_offset < offset]
        gone = batches[len(kept) :]
        expected = last if not gone else gone[0].base_sequence - 1
        expected = kept[-1].last_sequence if gone and kept else expected
        if after.batches != kept or after.last_sequence != expected:
            return f"{batches} cut at {offset} are {after.batches}, last {after.last_sequence}"
    wanted = [first for first in opened if first < offset]
    left = (open_offsets(states), sorted(states._open))  # noqa: SLF001 -- nothing public has all
    return None if left == (wanted, wanted) else f"open {opened}, cut at {offset}: {left}"


@of_method(ProducerStates, "load")
def load(states: ProducerStates, entries: Iterable[ProducerEntry]) -> Generator[None, None, Broken]:
    """A snapshot names all producers, and nobody else is known."""
    named = list(entries) if isinstance(entries, (list, tuple)) else None
    yield
    if named is None:
        return None
    if states.snapshot_entries() != sorted(named):
        return f"{named} are loaded as {states.snapshot_entries()}"
    starts = sorted(one.transaction_first_offset for one in named)
    wanted = [start for start in starts if start != NO_OFFSET]
    found = list(states._open)  # noqa: SLF001 -- nothing public has all
    return None if found == wanted else f"open are {found}, not {wanted}"


@of_method(ProducerStates, "snapshot_entries")
def snapshot_entries(states: ProducerStates) -> Generator[None, list[ProducerEntry], Broken]:
    """A snapshot has of each producer its last batch, epoch, coordinator and open transaction."""
    entries = yield
    wanted: list[ProducerEntry] = []
    for producer_id, one in sorted(states._producers.items()):  # noqa: SLF001 -- nothing public has all
        batch = one.batches[-1] if one.batches else WrittenBatch(-1, NO_SEQUENCE, NO_OFFSET, 0, -1)
        last = (batch.last_sequence, batch.last_offset, batch.offset_delta, one.timestamp)
        open_since = one.transaction_first_offset
        wanted.append(
            ProducerEntry(producer_id, one.epoch, *last, one.coordinator_epoch, open_since)
        )
    return None if entries == wanted else f"{entries}, not {wanted}"


@of_method(Producer, "recall")
def recall(producer: Producer, batches: list[WrittenBatch]) -> Generator[None, None, Broken]:
    """A snapshot's last batch gets back the batches before it, five in all."""
    before = list(producer.batches)
    yield
    is_last = bool(before and batches) and batches[-1].last_offset == before[-1].last_offset
    wanted = list(batches)[-5:] if is_last else before
    return None if producer.batches == wanted else f"{before}, {batches}: {producer.batches}"


@of_method(Producer, "lacks_batches")
def lacks_batches(producer: Producer, first_offset: int) -> Generator[None, bool, Broken]:
    """A log is read again for batches that a duplicate may repeat and a snapshot does not have."""
    lacks = yield
    batches = producer.batches
    wanted = False
    if batches and batches[-1].last_offset >= first_offset:
        wanted = len(batches) < 5 and batches[0].base_sequence > 0
    return None if lacks is wanted else f"{lacks} with {batches} from {first_offset}"
