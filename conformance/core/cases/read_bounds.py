"""Reads and writes at their bounds: limits, offsets, timestamps, epochs, replica ids, batches."""

from __future__ import annotations

import base64
from collections.abc import Generator
from typing import Any, Final

from conformance.core.cases.building import STAMP_MS, batch, fetch, fetch_of, produce, records
from conformance.core.catalogue import case
from conformance.core.script import Coordinator, Given, NewTopic, Request, Script, Talk, Topic, ask
from protocol.records.build import BatchOptions, NewRecord, build_batch

_INT_MAX: Final = 2**31 - 1
_INT_MIN: Final = -(2**31)
_LONG_MAX: Final = 2**63 - 1
_LONG_MIN: Final = -(2**63)
_PRODUCE: Final = 8
_DEBUGGING: Final = -2
"""The id of a replica that is none, but may ask followers."""
_MESSAGE_MAX: Final = 1_048_588
"""message.max.bytes that brokers have unless they are told otherwise."""


def _filled(replicas: tuple[int, ...] = (1,)) -> Generator[Any, Any, Topic]:
    topic: Topic = yield NewTopic(replicas=replicas)
    for _ in range(2):
        yield Talk([Request("Produce", _PRODUCE, produce(topic, batch(2)))])
    return topic


@case("fetch/limit-bounds", "Fetch", versions="all")
def limit_bounds(given: Given) -> Script:
    """Limits of bytes that are nothing, negative, or as large as can be."""
    topic = yield from _filled()
    for each, whole, least in (
        (0, 1 << 20, 0),
        (-1, 1 << 20, 0),
        (_INT_MIN, _INT_MIN, _INT_MIN),
        (1 << 20, 0, 1),
        (1 << 20, -1, 1),
        (_INT_MAX, _INT_MAX, _INT_MAX),
    ):
        row = {"partitionMaxBytes": each}
        form = fetch(topic, row=row) | {"maxBytes": whole, "minBytes": least}
        yield from ask("Fetch", given.version, form)


@case("fetch/nothing", "Fetch", versions="all")
def fetch_nothing(given: Given) -> Script:
    """No topic, and a topic without partitions."""
    topic = yield from _filled()
    yield from ask("Fetch", given.version, fetch_of(topic, []))
    yield from ask("Fetch", given.version, fetch_of(topic, []) | {"topics": []})


@case("fetch/strange-replicas", "Fetch", versions="all", brokers=3)
def strange_replicas(given: Given) -> Script:
    """Who asks as a debugging replica may ask a follower; replicas that there are not may not."""
    topic = yield from _filled((1, 2))
    for id_, to in ((_DEBUGGING, 1), (_DEBUGGING, 3), (9999, 1), (-3, 1)):
        state = {"replicaState": {"replicaId": id_, "replicaEpoch": -1}}
        yield from ask("Fetch", given.version, fetch(topic) | {"replicaId": id_} | state, to=to)


@case("fetch/racks", "Fetch", versions="all", since=11)
def racks(given: Given) -> Script:
    """Racks of clients that no broker is in: the leader serves."""
    topic = yield from _filled()
    for rack in ("", "no such rack", "x" * 1000):
        yield from ask("Fetch", given.version, fetch(topic) | {"rackId": rack})


@case("sessions/odd", "Fetch", versions="all", since=7)
def odd_sessions(given: Given) -> Script:
    """Forgetting what is not there, asking for one partition twice, epochs at their end."""
    topic = yield from _filled()
    row = {"partition": 0, "fetchOffset": 4, "partitionMaxBytes": 1000}
    first = yield from ask("Fetch", given.version, fetch_of(topic, [row], sessionEpoch=0))
    id_ = first.get("sessionId", 0)
    forgotten = [{"topic": topic.name, "topicId": topic.id, "partitions": [9]}]
    form = fetch_of(topic, [], sessionId=id_, sessionEpoch=1)
    form |= {"topics": [], "forgottenTopicsData": forgotten}
    yield from ask("Fetch", given.version, form)
    form = fetch_of(topic, [row | {"fetchOffset": 0}], sessionId=id_, sessionEpoch=2)
    yield from ask("Fetch", given.version, form)
    for epoch in (_INT_MAX, _INT_MIN, -1):
        form = fetch_of(topic, [], sessionId=id_, sessionEpoch=epoch)
        form["topics"] = []
        yield from ask("Fetch", given.version, form)
    form = fetch_of(topic, [row], sessionId=-5, sessionEpoch=3)
    yield from ask("Fetch", given.version, form)


@case("offsets/bounds", "ListOffsets", versions="all")
def offset_bounds(given: Given) -> Script:
    """Timestamps at both ends, replica ids that are none, levels and times that cannot be."""
    topic = yield from _filled()
    for stamp in (_LONG_MAX, _LONG_MIN, -8, -100, STAMP_MS + 1, STAMP_MS + 2):
        yield from _list_offsets(given, topic, stamp)
    for id_ in (_DEBUGGING, -3, 9999):
        yield from _list_offsets(given, topic, -1, replicaId=id_)
    for level in (-1, 127):
        yield from _list_offsets(given, topic, -1, isolationLevel=level)
    for timeout_ms in (0, -1):
        yield from _list_offsets(given, topic, -1, timeoutMs=timeout_ms)
    yield from _list_offsets(given, topic, -1, topics=[])


def _list_offsets(given: Given, topic: Topic, stamp: int, **more: Any) -> Script:
    row = {"partitionIndex": 0, "timestamp": stamp, "maxNumOffsets": 1}
    topics = [{"name": topic.name, "partitions": [row]}]
    form = {"replicaId": -1, "topics": topics, "timeoutMs": 1000} | more
    return ask("ListOffsets", given.version, form)


@case("epochs/bounds", "OffsetForLeaderEpoch", versions="all")
def epoch_bounds(given: Given) -> Script:
    """Epochs at both ends, replica ids that are none, nothing asked."""
    topic = yield from _filled()
    for asked, current in (
        (_INT_MAX, -1),
        (_INT_MIN, -1),
        (-2, -1),
        (0, _INT_MAX),
        (0, _INT_MIN),
    ):
        yield from _epochs(given, topic, asked, current)
    for id_ in (_DEBUGGING, 9999):
        yield from _epochs(given, topic, 0, 0, replicaId=id_)
    yield from _epochs(given, topic, 0, 0, topics=[])


def _epochs(given: Given, topic: Topic, asked: int, current: int, **more: Any) -> Script:
    row = {"partition": 0, "currentLeaderEpoch": current, "leaderEpoch": asked}
    topics = [{"topic": topic.name, "partitions": [row]}]
    return ask("OffsetForLeaderEpoch", given.version, {"replicaId": -1, "topics": topics} | more)


@case("produce/largest", "Produce", versions="ends", since=3)
def largest(given: Given) -> Script:
    """A batch as large as message.max.bytes, and one that is a byte larger."""
    topic = yield NewTopic()
    overhead = len(build_batch(records(1, size_bytes=_MESSAGE_MAX))) - _MESSAGE_MAX
    for more in (0, 1):
        data = batch(1, size_bytes=_MESSAGE_MAX - overhead + more)
        yield from ask("Produce", given.version, produce(topic, data))


@case("produce/times", "Produce", versions="ends", since=3)
def times(given: Given) -> Script:
    """Records of the far past, of before 1970, without a time, and of the far future."""
    topic = yield NewTopic()
    for stamp_ms in (0, 1, -1, -2, _LONG_MAX, 4_102_444_800_000):
        data = build_batch([NewRecord(value=b"v", key=b"k", timestamp_ms=stamp_ms)])
        text = base64.b64encode(data).decode()
        yield from ask("Produce", given.version, produce(topic, text))


@case("produce/odd-records", "Produce", versions="ends", since=3)
def odd_records(given: Given) -> Script:
    """Null and empty keys and values, headers, and offsets of the client's own: read back."""
    topic = yield NewTopic()
    rows = [
        NewRecord(value=None, key=None, timestamp_ms=STAMP_MS),
        NewRecord(value=b"", key=b"", timestamp_ms=STAMP_MS),
        NewRecord(value=b"v", key=b"k", timestamp_ms=STAMP_MS, headers=(("h", b"1"), ("h", None))),
    ]
    for each in (build_batch(rows), build_batch(rows, BatchOptions(base_offset=99))):
        text = base64.b64encode(each).decode()
        yield from ask("Produce", given.version, produce(topic, text))
    yield from ask("Fetch", 11, fetch(topic))


@case("produce/twice-in-one", "Produce", versions="ends", since=3)
def twice_in_one(given: Given) -> Script:
    """Two topics in one request, and a topic that is listed twice with other partitions."""
    topic = yield NewTopic(partitions=2)
    other = yield NewTopic()
    rows = [
        {
            "name": each.name,
            "topicId": each.id,
            "partitionData": [{"index": index, "records": batch(1)}],
        }
        for each, index in ((topic, 0), (other, 0))
    ]
    yield from ask("Produce", given.version, {"acks": -1, "timeoutMs": 1000, "topicData": rows})
    yield from ask("Produce", given.version, {"acks": -1, "timeoutMs": 1000, "topicData": []})


@case("transactions/init-bounds", "InitProducerId", versions="all")
def init_bounds(given: Given) -> Script:
    """The longest time of a transaction and a longer one; ids of odd names; one without."""
    for timeout_ms in (1, 900_000, 900_001, _INT_MIN):
        yield from _init(given, given.name("txn"), timeout_ms)
    for odd in ("x" * 1000, " a b", "\u00e9"):
        yield from _init(given, given.name("txn") + odd, 60_000)


def _init(given: Given, id_: str, timeout_ms: int) -> Script:
    form = {"transactionalId": id_, "transactionTimeoutMs": timeout_ms}
    return ask("InitProducerId", given.version, form, to=Coordinator(id_, 1))


@case("transactions/end-bounds", "EndTxn", versions="all")
def end_bounds(given: Given) -> Script:
    """Epochs and ids at both ends; a transaction of no name."""
    made = yield from _init_now(given)
    to = Coordinator(given.name("txn"), 1)
    for id_, epoch in (
        (made, 2**15 - 1),
        (made, -1),
        (made, -(2**15)),
        (_LONG_MAX, 0),
        (_LONG_MIN, 0),
    ):
        form = {"transactionalId": given.name("txn"), "producerId": id_, "producerEpoch": epoch}
        yield from ask("EndTxn", given.version, form | {"committed": True}, to=to)


def _init_now(given: Given) -> Generator[Any, Any, int]:
    form = {"transactionalId": given.name("txn"), "transactionTimeoutMs": 60_000}
    to = Coordinator(given.name("txn"), 1)
    answer = yield from ask("InitProducerId", 4, form, to=to)
    return answer.get("producerId", -1)


@case("transactions/lists-bounds", "ListTransactions", versions="all")
def list_bounds(given: Given) -> Script:
    """Filters of nobody: durations and producers at both ends, states in other letters."""
    made = yield from _init_now(given)
    to = Coordinator(given.name("txn"), 1)
    for form in (
        {"producerIdFilters": [made], "stateFilters": ["empty"]},
        {"producerIdFilters": [made], "stateFilters": ["Empty", "Empty"]},
        {"producerIdFilters": [made, made], "durationFilter": 0},
        {"producerIdFilters": [made], "durationFilter": _LONG_MAX},
        {"producerIdFilters": [-1]},
    ):
        yield from ask("ListTransactions", given.version, form, to=to)
