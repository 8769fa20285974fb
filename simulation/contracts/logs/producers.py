"""What a log promises its producers: no batch twice, none left out, none of an older instance.

Source: ProducerStateManager.java, ProducerAppendInfo.java; KIP-98, KIP-360, KIP-890.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from broker.core.producer_entry import Duplicate, Producer, WrittenBatch
from broker.core.producers import ProducerStates
from broker.core.transactions import EndedTransaction, EndMarker
from broker.core.verification import ALREADY_OPEN, VerificationGuard
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_OFFSET, NO_SEQUENCE
from protocol.records.batch import BatchHeader
from simulation.contracts.contract import Broken, of_method

_SEQUENCES: Final = 2**31


def known(states: ProducerStates, producer_id: int) -> Producer | None:
    """Return what a log knows of a producer; entries for snapshots say less."""
    return states._producers.get(producer_id)  # noqa: SLF001 -- nothing public has all batches


def is_open(states: ProducerStates, producer_id: int, epoch: int) -> bool:
    """Tell whether a transaction of this epoch is open."""
    producer = known(states, producer_id)
    is_same = producer is not None and producer.epoch == epoch
    return is_same and producer is not None and producer.transaction_first_offset != NO_OFFSET


def open_offsets(states: ProducerStates) -> list[int]:
    """Return where the open transactions begin."""
    producers = states._producers  # noqa: SLF001 -- as above
    if not producers:
        return []
    starts = [producer.transaction_first_offset for producer in producers.values()]
    return sorted([start for start in starts if start != NO_OFFSET])


def _repeated(producer: Producer | None, header: BatchHeader) -> Duplicate | None:
    """Return the batch that this one repeats: the same sequences in the same epoch."""
    if producer is None or producer.epoch != header.producer_epoch:
        return None
    for batch in producer.batches:
        if (batch.base_sequence, batch.offset_delta) == (
            header.base_sequence,
            header.last_offset_delta,
        ):
            first = batch.last_offset - batch.offset_delta
            return Duplicate(first, batch.last_offset, batch.timestamp)
    return None


def _goes_on(producer: Producer | None, header: BatchHeader) -> bool:
    """Tell whether the sequence is the next one; who is not known may begin anywhere."""
    if producer is None:
        return True
    if producer.epoch != header.producer_epoch:
        return header.base_sequence == 0
    return header.base_sequence == (producer.last_sequence + 1) % _SEQUENCES


def _verification(states: ProducerStates, producer_id: int) -> tuple[object, int, bool] | None:
    """Return guard, lowest sequence and whether each transaction has its own epoch."""
    verifications = states._verifications._of_producers  # noqa: SLF001 -- as above
    one = verifications.get(producer_id)
    return None if one is None else (one.guard, one.lowest_sequence, one.raises_epochs)


def _is_unverified(states: ProducerStates, header: BatchHeader, guard: object) -> bool:
    """Tell whether a batch brings a guard, and not the one that lets it in."""
    if guard is None or is_open(states, header.producer_id, header.producer_epoch):
        return False
    verification = _verification(states, header.producer_id)
    return verification is None or verification[0] is not guard


def _has_lost_its_guard(states: ProducerStates, header: BatchHeader, guard: object) -> bool:
    """Tell whether a batch brings no guard, and somebody was asked for its transaction."""
    if guard is not None or not header.is_transactional:
        return False
    one = states._verifications._of_producers.get(header.producer_id)  # noqa: SLF001 -- as above
    is_asked = one is not None and one.epoch == header.producer_epoch
    return is_asked and not is_open(states, header.producer_id, header.producer_epoch)


def _is_overtaking(states: ProducerStates, header: BatchHeader, guard: object) -> bool:
    """Tell whether a lower sequence must come first, which was seen on its way."""
    verification = _verification(states, header.producer_id)
    if guard is None or verification is None:
        return False
    _, lowest, raises_epochs = verification
    producer = known(states, header.producer_id)
    is_first = producer is None or not producer.batches
    return header.base_sequence > (0 if raises_epochs and is_first else lowest)


@of_method(ProducerStates, "check")
def check(
    states: ProducerStates, header: BatchHeader, guard: VerificationGuard | None = None
) -> Generator[None, Duplicate | None, Broken]:
    """What a producer sends is appended once and in order, and never after a newer instance.

    A batch that repeats one of the last five is answered with where that one is. One of a
    transaction is taken where that is open or verified (KIP-890).
    """
    producer = known(states, header.producer_id)
    repeated, follows = _repeated(producer, header), _goes_on(producer, header)
    has_open = producer is not None and producer.transaction_first_offset != NO_OFFSET
    is_older = producer is not None and header.producer_epoch < producer.epoch
    due = {
        ErrorCode.INVALID_PRODUCER_EPOCH: is_older,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: not is_older
        and (not follows or _is_overtaking(states, header, guard)),
        ErrorCode.INVALID_TXN_STATE: not is_older
        and ((has_open and not header.is_transactional) or _is_unverified(states, header, guard)),
    }
    is_repeat = repeated is not None and (guard is not None or not follows)
    is_unguarded = _has_lost_its_guard(states, header, guard)
    told = f"{header} with {producer.batches} of {producer.epoch}" if producer else f"{header}"
    try:
        answer = yield
    except KafkaError as error:
        is_due = not is_repeat and due.get(error.code, False)
        return None if is_due else f"{error.code.name}, and it repeats {repeated}: {told}"
    if is_repeat or answer is not None:
        return None if answer == repeated else f"{answer}, not {repeated}: {told}"
    missed = [code.name for code, holds in due.items() if holds]
    if is_unguarded:
        return f"somebody was asked for its transaction, and it brings no guard: {told}"
    return f"not {missed}: {told}" if missed else None


@of_method(ProducerStates, "check_epoch")
def check_epoch(
    states: ProducerStates, header: BatchHeader, guard: VerificationGuard | None = None
) -> Generator[None, None, Broken]:
    """A coordinator writes for no older instance of a producer, and only what is verified."""
    producer = known(states, header.producer_id)
    due = {
        ErrorCode.INVALID_PRODUCER_EPOCH: producer is not None
        and header.producer_epoch < producer.epoch,
        ErrorCode.INVALID_TXN_STATE: _is_unverified(states, header, guard),
    }
    is_unguarded = _has_lost_its_guard(states, header, guard)
    try:
        yield
    except KafkaError as error:
        return None if due.get(error.code) else f"{error.code.name} for {header}"
    if is_unguarded:
        return f"somebody was asked for its transaction, and it brings no guard: {header}"
    return f"{header} is taken, epoch {producer and producer.epoch}" if any(due.values()) else None


@of_method(ProducerStates, "begin_verification")
def begin_verification(
    states: ProducerStates,
    producer_id: int,
    epoch: int,
    sequence: int,
    *,
    raises_epochs: bool,
    now_ms: int,
) -> Generator[None, VerificationGuard, Broken]:
    """Of an open transaction nobody is asked; else all that a producer asks has one guard.

    And the lowest sequence of its newest epoch is kept. Who is fenced is told so, and
    changes nothing.
    """
    newest = known(states, producer_id)
    is_fenced = newest is not None and epoch < newest.epoch
    was_open, before = is_open(states, producer_id, epoch), _verification(states, producer_id)
    verifications = states._verifications._of_producers  # noqa: SLF001 -- as above
    known_epoch = epoch if before is None else verifications[producer_id].epoch
    try:
        guard = yield
    except KafkaError as error:
        is_as_before = _verification(states, producer_id) == before
        is_told = error.code is ErrorCode.INVALID_PRODUCER_EPOCH and is_fenced and is_as_before
        return None if is_told else f"{error.code.name}, fenced: {is_fenced}, {is_as_before}"
    after = _verification(states, producer_id)
    if is_fenced or was_open is not (guard is ALREADY_OPEN):
        told = f"guard of an open one: {guard is ALREADY_OPEN}"
        return f"epoch {epoch}, open: {was_open}, {told}; {newest} has written"
    if was_open:
        return None if after == before else "a verification changes"
    if after is None or after[0] is not guard or (before is not None and before[0] is not guard):
        return f"another guard is given, {before and before[1:]} becomes {after and after[1:]}"
    wanted = sequence
    if before is not None and known_epoch >= epoch:
        wanted = min(sequence, before[1]) if known_epoch == epoch else before[1]
    if after[1] != wanted:
        return f"sequence {sequence} of epoch {epoch} is seen, {after[1]} is kept, not {wanted}"
    return None


@of_method(ProducerStates, "is_verified")
def is_verified(
    states: ProducerStates, producer_id: int, epoch: int, guard: VerificationGuard
) -> Generator[None, bool, Broken]:
    """A transaction is verified while it is open, or its guard is the last one given."""
    found = yield
    verification = _verification(states, producer_id)
    is_last = verification is not None and verification[0] is guard
    wanted = is_last or is_open(states, producer_id, epoch)
    return None if found is wanted else f"{found}, and the guard is the last one: {is_last}"


@of_method(ProducerStates, "check_marker")
def check_marker(states: ProducerStates, marker: EndMarker) -> Generator[None, None, Broken]:
    """No marker of an older instance or coordinator ends a transaction.

    From transaction version 2 on one of the data's own epoch ends nothing, for it is of the
    transaction before (KIP-890).
    """
    producer = known(states, marker.producer_id)
    is_older = is_fenced = False
    if producer is not None:
        is_late = marker.transaction_version >= 2 and marker.producer_epoch == producer.epoch
        has_open = producer.transaction_first_offset != NO_OFFSET
        is_older = marker.producer_epoch < producer.epoch or (is_late and has_open)
        is_fenced = marker.coordinator_epoch < producer.coordinator_epoch
    try:
        yield
    except KafkaError as error:
        is_epoch = error.code is ErrorCode.INVALID_PRODUCER_EPOCH
        is_due = is_older if is_epoch else is_fenced and not is_older
        return None if is_due else f"{error.code.name} for {marker}"
    return f"{marker} may be written" if is_older or is_fenced else None


@of_method(ProducerStates, "update")
def update(
    states: ProducerStates,
    header: BatchHeader,
    base_offset: int,
    *,
    timestamp: int | None = None,
    now_ms: int = -1,
) -> Generator[None, None, Broken]:
    """Of each producer the last batches of its epoch are known, and where its transaction began."""
    producer_id = header.producer_id
    before = known(states, producer_id)
    is_same = before is not None and before.epoch == header.producer_epoch
    earlier = list(before.batches) if is_same and before is not None else []
    yield
    after = known(states, producer_id)
    if producer_id < 0 or after is None:
        return f"{header} is noted as {after}" if producer_id >= 0 or after is not None else None
    at = header.max_timestamp if timestamp is None else timestamp
    last_offset = base_offset + header.last_offset_delta
    written = WrittenBatch(
        header.base_sequence, header.last_sequence, last_offset, header.last_offset_delta, at
    )
    kept = states._batches_kept  # noqa: SLF001 -- who writes snapshots needs one
    if after.batches != [*earlier, written][-kept:]:
        return f"{written} after {earlier} is kept as {after.batches}"
    held = (after.epoch, after.last_sequence, after.timestamp, after.seen_ms)
    if held != (header.producer_epoch, header.last_sequence, at, now_ms):
        return f"epoch, last sequence, timestamp and seen_ms are {held} after {header}"
    return None


@of_method(ProducerStates, "update")
def opened(
    states: ProducerStates,
    header: BatchHeader,
    base_offset: int,
    *,
    timestamp: int | None = None,
    now_ms: int = -1,
) -> Generator[None, None, Broken]:
    """A transaction begins in a log with its first batch, and needs no verification any more."""
    producer_id = header.producer_id
    before = known(states, producer_id)
    began = NO_OFFSET if before is None else before.transaction_first_offset
    yield
    after = known(states, producer_id)
    if producer_id < 0 or after is None:
        return None
    begins = base_offset if began == NO_OFFSET and header.is_transactional else began
    if after.transaction_first_offset != begins:
        return f"its transaction begins at {after.transaction_first_offset}, not at {begins}"
    if begins != NO_OFFSET and states._open.get(begins) != producer_id:  # noqa: SLF001 -- as above
        return f"{producer_id} has a transaction open since {begins}, and is not named there"
    if began != begins and _verification(states, producer_id) is not None:
        return f"the transaction of {producer_id} is open, its verification is kept"
    return None


@of_method(ProducerStates, "end_transaction")
def end_transaction(
    states: ProducerStates, marker: EndMarker, offset: int, *, timestamp: int, now_ms: int = -1
) -> Generator[None, EndedTransaction | None, Broken]:
    """A marker ends what its producer has open; stable is then what begins before all others.

    It is known by its epoch and coordinator, and takes a verification of the transaction away.
    """
    before = known(states, marker.producer_id)
    began = NO_OFFSET if before is None else before.transaction_first_offset
    is_new = before is not None and before.epoch != marker.producer_epoch
    yielded = yield
    after = known(states, marker.producer_id)
    if after is None or after.transaction_first_offset != NO_OFFSET:
        return f"a transaction is open after {marker}: {after}"
    held = (after.epoch, after.coordinator_epoch, after.timestamp, after.seen_ms)
    if held != (marker.producer_epoch, marker.coordinator_epoch, timestamp, now_ms):
        return f"epoch, coordinator, timestamp and seen_ms are {held} after {marker}"
    if is_new and (after.batches or after.last_sequence != NO_SEQUENCE):
        return f"{after.batches} of an older epoch are kept by {marker}"
    wanted = None
    if began != NO_OFFSET:
        stable = min([offset + 1, *open_offsets(states)])
        ended = (marker.producer_id, began, offset, stable, not marker.is_commit)
        wanted = EndedTransaction(*ended)
    return None if yielded == wanted else f"{marker} at {offset} ends {yielded}, not {wanted}"


@of_method(ProducerStates, "end_transaction")
def takes_the_guard_away(
    states: ProducerStates, marker: EndMarker, offset: int, *, timestamp: int, now_ms: int = -1
) -> Generator[None, EndedTransaction | None, Broken]:
    """A verification does not outlive the marker of its transaction; that of the next one does."""
    before = states._verifications._of_producers.get(marker.producer_id)  # noqa: SLF001
    is_next = before is not None and before.raises_epochs and before.epoch == marker.producer_epoch
    yield
    if before is None or is_next is (_verification(states, marker.producer_id) is not None):
        return None
    return f"of epoch {before.epoch}, after {marker} kept: {not is_next}"
