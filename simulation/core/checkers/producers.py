"""What brokers know of producers is what the logs say: sequences, epochs, open transactions.

A leader holds the next batch of a producer against it, DescribeProducers tells it, and snapshots
bring it over restarts. Brokers may know of more than a log still has.
Source: ProducerStateManager.java, ProducerAppendInfo.java.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from protocol.ids import NO_OFFSET, NO_SEQUENCE
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import is_damaged
from simulation.core.plan import is_examined
from simulation.core.samples import BatchSample, LogSample, ProducerSample

NAME: Final = "producers"
_SEQUENCE_COUNT: Final = 2**31


def check_producers(evidence: Evidence) -> list[Violation]:
    """Look at every log of a broker that was asked for its producers, at the end."""
    samples = evidence.samples
    compacted = deletions_of(evidence).compacted
    is_skewed = bool(samples.clock_skews)
    return [
        Violation(NAME, samples.ended_us, f"broker {log.broker}, {log.tp}: {text}")
        for log in samples.logs
        if log.producers is not None and log.is_readable and not log.is_future
        if log.tp.topic not in compacted and not is_damaged(samples, log)
        for text in _differences(log, may_expire=is_skewed or is_examined(log.tp.topic))
    ]


def _differences(log: LogSample, *, may_expire: bool) -> Iterator[str]:
    known = {one.producer_id: one for one in log.producers or ()}
    found = _producers_of(log)
    for producer_id, wanted in found.items():
        has = known.get(producer_id)
        if has is None:
            if not may_expire:
                yield f"producer {producer_id} is not known, and the log has {_told(wanted)}"
        elif log.log_start_offset > 0:
            has = has._replace(transaction_first_offset=wanted.transaction_first_offset)
            if wanted.last_sequence == NO_SEQUENCE:  # Its records were deleted, a marker is left.
                has = has._replace(last_sequence=NO_SEQUENCE)
        if has is not None and has != wanted:
            yield f"producer {producer_id} has {_told(has)}, and the log has {_told(wanted)}"
    for producer_id, has in known.items():
        # What was deleted from an open transaction leaves it open: only its marker ends it.
        if producer_id not in found and has.transaction_first_offset >= log.log_start_offset:
            yield f"producer {producer_id} has {_told(has)}, and the log has nothing of it"


def _producers_of(log: LogSample) -> Mapping[int, ProducerSample]:
    found: dict[int, ProducerSample] = {}
    for batch in log.batches:
        if batch.producer_id >= 0:
            found[batch.producer_id] = _after(found.get(batch.producer_id), batch)
    return found


def _after(before: ProducerSample | None, batch: BatchSample) -> ProducerSample:
    """Return what is known of a producer behind one more batch of its."""
    is_new = before is None or before.epoch != batch.producer_epoch
    last_sequence = NO_SEQUENCE if before is None or is_new else before.last_sequence
    begun = NO_OFFSET if before is None else before.transaction_first_offset
    if batch.marker:
        begun = NO_OFFSET
    else:
        count = batch.next_offset - batch.base_offset
        last_sequence = (batch.base_sequence + count - 1) % _SEQUENCE_COUNT
        if batch.is_transactional and begun == NO_OFFSET:
            begun = batch.base_offset
    return ProducerSample(batch.producer_id, batch.producer_epoch, last_sequence, begun)


def _told(one: ProducerSample) -> str:
    begins = one.transaction_first_offset
    transaction = "none open" if begins == NO_OFFSET else f"one open from offset {begins}"
    return f"epoch {one.epoch}, last sequence {one.last_sequence}, transaction {transaction}"
