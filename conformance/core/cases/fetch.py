"""Fetch, ListOffsets and OffsetForLeaderEpoch: reads, epochs, sessions, wrong partitions."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from conformance.core.cases.building import (
    batch,
    fetch,
    fetch_of,
    produce,
    unknown_topic,
)
from conformance.core.catalogue import case
from conformance.core.script import (
    Given,
    NewTopic,
    Request,
    Script,
    Talk,
    Topic,
    Until,
    ask,
)

_PRODUCE = 8
_SESSIONS_SINCE = 7


def _filled(
    partitions: int = 1, batches: int = 3, replicas: Sequence[int] = (1,)
) -> Generator[Any, Any, Topic]:
    """Make a topic with batches of two records in each partition, all below the high watermark."""
    topic: Topic = yield NewTopic(partitions=partitions, replicas=replicas)
    for partition in range(partitions):
        for _ in range(batches):
            form = produce(topic, batch(2), partition=partition)
            yield Talk([Request("Produce", _PRODUCE, form)])
    return topic


@case("typical/Fetch", "Fetch", versions="all")
def every_version(given: Given) -> Script:
    """From the start, from within a batch, from the end."""
    topic = yield from _filled()
    for offset in (0, 3, 6):
        yield from ask("Fetch", given.version, fetch(topic, offset))


@case("fetch/offsets", "Fetch", versions="all")
def offsets(given: Given) -> Script:
    """Offsets before the start and behind the end are out of range."""
    topic = yield from _filled()
    for offset in (7, -1, 2**63 - 1):
        yield from ask("Fetch", given.version, fetch(topic, offset))


@case("fetch/wrong-topic", "Fetch", versions="all")
def wrong_topic(given: Given) -> Script:
    """A topic, a topic id, and partitions that are not there."""
    topic = yield from _filled()
    unknown = unknown_topic(given)
    yield from ask("Fetch", given.version, fetch(unknown))
    yield from ask("Fetch", given.version, fetch(topic, partition=1))
    yield from ask("Fetch", given.version, fetch(topic, partition=-1))


@case("fetch/not-leader", "Fetch", versions="all", brokers=3)
def not_leader(given: Given) -> Script:
    """A broker without a replica refuses; a follower serves from version 11 on."""
    topic = yield from _filled(replicas=(1, 2))
    yield from ask("Fetch", given.version, fetch(topic), to=3)
    if given.version < 11:
        yield from ask("Fetch", given.version, fetch(topic), to=2)


@case("fetch/limits", "Fetch", versions="all")
def limits(given: Given) -> Script:
    """What is larger than a limit comes anyway when it is the first; else the limit holds."""
    topic = yield from _filled(partitions=2)
    for each, whole in ((1, 1 << 20), (1 << 20, 1), (100, 1 << 20), (0, 0), (1 << 20, 150)):
        rows = [
            {"partition": index, "fetchOffset": 0, "partitionMaxBytes": each} for index in (0, 1)
        ]
        yield from ask("Fetch", given.version, fetch_of(topic, rows, maxBytes=whole))


@case("fetch/waits", "Fetch", versions="ends")
def waits(given: Given) -> Script:
    """At the end of the log it waits for max.wait.ms, and is answered without records."""
    topic = yield from _filled()
    yield from ask("Fetch", given.version, fetch(topic, 6) | {"maxWaitMs": 100, "minBytes": 1})
    yield from ask("Fetch", given.version, fetch(topic, 0) | {"maxWaitMs": 20_000, "minBytes": 1})
    for wait_ms, min_bytes in ((-1, 1), (0, 2**31 - 1), (-(2**31), -1)):
        form = fetch(topic, 6) | {"maxWaitMs": wait_ms, "minBytes": min_bytes}
        yield from ask("Fetch", given.version, form)


@case("fetch/isolation", "Fetch", versions="ends", since=4)
def isolation(given: Given) -> Script:
    """Committed reads without transactions, and a level that does not exist."""
    topic = yield from _filled()
    for level in (1, 2, -1):
        yield from ask("Fetch", given.version, fetch(topic) | {"isolationLevel": level})


@case("fetch/twice-in-one", "Fetch", versions="ends")
def twice(given: Given) -> Script:
    """The same partition twice in one request."""
    topic = yield from _filled()
    row = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000}
    yield from ask("Fetch", given.version, fetch_of(topic, [row, row]))


@case("epochs/fetch", "Fetch", versions="all", since=9)
def fetch_epochs(given: Given) -> Script:
    """An older leader epoch is fenced, a newer one is not known yet."""
    topic = yield from _filled()
    for epoch in (-1, 0, 1, 2**31 - 1, -2):
        row = {"currentLeaderEpoch": epoch}
        yield from ask("Fetch", given.version, fetch(topic, row=row))


@case("epochs/diverging", "Fetch", versions="all", since=12)
def diverging(given: Given) -> Script:
    """A last fetched epoch that the leader does not have, or that ended before, is told."""
    topic = yield from _filled()
    for offset, last in ((2, 0), (6, 0), (7, 0), (2, 1), (2, 5)):
        yield from ask("Fetch", given.version, fetch(topic, offset, row={"lastFetchedEpoch": last}))


@case("epochs/not-leader", "OffsetForLeaderEpoch", versions="all", brokers=3)
def epoch_not_leader(given: Given) -> Script:
    """Who does not lead does not know where epochs end."""
    topic = yield from _filled(replicas=(1, 2))
    for to in (1, 2, 3):
        yield from ask("OffsetForLeaderEpoch", given.version, _epochs(topic, 0, -1), to=to)


@case("typical/OffsetForLeaderEpoch", "OffsetForLeaderEpoch", versions="all")
def leader_epochs(given: Given) -> Script:
    """Where epochs end: the current, a later, an undefined one; with right and wrong current."""
    topic = yield from _filled()
    for asked, current in ((0, -1), (0, 0), (1, 0), (5, -1), (-1, -1), (0, 1), (0, 9), (0, -5)):
        yield from ask("OffsetForLeaderEpoch", given.version, _epochs(topic, asked, current))
    yield from ask("OffsetForLeaderEpoch", given.version, _epochs(topic, 0, 0, partition=3))
    none = Topic(given.name("none"), topic.id)
    yield from ask("OffsetForLeaderEpoch", given.version, _epochs(none, 0, -1))


def _epochs(topic: Topic, asked: int, current: int, partition: int = 0) -> dict[str, Any]:
    row = {"partition": partition, "currentLeaderEpoch": current, "leaderEpoch": asked}
    return {"replicaId": -1, "topics": [{"topic": topic.name, "partitions": [row]}]}


@case("typical/ListOffsets", "ListOffsets", versions="all")
def list_offsets(given: Given) -> Script:
    """Earliest, latest, by time, and the special timestamps of later versions."""
    topic = yield from _filled()
    stamps = (
        -1,
        -2,
        -3,
        -4,
        -5,
        -6,
        -7,
        1_700_000_000_000,
        1_700_000_000_001,
        1_800_000_000_000,
        0,
    )
    for stamp in stamps:
        yield from ask("ListOffsets", given.version, _list(topic, stamp))


@case("offsets/wrong", "ListOffsets", versions="all")
def list_wrong(given: Given) -> Script:
    """Partitions that are not there, wrong epochs, one partition twice, an unknown level."""
    topic = yield from _filled()
    yield from ask("ListOffsets", given.version, _list(topic, -1, partition=4))
    yield from ask("ListOffsets", given.version, _list(Topic(given.name("none"), ""), -1))
    for epoch in (0, 1, 7):
        form = _list(topic, -1, row={"currentLeaderEpoch": epoch})
        yield from ask("ListOffsets", given.version, form)
    form = _list(topic, -1)
    form["topics"][0]["partitions"] *= 2
    yield from ask("ListOffsets", given.version, form)
    for level in (1, 2):
        yield from ask("ListOffsets", given.version, _list(topic, -1) | {"isolationLevel": level})


@case("offsets/not-leader", "ListOffsets", versions="all", brokers=3)
def list_not_leader(given: Given) -> Script:
    """A follower and a stranger refuse consumers; a debugging consumer asks a follower."""
    topic = yield from _filled(replicas=(1, 2))
    for to in (2, 3):
        yield from ask("ListOffsets", given.version, _list(topic, -2), to=to)


@case("offsets/count", "ListOffsets", versions="oldest")
def list_many(given: Given) -> Script:
    """Version 0 lists as many offsets as are asked for."""
    topic = yield from _filled()
    for count in (0, 1, 5):
        yield from ask("ListOffsets", given.version, _list(topic, -1, row={"maxNumOffsets": count}))


def _list(
    topic: Topic, stamp: int, partition: int = 0, row: dict[str, Any] | None = None
) -> dict[str, Any]:
    one = {"partitionIndex": partition, "timestamp": stamp, "maxNumOffsets": 1, **(row or {})}
    return {
        "replicaId": -1,
        "topics": [{"name": topic.name, "partitions": [one]}],
        "timeoutMs": 1000,
    }


@case("sessions/life", "Fetch", versions="all", since=_SESSIONS_SINCE)
def session(given: Given) -> Script:
    """A session is made, answers only what changed, forgets a partition, and is closed."""
    topic = yield from _filled(partitions=2, batches=1)
    rows = [{"partition": index, "fetchOffset": 2, "partitionMaxBytes": 1000} for index in (0, 1)]
    first = yield from ask(
        "Fetch", given.version, fetch_of(topic, rows, sessionId=0, sessionEpoch=0)
    )
    id_ = first.get("sessionId", 0)
    yield from ask("Fetch", given.version, _session(id_, 1))
    yield Talk([Request("Produce", _PRODUCE, produce(topic, batch(1), partition=1))])
    yield from ask("Fetch", given.version, _session(id_, 2))
    forgotten = [{"topic": topic.name, "topicId": topic.id, "partitions": [1]}]
    yield from ask("Fetch", given.version, _session(id_, 3) | {"forgottenTopicsData": forgotten})
    yield from ask("Fetch", given.version, fetch_of(topic, rows[:1], sessionId=id_, sessionEpoch=4))
    yield from ask("Fetch", given.version, _session(id_, -1))
    yield from ask("Fetch", given.version, _session(id_, 5))


@case("sessions/wrong", "Fetch", versions="ends", since=_SESSIONS_SINCE)
def wrong_session(given: Given) -> Script:
    """A session that is not there, a wrong epoch, and one whose epoch comes again."""
    topic = yield from _filled(batches=1)
    yield from ask("Fetch", given.version, _session(123_456_789, 1))
    yield from ask("Fetch", given.version, _session(123_456_789, 0))
    first = yield from ask("Fetch", given.version, fetch(topic, 2, sessionId=0, sessionEpoch=0))
    id_ = first.get("sessionId", 0)
    for epoch in (2, 1, 1, 0, -1, -2):
        yield from ask("Fetch", given.version, _session(id_, epoch))


@case("sessions/errors", "Fetch", versions="all", since=_SESSIONS_SINCE)
def session_errors(given: Given) -> Script:
    """A partition with an error is in every answer of the session, until it is forgotten."""
    topic = yield from _filled(batches=1)
    rows = [
        {"partition": 0, "fetchOffset": 99, "partitionMaxBytes": 1000},
        {"partition": 5, "fetchOffset": 0, "partitionMaxBytes": 1000},
    ]
    first = yield from ask(
        "Fetch", given.version, fetch_of(topic, rows, sessionId=0, sessionEpoch=0)
    )
    for epoch in (1, 2):
        yield from ask("Fetch", given.version, _session(first.get("sessionId", 0), epoch))


def _session(id_: int, epoch: int) -> dict[str, Any]:
    form: dict[str, Any] = {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 20, "topics": []}
    return {**form, "sessionId": id_, "sessionEpoch": epoch}


@case("isr/metadata", "Metadata", versions="all", brokers=3)
def isr(given: Given) -> Script:
    """Leader, Isr and epochs of a partition with three replicas, told by every broker alike."""
    topic = yield NewTopic(replicas=(2, 3, 1), partitions=2)
    for to in (1, 2, 3):
        form = {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False}
        yield from ask("Metadata", given.version, form, to=to)


@case("isr/high-watermark", "Fetch", versions="ends", brokers=3)
def high_watermark(given: Given) -> Script:
    """What all of the Isr has is below the high watermark and can be read."""
    topic = yield from _filled(replicas=(1, 2, 3))
    watched = Request("Fetch", 11, fetch(topic))
    yield Until(watched, lambda a: a["responses"][0]["partitions"][0]["highWatermark"] == 6)
    yield from ask("Fetch", given.version, fetch(topic))
