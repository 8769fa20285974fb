"""What ``kafka-transactions`` finds and writes: columns, and documents for ``--json``.

Source: TransactionsCommand.java.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from protocol.admin.transactions import ProducerView, TransactionListing, TransactionView
from protocol.ids import TopicPartition

_NONE: Final = "None"
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """What a producer has open in one partition."""

    tp: TopicPartition
    producer: ProducerView


def open_for_long(
    producers: Mapping[TopicPartition, Sequence[ProducerView]], *, longer_than_ms: int, now_ms: int
) -> list[OpenTransaction]:
    """Return what is open and was not written to for longer than a transaction may last."""
    return [
        OpenTransaction(tp, each)
        for tp, found in producers.items()
        for each in found
        if each.transaction_start_offset is not None
        and now_ms - each.last_timestamp_ms > longer_than_ms
    ]


def hanging(
    candidates: Sequence[OpenTransaction], known: Mapping[int, TransactionView | None]
) -> list[OpenTransaction]:
    """Return those to which no coordinator will write a marker.

    ``known`` has, by producer id, what coordinators say; None: the id went meanwhile.
    """
    found: list[OpenTransaction] = []
    for each in candidates:
        view = known.get(each.producer.producer_id)
        if view is None or each.tp not in view.partitions:
            found.append(each)
    return found


def listing_lines(found: Sequence[tuple[int, TransactionListing]]) -> Iterator[str]:
    """Return the lines of a list: coordinators with what is theirs."""
    columns = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
    rows = [
        (each.transactional_id, str(broker), str(each.producer_id), each.state)
        for broker, each in found
    ]
    return _table(columns, rows)


def listing_document(found: Sequence[tuple[int, TransactionListing]]) -> list[dict[str, Any]]:
    """Return a list as a document."""
    return [{**asdict(each), "coordinator": broker} for broker, each in found]


def transaction_lines(view: TransactionView, coordinator: int, now_ms: int) -> Iterator[str]:
    """Return the lines about one transactional id."""
    columns = (
        *("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"),
        *("TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs"),
        "TopicPartitions",
    )
    started_ms = view.started_ms
    times = (_NONE, _NONE)
    if started_ms is not None:
        times = (str(started_ms), str(now_ms - started_ms))
    row = (
        *(str(coordinator), view.transactional_id, str(view.producer_id)),
        *(str(view.producer_epoch), view.state, str(view.timeout_ms), *times),
        ",".join(map(str, view.partitions)),
    )
    return _table(columns, [row])


def transaction_document(view: TransactionView, coordinator: int) -> dict[str, Any]:
    """Return one transactional id as a document."""
    partitions = [each._asdict() for each in view.partitions]
    return {**asdict(view), "partitions": partitions, "coordinator": coordinator}


def producer_lines(producers: Sequence[ProducerView]) -> Iterator[str]:
    """Return the lines about the producers of a partition."""
    columns = (
        *("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch"),
        *("LastSequence", "LastTimestamp", "CurrentTransactionStartOffset"),
    )
    rows = [
        (
            *(str(each.producer_id), str(each.producer_epoch), str(each.coordinator_epoch)),
            *(str(each.last_sequence), str(each.last_timestamp_ms)),
            str(each.transaction_start_offset),
        )
        for each in producers
    ]
    return _table(columns, rows)


def producer_document(producers: Sequence[ProducerView]) -> list[dict[str, Any]]:
    """Return producers as a document."""
    return [asdict(each) for each in producers]


def hanging_lines(found: Sequence[OpenTransaction], now_ms: int) -> Iterator[str]:
    """Return the lines about transactions that hang."""
    columns = (
        *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch"),
        *("StartOffset", "LastTimestamp", "Duration(min)"),
    )
    rows = [
        (
            *(each.tp.topic, str(each.tp.partition), str(each.producer.producer_id)),
            *(str(each.producer.producer_epoch), str(each.producer.coordinator_epoch)),
            str(each.producer.transaction_start_offset),
            str(each.producer.last_timestamp_ms),
            str((now_ms - each.producer.last_timestamp_ms) // _MINUTE_MS),
        )
        for each in found
    ]
    return _table(columns, rows)


def hanging_document(found: Sequence[OpenTransaction]) -> list[dict[str, Any]]:
    """Return transactions that hang as a document."""
    return [{**each.tp._asdict(), **asdict(each.producer)} for each in found]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return each row with a tab behind each word, as Kafka does."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for words in (columns, *rows):
        yield "".join(f"{word:<{width}}\t" for word, width in zip(words, widths, strict=True))
