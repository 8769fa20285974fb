"""Idempotent producers leave no duplicates and no gaps, and none is ended for what it did right.

Compaction takes batches away and changes no numbers: there, sequences leave out and never repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocol.ids import TopicPartition
from protocol.records.batch import SEQUENCE_COUNT
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import EVER, is_damaged
from simulation.core.history import Kind, Send, Txn
from simulation.core.plan import is_examined
from simulation.core.samples import BatchSample, LogSample

NAME: Final = "idempotence"
_OUT_OF_ORDER: Final = "OUT_OF_ORDER_SEQUENCE_NUMBER"


def check_idempotence(evidence: Evidence) -> list[Violation]:
    """Look at the numbers of producers, and of records, in the leaders' logs at the end."""
    deletions = deletions_of(evidence)
    compacted = deletions.compacted
    forgiven = evidence.forgiven
    idempotent = dict.fromkeys(_idempotent_records(evidence))
    disowned = _disowned_records(evidence)
    given_up = _given_up_counts(evidence)
    in_logs = [
        Violation(NAME, evidence.samples.ended_us, text)
        for log in evidence.samples.logs
        if log.is_leader and log.is_readable and not is_examined(log.tp.topic)
        if forgiven.get(log.tp) != EVER and not is_damaged(evidence.samples, log)
        for text in [
            *_sequence_faults(
                # Coordinators number no batches of offsets. Source: CoordinatorRuntime.java.
                log._replace(batches=()) if log.tp.topic == CONSUMER_OFFSETS else log,
                # In a topic that was made anew a producer goes on with the number it had.
                is_whole=log.tp not in forgiven
                and log.log_start_offset == 0
                and not deletions.took_topic(log.tp.topic, 0),
                given_up_count=given_up.get(log.tp, 0),
                may_skip=log.tp.topic in compacted,
            ),
            *_duplicates(log, idempotent),
            *_disowned(log, disowned),
        ]
    ]
    return [*_shared_ids(evidence), *in_logs]


def _shared_ids(evidence: Evidence) -> Iterator[Violation]:
    """Tell of each id that two clients have: a leader takes the ones' batches for the others'."""
    owners: dict[int, str] = {}
    told: dict[int, None] = {}
    for operation in evidence.history:
        value = operation.value
        if not isinstance(value, Send) or value.producer is None:
            continue
        producer_id = value.producer.producer_id
        if producer_id < 0:
            continue  # a library that is not idempotent
        first = owners.setdefault(producer_id, operation.client)
        if first != operation.client and producer_id not in told:
            told[producer_id] = None
            text = f"producer id {producer_id} was given to {first} and to {operation.client}"
            yield Violation(NAME, operation.at_us, text)


def _idempotent_records(evidence: Evidence) -> Iterator[int]:
    for operation in evidence.history:
        value = operation.value
        sends = value.sends if isinstance(value, Txn) else (value,)
        for send in sends:
            if isinstance(send, Send) and send.producer is not None:
                yield from send.records


def _disowned_records(evidence: Evidence) -> dict[int, str]:
    """Return the records whose producers were told that they are out of order, and by whom.

    That ends a producer for good. It is true where the broker lacks what comes before; of a batch
    that is in the log it never is, for no producer here has more in flight than a leader remembers.
    But who is elected from outside of the Isr later may have what that broker lacked (seed
    1064952).
    """
    return {
        record: operation.client
        for operation in evidence.history
        if isinstance(operation.value, Send) and operation.error == _OUT_OF_ORDER
        if operation.at_us > evidence.forgiven.get(operation.value.tp, -1)
        for record in operation.value.records
    }


def _given_up_counts(evidence: Evidence) -> dict[TopicPartition, int]:
    """Count the records whose producers were told, or had to think, that they were not written.

    Of a producer that it does not know a broker takes any sequence, so that the second of two
    batches in flight may come first; the first one then never gets in.
    Source: ProducerAppendInfo.java checkSequence.
    """
    counts: dict[TopicPartition, int] = {}
    for operation in evidence.history:
        value = operation.value
        if operation.kind not in (Kind.FAIL, Kind.INFO):
            continue
        for send in value.sends if isinstance(value, Txn) else (value,):
            if isinstance(send, Send):
                counts[send.tp] = counts.get(send.tp, 0) + len(send.records)
    return counts


def _sequence_faults(
    log: LogSample, *, is_whole: bool, given_up_count: int, may_skip: bool
) -> Iterator[str]:
    """Look at each producer's batches, of which ``may_skip`` lets some be gone."""
    following: dict[tuple[int, int], int] = {}
    epochs: dict[int, int] = {}
    for batch in log.batches:
        if batch.producer_id < 0 or batch.base_sequence < 0:
            continue
        producer = (batch.producer_id, batch.producer_epoch)
        epoch = epochs.get(batch.producer_id, batch.producer_epoch)
        epochs[batch.producer_id] = max(epoch, batch.producer_epoch)
        if batch.producer_epoch < epoch:
            yield (
                f"{log.tp} offset {batch.base_offset}: producer {producer[0]} has epoch "
                f"{producer[1]} behind its epoch {epoch}"
            )
        may_begin = not is_whole or may_skip or batch.base_sequence <= given_up_count
        expected = following.get(producer, batch.base_sequence if may_begin else 0)
        skipped = (batch.base_sequence - expected) % SEQUENCE_COUNT
        if skipped and not (may_skip and skipped < SEQUENCE_COUNT // 2):
            yield (
                f"{log.tp} offset {batch.base_offset}: producer {producer[0]} epoch {producer[1]} "
                f"has sequence {batch.base_sequence} where {expected} follows"
            )
        following[producer] = _after(batch)


def _after(batch: BatchSample) -> int:
    count = batch.next_offset - batch.base_offset
    return (batch.base_sequence + count) % SEQUENCE_COUNT


def _disowned(log: LogSample, disowned: dict[int, str]) -> Iterator[str]:
    for batch in log.batches:
        for offset, record in batch.records:
            if record in disowned:
                yield (
                    f"{log.tp} has record {record} at offset {offset}, and {disowned[record]} was "
                    f"ended with {_OUT_OF_ORDER} for it"
                )


def _duplicates(log: LogSample, idempotent: dict[int, None]) -> Iterator[str]:
    seen: dict[int, int] = {}
    for batch in log.batches:
        for offset, record in batch.records:
            if record not in idempotent:
                continue
            first = seen.setdefault(record, offset)
            if first != offset:
                yield f"{log.tp} has record {record} at offset {first} and again at {offset}"
