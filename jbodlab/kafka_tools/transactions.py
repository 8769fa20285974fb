"""``kafka-transactions``: lists and describes transactions, aborts those that hang or are open.

Source: TransactionsCommand.java.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import Tool, ToolCommand, connect
from jbodlab.kafka_tools.core.failures import RUNTIME, ToolFailure, from_kafka
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.core.transaction_report import (
    OpenTransaction,
    hanging,
    hanging_document,
    hanging_lines,
    listing_document,
    listing_lines,
    open_for_long,
    producer_document,
    producer_lines,
    transaction_document,
    transaction_lines,
)
from jbodlab.kafka_tools.core.transaction_words import OPTIONS, check_words, unclear
from jbodlab.kafka_tools.questions import describe_topics, list_topics
from jbodlab.kafka_tools.report import Report
from jbodlab.kafka_tools.transaction_questions import (
    abort,
    describe_producers,
    describe_transaction,
    fence,
    list_transactions,
)
from protocol.admin.transactions import (
    ANY_DURATION,
    TransactionView,
    list_transactions_request,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

_TIMEOUT_MINUTES: Final = 15
_MINUTE_MS: Final = 60_000
_LONG_BITS: Final = 64
_PATTERN: Final = "transactional-id-pattern"


def _run(words: Words, report: Report) -> None:
    command = check_words(words)
    if text := unclear(command, words):
        raise ToolFailure(RUNTIME, text)
    with connect(TOOL, words) as client:
        _COMMANDS[command](client, words, report)


def _list(client: ClusterClient, words: Words, report: Report) -> None:
    request = list_transactions_request(
        duration_ms=words.number("duration-filter", ANY_DURATION, _LONG_BITS),
        pattern=words.value(_PATTERN) if words.has(_PATTERN) else None,
    )
    with _failing("Failed to list transactions"):
        found = list_transactions(client, request)
    for line in listing_lines(found):
        report.say(line)
    report.note("transactions", listing_document(found))


def _describe(client: ClusterClient, words: Words, report: Report) -> None:
    transactional_id = words.value("transactional-id")
    shown = f"`{transactional_id}`"
    with _failing(f"Failed to describe transaction state of transactional-id {shown}"):
        try:
            coordinator, view = describe_transaction(client, transactional_id)
        except KafkaError as error:
            if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
            text = (
                f"DescribeTransactions request for transactionalId {shown} failed because the ID "
                "could not be found"
            )
            raise KafkaError(error.code, text) from error
    for line in transaction_lines(view, coordinator, _now_ms()):
        report.say(line)
    report.note("transaction", transaction_document(view, coordinator))


def _describe_producers(client: ClusterClient, words: Words, report: Report) -> None:
    tp, broker = _partition(words), _broker(words)
    where = "leader" if broker is None else f"broker {broker}"
    with _failing(f"Failed to describe producers for partition {tp} on {where}"):
        producers = describe_producers(client, [tp], broker)[tp]
    for line in producer_lines(producers):
        report.say(line)
    report.note("producers", producer_document(producers))


def _abort(client: ClusterClient, words: Words, report: Report) -> None:
    tp = _partition(words)
    if words.has("start-offset"):
        producer = _open_at(client, tp, words.number("start-offset", 0, _LONG_BITS)).producer
        producer_id, epoch = producer.producer_id, producer.producer_epoch
        coordinator_epoch = max(0, producer.coordinator_epoch)
    else:
        producer_id = words.number("producer-id", 0, _LONG_BITS)
        epoch = words.number("producer-epoch", 0, 16)
        coordinator_epoch = max(0, words.number("coordinator-epoch", 0))
    spec = (
        f"AbortTransactionSpec(topicPartition={tp}, producerId={producer_id}, "
        f"producerEpoch={epoch}, coordinatorEpoch={coordinator_epoch})"
    )
    with _failing(f"Failed to abort transaction {spec}"):
        abort(
            client,
            tp,
            producer_id=producer_id,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
        )
    report.note("aborted", {**tp._asdict(), "producer_id": producer_id, "producer_epoch": epoch})


def _force_terminate(client: ClusterClient, words: Words, report: Report) -> None:
    transactional_id = words.value("transactionalId")
    with _failing(f"Failed to force terminate transactionalId `{transactional_id}`"):
        fence(client, transactional_id)
    report.note("terminated", {"transactional_id": transactional_id})


def _open_at(client: ClusterClient, tp: TopicPartition, offset: int) -> OpenTransaction:
    with _failing(f"Failed to validate producer state for partition {tp}"):
        producers = describe_producers(client, [tp], None)[tp]
    for each in producers:
        if each.transaction_start_offset == offset:
            return OpenTransaction(tp, each)
    text = f"Could not find any open transactions starting at offset {offset} on partition {tp}"
    raise ToolFailure(RUNTIME, text)


def _find_hanging(client: ClusterClient, words: Words, report: Report) -> None:
    minutes = words.number("max-transaction-timeout", _TIMEOUT_MINUTES)
    partitions = _searched(client, words)
    with _failing(f"Failed to describe producers for {len(partitions)} partitions"):
        producers = describe_producers(client, partitions, _broker(words))
    now_ms = _now_ms()
    candidates = open_for_long(producers, longer_than_ms=minutes * _MINUTE_MS, now_ms=now_ms)
    found = hanging(candidates, _known(client, candidates)) if candidates else []
    for line in hanging_lines(found, now_ms):
        report.say(line)
    report.note("hanging", hanging_document(found))


def _searched(client: ClusterClient, words: Words) -> list[TopicPartition]:
    """Return the partitions to be looked at."""
    if words.has("partition"):
        return [_partition(words)]
    names = [words.value("topic")] if words.has("topic") else [n for n, _ in list_topics(client)]
    with _failing(f"Failed to describe {len(names)} topics"):
        topics = describe_topics(client, names)
        if words.has("topic") and not topics:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                "This server does not host this topic-partition.",
            )
    broker = _broker(words)
    return [
        each.tp
        for topic in topics.values()
        for each in topic.partitions
        if broker is None or broker in each.replicas
    ]


def _known(
    client: ClusterClient, candidates: list[OpenTransaction]
) -> dict[int, TransactionView | None]:
    """Return what coordinators say of the producers, by producer id."""
    producer_ids = sorted({each.producer.producer_id for each in candidates})
    with _failing(f"Failed to list transactions for {len(producer_ids)} producers"):
        listed = list_transactions(client, list_transactions_request(producer_ids))
    known: dict[int, TransactionView | None] = {}
    for _, each in listed:
        with _failing(f"Failed to describe {len(listed)} transactions"):
            try:
                _, known[each.producer_id] = describe_transaction(client, each.transactional_id)
            except KafkaError as error:
                if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                    raise
                known[each.producer_id] = None
    return known


def _partition(words: Words) -> TopicPartition:
    return TopicPartition(words.value("topic"), words.number("partition", 0))


def _broker(words: Words) -> int | None:
    return words.number("broker-id", 0) if words.has("broker-id") else None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def _failing(text: str) -> Generator[None]:
    """Say with every failure what was wanted."""
    try:
        yield
    except KafkaError as error:
        cause = from_kafka(error)
        raise ToolFailure(RUNTIME, f"{text}: {cause.message}", cause) from error
    except ToolFailure as failure:
        raise ToolFailure(RUNTIME, f"{text}: {failure.message}", failure) from failure


def _show(failure: ToolFailure, report: Report) -> None:
    report.complain(failure.message)


_COMMANDS: Final = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
    "forceTerminateTransaction": _force_terminate,
}
TOOL: Final = Tool(
    name="kafka-transactions",
    client_id="transactions-tool",
    summary=(
        "Show transactions, find and end what hangs.\n"
        "Commands: list, describe, describe-producers, abort, find-hanging,"
        " forceTerminateTransaction.\n"
    ),
    options=OPTIONS,
    run=_run,
    show_bad_words=_show,
    show_failure=_show,
)
kafka_transactions: Final = ToolCommand(TOOL)
