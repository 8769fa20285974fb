"""WriteTxnMarkers, which coordinators send: into topics of the case's own, so nobody is harmed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from conformance.core.cases.building import fetch, idempotent, produce
from conformance.core.catalogue import case
from conformance.core.script import Given, NewTopic, Request, Script, Talk, Topic, ask

_FETCH: Final = 11
_PRODUCE: Final = 8
_INIT: Final = 4
_COORDINATOR_EPOCH: Final = 5


@case("typical/WriteTxnMarkers", "WriteTxnMarkers", versions="all")
def markers(given: Given) -> Script:
    """Markers are written and read back; those of coordinators of older epochs are refused."""
    topic = yield NewTopic(partitions=2)
    producer = yield from _producer()
    other = yield from _producer()
    for who, coordinator_epoch, committed in (
        (producer, _COORDINATOR_EPOCH, True),
        (producer, _COORDINATOR_EPOCH, False),
        (producer, _COORDINATOR_EPOCH - 1, True),
        (producer, _COORDINATOR_EPOCH + 1, True),
        (other, 0, False),
    ):
        row = _marker(topic.name, [0], who, coordinator_epoch, committed=committed)
        yield from _write(given, row)
    yield from ask("Fetch", _FETCH, fetch(topic))


@case("transactions/markers-refused", "WriteTxnMarkers", versions="all")
def markers_refused(given: Given) -> Script:
    """Partitions that are not there, beside one that is; a partition twice; empty lists."""
    topic = yield NewTopic(partitions=2)
    producer = yield from _producer()
    none = given.name("none")
    for name, partitions in (
        (none, [0]),
        (topic.name, [9]),
        (topic.name, [-1]),
        (topic.name, [1, 9, 0]),
        ("", [0]),
        (topic.name, []),
    ):
        yield from _write(given, _marker(name, partitions, producer, 0))
    yield from _write(given, _marker(topic.name, [0], producer, 0) | {"topics": []})
    yield from _write(given)


@case("transactions/markers-of-two", "WriteTxnMarkers", versions="all")
def markers_of_two(given: Given) -> Script:
    """Markers of two producers in one request, and two of one producer."""
    topic = yield NewTopic(partitions=2)
    producer = yield from _producer()
    other = yield from _producer()
    for topics in ((topic.name, topic.name), (given.name("none"), given.name("other"))):
        rows = [
            _marker(name, [0, 1], who, 0)
            for name, who in zip(topics, (producer, other), strict=True)
        ]
        yield from _write(given, *rows)
    again = _marker(topic.name, [0], producer, 0, committed=False)
    yield from _write(given, _marker(topic.name, [1], producer, 0), again)


@case("transactions/markers-of-epochs", "WriteTxnMarkers", versions="all")
def markers_of_epochs(given: Given) -> Script:
    """A marker of a newer epoch fences a producer; one of an older epoch is refused."""
    topic = yield NewTopic()
    producer = (yield from _producer())[0]
    yield from _sent(topic, (producer, 2), 0)
    for epoch in (2, 1, 0, 3, 2, -1, 2**15 - 1):
        yield from _write(given, _marker(topic.name, [0], (producer, epoch), 0))
    yield from _sent(topic, (producer, 2), 1)
    for number in (-1, -5, 2**31 - 1):
        yield from _write(given, _marker(topic.name, [0], (producer, 2**15 - 1), number))
    yield from _write(given, _marker(topic.name, [0], (-1, -1), 0))


@case("transactions/markers-not-leader", "WriteTxnMarkers", versions="ends", brokers=3)
def markers_not_leader(given: Given) -> Script:
    """A broker that follows, and one that has no replica, write no markers."""
    topic = yield NewTopic(replicas=(1, 2))
    producer = yield from _producer()
    form = {"markers": [_marker(topic.name, [0], producer, 0)]}
    for to in (2, 3):
        yield from ask("WriteTxnMarkers", given.version, form, to=to)


@case("transactions/markers-verified", "WriteTxnMarkers", versions="all", since=2)
def markers_verified(given: Given) -> Script:
    """Transactions of the second version (KIP-890): the marker's epoch is above the records'."""
    topic = yield NewTopic()
    producer = (yield from _producer())[0]
    for version, epoch in ((2, 1), (2, 1), (2, 2), (1, 2), (2, 3), (9, 4), (-1, 5)):
        row = _marker(topic.name, [0], (producer, epoch), 0) | {"transactionVersion": version}
        yield from _write(given, row)


def _sent(topic: Topic, producer: tuple[int, int], sequence: int) -> Script:
    form = produce(topic, idempotent(producer, sequence))
    yield Talk([Request("Produce", _PRODUCE, form)])


def _producer() -> Generator[Any, Any, tuple[int, int]]:
    form = {"transactionalId": None, "transactionTimeoutMs": 60_000}
    answer = yield from ask("InitProducerId", _INIT, form)
    return answer.get("producerId", -1), answer.get("producerEpoch", -1)


def _marker(
    topic: str,
    partitions: list[int],
    producer: tuple[int, int],
    coordinator_epoch: int,
    *,
    committed: bool = True,
) -> dict[str, Any]:
    return {
        "producerId": producer[0],
        "producerEpoch": producer[1],
        "transactionResult": committed,
        "topics": [{"name": topic, "partitionIndexes": partitions}],
        "coordinatorEpoch": coordinator_epoch,
    }


def _write(given: Given, *rows: dict[str, Any]) -> Script:
    return ask("WriteTxnMarkers", given.version, {"markers": rows})
