"""The stream itself: sizes, headers, ids, pieces, and the order of answers on one connection."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from struct import pack
from typing import Final

from conformance.core.cases.building import batch, fetch, produce
from conformance.core.catalogue import case
from conformance.core.forms import frame_of, sent_bytes
from conformance.core.script import Given, NewTopic, Raw, Request, Script, Talk

_PING: Final = Request("ApiVersions", 0)
_PING_BYTES: Final = sent_bytes(_PING, 7)
_ANSWERED: Final = ("ApiVersions", 0)
_OTHER: Final = "other"


def _still_served() -> Script:
    yield Talk([_PING], connection=_OTHER)


@case("frames/sizes", "ApiVersions", versions="oldest")
def sizes(_: Given) -> Script:
    """Sizes that cannot be close the connection, and no other one."""
    for size in (-1, -(2**31), 0, 2**31 - 1):
        yield Talk([Raw(pack(">i", size) + b"\0" * 16, _ANSWERED)])
        yield from _still_served()


@case("frames/short-headers", "ApiVersions", versions="oldest")
def short_headers(_: Given) -> Script:
    """A frame that ends within its header closes the connection."""
    frame = frame_of(_PING, 7)
    for size in (1, 2, 3, 4, 7, 8, 9, 12):
        yield Talk([Raw(pack(">i", size) + frame[:size], _ANSWERED, 7)])
        yield from _still_served()


@case("frames/unknown-api", "ApiVersions", versions="oldest")
def unknown_api(_: Given) -> Script:
    """An API key that does not exist closes the connection."""
    for key in (1000, 32767, -1):
        frame = pack(">hhih", key, 0, 7, -1)
        yield Talk([Raw(pack(">i", len(frame)) + frame, _ANSWERED, 7)])


@case("frames/client-ids", "Metadata", versions="ends")
def client_ids(given: Given) -> Script:
    """Client ids: null, empty, long, not ASCII, not UTF-8."""
    form = {"topics": [{"name": given.name("none")}], "allowAutoTopicCreation": False}
    for client_id in (None, "", "x" * 5000, "k\u00e4fka"):
        yield Talk([Request("Metadata", given.version, form, client_id=client_id)])
    broken = Request("Metadata", given.version, form, client_id="AB", alter=_not_utf8)
    yield Talk([broken])


def _not_utf8(frame: bytes) -> bytes:
    return frame.replace(b"\x00\x02AB", b"\x00\x02\xff\xfe", 1)


@case("frames/client-id-length", "ApiVersions", versions="oldest")
def client_id_length(_: Given) -> Script:
    """A client id that is longer than its frame, or of a negative length."""
    for length in (100, 32767, -2, -32768):
        frame = pack(">hhih", 18, 0, 7, length) + b"abc"
        yield Talk([Raw(pack(">i", len(frame)) + frame, _ANSWERED, 7)])


@case("frames/in-pieces", "ApiVersions", versions="all")
def pieces(given: Given) -> Script:
    """A request that comes byte by byte."""
    yield Talk([Request("ApiVersions", given.version)], chunk_bytes=1)


@case("frames/unfinished", "ApiVersions", versions="oldest")
def unfinished(_: Given) -> Script:
    """Half a frame is waited for; closing our side behind it does no harm to anybody."""
    for size in (2, 4, 10):
        name = f"half {size}"
        yield Talk([Raw(_PING_BYTES[:size])], connection=name, is_mid_frame=True)
        yield from _still_served()
    yield Talk([Raw(_PING_BYTES[:9])], connection="left", is_mid_frame=True, at_end="close")
    yield from _still_served()


@case("frames/two-in-one", "ApiVersions", versions="all")
def two_in_one(given: Given) -> Script:
    """Many requests in one segment are answered one after the other."""
    yield Talk([Request("ApiVersions", given.version) for _ in range(20)])


@case("frames/array-lengths", "Metadata", versions="all")
def array_lengths(given: Given) -> Script:
    """Lengths of an array that the frame cannot hold, and negative ones."""
    is_compact = given.version >= 9
    lengths = (
        (b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x08", b"\x7f", b"\xff\xff\xff\xff\xff\x7f")
        if is_compact
        else (pack(">i", 2**31 - 1), pack(">i", -2), pack(">i", 1_000_000), pack(">i", 3))
    )
    length_bytes = 1 if is_compact else 4
    empty = Request("Metadata", given.version, {"topics": []})
    at = len(frame_of(empty, 0)) - _behind_the_topics(given.version) - length_bytes
    for length in lengths:
        alter = partial(_with_length, at, length_bytes, length)
        yield Talk([replace(empty, alter=alter)])
        yield from _still_served()


def _behind_the_topics(version: int) -> int:
    """Return how many bytes of Metadata follow its topics: flags, and no tagged field."""
    creates_topics, tells_what_topics_allow = version >= 4, version >= 8
    tells_what_the_cluster_allows, has_tags = 8 <= version <= 10, version >= 9
    return sum((creates_topics, tells_what_topics_allow, tells_what_the_cluster_allows, has_tags))


def _with_length(at: int, size: int, length: bytes, frame: bytes) -> bytes:
    return frame[:at] + length + frame[at + size :]


@case("order/correlation-ids", "ApiVersions", versions="all")
def correlation_ids(given: Given) -> Script:
    """Every correlation id comes back as it was, whatever it is."""
    ids = (0, -1, 2**31 - 1, -(2**31), 65_536, 1)
    yield Talk([Request("ApiVersions", given.version, correlation_id=id_) for id_ in ids])


@case("order/slow-first", "Fetch", versions="ends")
def slow_first(given: Given) -> Script:
    """What is answered late is not overtaken by what came after it."""
    topic = yield NewTopic()
    late = fetch(topic) | {"maxWaitMs": 300, "minBytes": 1}
    names = {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False}
    requests = [
        Request("Fetch", given.version, late),
        Request("Metadata", 4, names),
        Request("Fetch", given.version, late | {"maxWaitMs": 100}),
        _PING,
    ]
    yield Talk(requests)


@case("order/produces", "Produce", versions="ends", since=3)
def produces(given: Given) -> Script:
    """Produces that are sent at once get their offsets and their answers in that order."""
    topic = yield NewTopic()
    sends = [Request("Produce", given.version, produce(topic, batch(n))) for n in (1, 2, 3, 4)]
    silent = Request("Produce", given.version, produce(topic, batch(1), acks=0), is_answered=False)
    yield Talk([*sends[:2], silent, *sends[2:], _PING])


@case("order/after-an-error", "Produce", versions="ends", since=3)
def after_error(given: Given) -> Script:
    """A refused request does not end the connection for those behind it."""
    topic = yield NewTopic()
    bad = Request("Produce", given.version, produce(topic, batch(1), partition=5))
    good = Request("Produce", given.version, produce(topic, batch(1)))
    yield Talk([bad, good, bad, _PING])


@case("order/behind-malformed", "ApiVersions", versions="oldest")
def behind_malformed(_: Given) -> Script:
    """What is in front of a broken frame is answered, what is behind it is not."""
    frame = pack(">hhih", 1000, 0, 8, -1)
    broken = Raw(pack(">i", len(frame)) + frame, _ANSWERED, 8)
    yield Talk([Raw(_PING_BYTES, _ANSWERED, 7)])
    yield Talk([broken])
