"""Transactions: their life, who is fenced, what is out of turn, and what others see of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from conformance.core.cases.building import batch, fetch, idempotent, produce
from conformance.core.catalogue import case
from conformance.core.script import (
    Coordinator,
    Form,
    Given,
    NewTopic,
    Request,
    Script,
    Topic,
    Until,
    ask,
)
from protocol.errors import ErrorCode

_TIMEOUT_MS: Final = 60_000
_INIT: Final = 4
_ADD: Final = 3
_END: Final = 3
_PRODUCE: Final = 8
_FETCH: Final = 11
_DECADES_MS: Final = 2**40
"""More than any transaction is open, less than since 1970."""
_SETTLED: Final = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
)
"""What InitProducerId answers once the transaction before it has ended."""

Producer = tuple[int, int]


def _to(given: Given) -> Coordinator:
    return Coordinator(given.name("txn"), 1)


def _init(given: Given, version: int = _INIT, **more: Any) -> Generator[Any, Any, Producer]:
    form = {"transactionalId": given.name("txn"), "transactionTimeoutMs": _TIMEOUT_MS} | more
    answer = yield from ask("InitProducerId", version, form, to=_to(given))
    return answer.get("producerId", -1), answer.get("producerEpoch", -1)


def _who(given: Given, producer: Producer) -> dict[str, Any]:
    return {
        "transactionalId": given.name("txn"),
        "producerId": producer[0],
        "producerEpoch": producer[1],
    }


def _added(given: Given, producer: Producer, topic: str, partitions: list[int]) -> dict[str, Any]:
    topics = [{"name": topic, "partitions": partitions}]
    who = _who(given, producer)
    return {
        "v3AndBelowTransactionalId": who["transactionalId"],
        "v3AndBelowProducerId": who["producerId"],
        "v3AndBelowProducerEpoch": who["producerEpoch"],
        "v3AndBelowTopics": topics,
        "transactions": [{**who, "verifyOnly": False, "topics": topics}],
    }


def _add(given: Given, producer: Producer, topic: Topic, *partitions: int) -> Script:
    form = _added(given, producer, topic.name, list(partitions))
    return ask("AddPartitionsToTxn", _ADD, form, to=_to(given))


def _end(given: Given, producer: Producer, *, committed: bool) -> Script:
    form = _who(given, producer) | {"committed": committed}
    return ask("EndTxn", _END, form, to=_to(given))


def _sent(given: Given, topic: Topic, producer: Producer, sequence: int) -> dict[str, Any]:
    data = idempotent(producer, sequence, is_transactional=True)
    return produce(topic, data, transactionalId=given.name("txn"))


def _ended(topic: Topic) -> Until:
    """Wait until the markers are written: nothing below the high watermark is open any more."""
    watched = Request("Fetch", _FETCH, fetch(topic) | {"isolationLevel": 1})
    return Until(watched, _has_no_open)


def _is_complete(answer: Form) -> bool:
    return answer["transactionStates"][0]["transactionState"].startswith("Complete")


def _has_no_open(answer: Form) -> bool:
    partition = answer["responses"][0]["partitions"][0]
    return partition["lastStableOffset"] == partition["highWatermark"]


@case("transactions/init", "InitProducerId", versions="all")
def init(given: Given) -> Script:
    """Each new incarnation gets a new epoch; bad timeouts and ids are refused."""
    for _ in range(2):
        yield from _init(given, given.version)
    for timeout_ms in (0, -1, 2**31 - 1):
        yield from _init(given, given.version, transactionTimeoutMs=timeout_ms)
    yield from _init(given, given.version, transactionalId="")


@case("transactions/init-again", "InitProducerId", versions="all", since=3)
def init_again(given: Given) -> Script:
    """A producer that names its id and epoch is given the next one; an old one is fenced."""
    id_, epoch = yield from _init(given)
    for number in (epoch, epoch, epoch + 5, -1):
        more = {"producerId": id_, "producerEpoch": number}
        yield from _init(given, given.version, **more)


@case("transactions/commit", "EndTxn", versions="all")
def commit(given: Given) -> Script:
    """Records of a transaction are committed and then read; before that they are not."""
    yield from _life(given, committed=True)


@case("transactions/abort", "EndTxn", versions="all")
def abort(given: Given) -> Script:
    """Records of an aborted transaction are told to who reads committed ones."""
    yield from _life(given, committed=False)


def _life(given: Given, *, committed: bool) -> Script:
    topic = yield NewTopic()
    producer = yield from _init(given)
    to = _to(given)
    yield from _add(given, producer, topic, 0)
    yield from ask("Produce", _PRODUCE, _sent(given, topic, producer, 0))
    yield from ask("Fetch", _FETCH, fetch(topic) | {"isolationLevel": 1})
    form = _who(given, producer) | {"committed": committed}
    yield from ask("EndTxn", given.version, form, to=to)
    yield _ended(topic)
    ids = {"transactionalIds": [given.name("txn")]}
    yield Until(Request("DescribeTransactions", 0, ids), _is_complete, to=to)
    yield from ask("Fetch", _FETCH, fetch(topic) | {"isolationLevel": 1})
    yield from ask("EndTxn", given.version, form, to=to)
    yield from ask("EndTxn", given.version, form | {"committed": not committed}, to=to)


@case("transactions/end-refused", "EndTxn", versions="all")
def end_refused(given: Given) -> Script:
    """Nothing to end, another epoch, another producer, another transaction."""
    producer = yield from _init(given)
    for who in (producer, (producer[0], producer[1] + 1), (producer[0] + 1, 0), (-1, -1)):
        form = _who(given, who) | {"committed": True}
        yield from ask("EndTxn", given.version, form, to=_to(given))
    none = {"transactionalId": given.name("none"), "committed": True, "producerId": 1}
    yield from ask("EndTxn", given.version, none, to=Coordinator(given.name("none"), 1))


@case("transactions/add", "AddPartitionsToTxn", versions="all")
def add(given: Given) -> Script:
    """Partitions are added, twice if need be; those that are not there fail all of them."""
    topic = yield NewTopic(partitions=2)
    producer = yield from _init(given)
    to = _to(given)
    for who, name, partitions in (
        (producer, topic.name, [0]),
        (producer, topic.name, [0, 1]),
        (producer, topic.name, [1, 9]),
        (producer, given.name("none"), [0]),
        ((producer[0], producer[1] + 1), topic.name, [0]),
        ((producer[0] + 1, 0), topic.name, [0]),
    ):
        form = _added(given, who, name, partitions)
        yield from ask("AddPartitionsToTxn", given.version, form, to=to)
    yield from _end(given, producer, committed=False)


@case("transactions/produce-refused", "Produce", versions="ends", since=3)
def produce_refused(given: Given) -> Script:
    """Records of a transaction outside of one, without its id, and from a fenced producer."""
    topic = yield NewTopic(partitions=2)
    producer = yield from _init(given)
    yield from _add(given, producer, topic, 0)
    data = idempotent(producer, 0, is_transactional=True)
    yield from ask("Produce", given.version, produce(topic, data))
    yield from ask("Produce", given.version, _sent(given, topic, producer, 0))
    yield from ask("Produce", given.version, produce(topic, batch(1)))
    newer = yield from _init(given)
    yield _ended(topic)
    yield from ask("Produce", given.version, _sent(given, topic, producer, 1))
    yield from _end(given, newer, committed=False)


@case("transactions/fenced", "InitProducerId", versions="all")
def fenced(given: Given) -> Script:
    """A new incarnation aborts what the old one left; the old one can do nothing any more."""
    topic = yield NewTopic()
    old = yield from _init(given)
    to = _to(given)
    yield from _add(given, old, topic, 0)
    yield from ask("Produce", _PRODUCE, _sent(given, topic, old, 0))
    form = {"transactionalId": given.name("txn"), "transactionTimeoutMs": _TIMEOUT_MS}
    again = Request("InitProducerId", given.version, form)
    yield Until(again, lambda a: a["errorCode"] in _SETTLED, to=to)
    yield _ended(topic)
    yield from _add(given, old, topic, 0)
    yield from _end(given, old, committed=True)
    yield from ask("Produce", _PRODUCE, _sent(given, topic, old, 1))


@case("transactions/offsets", "TxnOffsetCommit", versions="all")
def offsets(given: Given) -> Script:
    """Offsets committed within a transaction show when it is committed."""
    topic = yield NewTopic()
    group = given.name("group")
    producer = yield from _init(given)
    form = _who(given, producer) | {"groupId": group}
    yield from ask("AddOffsetsToTxn", 3, form, to=_to(given))
    row = {"partitionIndex": 0, "committedOffset": 4, "committedMetadata": "m"}
    rows = [{"name": topic.name, "partitions": [row]}]
    more = {"topics": rows, "generationId": -1, "memberId": ""}
    yield from ask("TxnOffsetCommit", given.version, form | more, to=Coordinator(group))
    fetched = {"groupId": group, "topics": [{"name": topic.name, "partitionIndexes": [0]}]}
    yield from ask("OffsetFetch", 7, fetched | {"requireStable": True}, to=Coordinator(group))
    yield from _end(given, producer, committed=True)
    watched = Request("OffsetFetch", 7, fetched | {"requireStable": True})
    yield Until(watched, _is_stable, to=Coordinator(group))
    yield from ask("OffsetFetch", 7, fetched, to=Coordinator(group))


def _is_stable(answer: Form) -> bool:
    return answer["topics"][0]["partitions"][0]["errorCode"] == 0


@case("transactions/offsets-refused", "TxnOffsetCommit", versions="all")
def offsets_refused(given: Given) -> Script:
    """Members and generations that are not there, partitions that are not there, no group."""
    topic = yield NewTopic()
    group = given.name("group")
    producer = yield from _init(given)
    whole = _who(given, producer) | {"groupId": group}
    yield from ask("AddOffsetsToTxn", 3, whole, to=_to(given))
    for partition, more in (
        (9, {}),
        (0, {"memberId": "nobody", "generationId": 1} if given.version >= 3 else {}),
        (0, {"producerEpoch": producer[1] + 1}),
        (0, {"groupId": ""}),
    ):
        row = {"partitionIndex": partition, "committedOffset": 4, "committedMetadata": None}
        rows = [{"name": topic.name, "partitions": [row]}]
        form = whole | {"generationId": -1, "memberId": "", "topics": rows} | more
        yield from ask("TxnOffsetCommit", given.version, form, to=Coordinator(group))
    yield from _end(given, producer, committed=False)


@case("transactions/add-offsets", "AddOffsetsToTxn", versions="all")
def add_offsets(given: Given) -> Script:
    """A group is added to a transaction; a fenced producer and a strange one add none."""
    producer = yield from _init(given)
    for who in (producer, (producer[0], producer[1] + 1), (producer[0] + 1, 0)):
        form = _who(given, who) | {"groupId": given.name("group")}
        yield from ask("AddOffsetsToTxn", given.version, form, to=_to(given))
    yield from _end(given, producer, committed=False)


@case("transactions/describe", "DescribeTransactions", versions="all")
def describe(given: Given) -> Script:
    """A transaction that is under way, and one that is not there."""
    topic = yield NewTopic(partitions=2)
    producer = yield from _init(given)
    to = _to(given)
    ids = {"transactionalIds": [given.name("txn")]}
    yield from ask("DescribeTransactions", given.version, ids, to=to)
    yield from _add(given, producer, topic, 0, 1)
    yield from ask("DescribeTransactions", given.version, ids, to=to)
    none = given.name("none")
    form = {"transactionalIds": [none]}
    yield from ask("DescribeTransactions", given.version, form, to=Coordinator(none, 1))
    yield from _end(given, producer, committed=False)


@case("transactions/list", "ListTransactions", versions="all")
def list_all(given: Given) -> Script:
    """Transactions by their states and producers; states that do not exist are named."""
    topic = yield NewTopic()
    producer = yield from _init(given)
    to = _to(given)
    yield from _add(given, producer, topic, 0)
    for form in (
        {},
        {"stateFilters": ["Ongoing"]},
        {"stateFilters": ["Empty", "Sheep"]},
        {"producerIdFilters": [producer[0]]},
        {"producerIdFilters": [producer[0] + 100_000_000]},
    ):
        yield from ask("ListTransactions", given.version, form, to=to)
    yield from _end(given, producer, committed=False)


@case("transactions/list-by-duration", "ListTransactions", versions="all", since=1)
def list_by_duration(given: Given) -> Script:
    """Transactions that are open for long: before any, while one is, and when it is over."""
    topic = yield NewTopic()
    producer = yield from _init(given)
    yield from _listed(given, *({"durationFilter": ms} for ms in (0, _DECADES_MS, 2**62)))
    yield from _add(given, producer, topic, 0)
    yield from _listed(given, *({"durationFilter": ms} for ms in (-2, _DECADES_MS)))
    yield from _end(given, producer, committed=False)
    ids = {"transactionalIds": [given.name("txn")]}
    yield Until(Request("DescribeTransactions", 0, ids), _is_complete, to=_to(given))
    yield from _listed(given, {"durationFilter": _DECADES_MS})


@case("transactions/list-by-pattern", "ListTransactions", versions="all", since=2)
def list_by_pattern(given: Given) -> Script:
    """Transactions whose whole id a pattern matches; one that RE2 does not take is refused."""
    name = given.name("txn")
    yield from _init(given)
    for pattern in (name, f".*{name[-6:]}", name[:-1], name.upper(), f"(?i){name.upper()}", ""):
        yield from _listed(given, {"transactionalIdPattern": pattern})
    for pattern in ("(", f"(?={name})", f"({name[:3]}", r"(a)\1"):
        yield from _listed(given, {"transactionalIdPattern": pattern, "stateFilters": ["Sheep"]})
    both = {"transactionalIdPattern": f"{name}|none", "stateFilters": ["Ongoing"]}
    yield from _listed(given, both, both | {"stateFilters": ["Empty"]})


def _listed(given: Given, *forms: Form) -> Script:
    for form in forms:
        yield from ask("ListTransactions", given.version, form, to=_to(given))
