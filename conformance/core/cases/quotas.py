"""Quotas of a client id: what is over them is throttled, and told so, until they are taken off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.core.cases.building import batch, fetch, idempotent, produce
from conformance.core.catalogue import case
from conformance.core.script import (
    CONTROLLER,
    Answer,
    Given,
    NewTopic,
    Repeated,
    Request,
    Script,
    Talk,
    Topic,
    Until,
    ask,
)

_BYTES_PER_S: Final = 1000
"""A client that has sent ten times as much within ten seconds waits from there on."""
_PERCENT: Final = 0.01
"""Of one thread's time: a millisecond within ten seconds."""
_VALUE_BYTES: Final = 1000
_ALTER: Final = 1
_DESCRIBE: Final = 1
_INIT: Final = 1
_PRODUCE: Final = 8


@case("quotas/producer-bytes", "Produce", versions="ends", since=3)
def producer_bytes(given: Given) -> Script:
    """Who sends more than its quota is told to wait, and its connection is not read until then."""
    topic = yield NewTopic()
    form = {"transactionalId": None, "transactionTimeoutMs": 60_000}
    made = yield from ask("InitProducerId", _INIT, form, is_seen=False)
    same = idempotent((made["producerId"], made["producerEpoch"]), 0, size_bytes=_VALUE_BYTES)
    yield from _throttled(
        given, "producer_byte_rate", _BYTES_PER_S, "Produce", produce(topic, same)
    )


@case("quotas/consumer-bytes", "Fetch", versions="ends", since=1)
def consumer_bytes(given: Given) -> Script:
    """Who fetches more than its quota gets no records and is told to wait."""
    topic: Topic = yield NewTopic()
    sent = produce(topic, batch(1, size_bytes=_VALUE_BYTES))
    yield Talk([Request("Produce", _PRODUCE, sent)], is_seen=False)
    yield from _throttled(given, "consumer_byte_rate", _BYTES_PER_S, "Fetch", fetch(topic))


@case("quotas/request-time", "Metadata", versions="ends", since=3)
def request_time(given: Given) -> Script:
    """Who takes more of a broker's time than its quota is told to wait."""
    topic = yield NewTopic()
    form = {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False}
    yield from _throttled(given, "request_percentage", _PERCENT, "Metadata", form)


def _throttled(given: Given, key: str, limit: float, api: str, form: dict[str, Any]) -> Script:
    """Ask one thing under a quota until it is over it, and without it until it is not."""
    client = given.name("client")
    one = Request(api, given.version, form, client_id=client)
    behind = Request("ApiVersions", 0, client_id=client)
    yield from _alter(given, {"key": key, "value": limit})
    yield from _described(given, limit)
    over, later = yield Repeated(Talk([one, behind], connection=key), _is_throttled)
    told_ms = over.body["throttleTimeMs"]
    assert later.after_ms >= told_ms, (
        f"the next answer after {told_ms} ms, not {later.after_ms:.0f}"
    )
    yield from _alter(given, {"key": key, "remove": True})
    yield Repeated(Talk([one], connection=key), _is_served)


def _is_throttled(answers: Sequence[Answer]) -> bool:
    return answers[0].body.get("throttleTimeMs", 0) > 0


def _is_served(answers: Sequence[Answer]) -> bool:
    return answers[0].body.get("throttleTimeMs") == 0


def _alter(given: Given, operation: dict[str, Any]) -> Script:
    entity = [{"entityType": "client-id", "entityName": given.name("client")}]
    entries = [{"entity": entity, "ops": [operation]}]
    return ask("AlterClientQuotas", _ALTER, {"entries": entries}, to=CONTROLLER)


def _described(given: Given, limit: float) -> Script:
    """Describe the quota as soon as the broker that is to keep it knows it."""
    row = {"entityType": "client-id", "matchType": 0, "match": given.name("client")}
    form = {"components": [row], "strict": True}
    watched = Request("DescribeClientQuotas", _DESCRIBE, form)
    yield Until(watched, lambda a: limit in (v["value"] for e in a["entries"] for v in e["values"]))
    yield from ask("DescribeClientQuotas", _DESCRIBE, form)
