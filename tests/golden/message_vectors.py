"""The golden messages: generated with the message classes of Apache Kafka 3.9.2 and 4.3.1.

``messages.jsonl.gz`` has the bodies of every API that ``protocol.apis`` names, the headers, and
what consumers put into JoinGroup and SyncGroup. Fields of a line: ``api``, ``kind``, ``version``,
``source`` (Kafka's version), ``n``, ``case``, ``json`` (Kafka's JSON form), ``hex``, and
``unknownTags`` where tagged fields were added that the schema does not know.
"""

from __future__ import annotations

import functools
from typing import Any

from protocol.apis import APIS, BY_NAME
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from protocol.messages.headers import RequestHeader, ResponseHeader
from protocol.wire.table import META
from tests.golden.vectors import load_vectors

Vector = dict[str, Any]

_OTHERS: dict[str, type[Any]] = {
    "RequestHeader": RequestHeader,
    "ResponseHeader": ResponseHeader,
    "ConsumerProtocolAssignment": ConsumerProtocolAssignment,
    "ConsumerProtocolSubscription": ConsumerProtocolSubscription,
}


def class_of(api: str, kind: str) -> type[Any]:
    """Return the class of the messages of ``api``, which may also name a header or a payload."""
    if api in _OTHERS:
        return _OTHERS[api]
    return BY_NAME[api].request if kind == "request" else BY_NAME[api].response


@functools.cache
def message_vectors() -> dict[tuple[str, str], list[Vector]]:
    """Return all vectors by (api, kind), in file order."""
    found: dict[tuple[str, str], list[Vector]] = {}
    for vector in load_vectors("messages"):
        found.setdefault((vector["api"], vector["kind"]), []).append(vector)
    return found


@functools.cache
def messages_and_versions() -> list[tuple[type[Any], int]]:
    """Return every message class that we have with every version of it."""
    classes = [kind for api in APIS.values() for kind in (api.request, api.response)]
    return [
        (cls, version)
        for cls in [*classes, *_OTHERS.values()]
        for version in range(META[cls].versions.low, META[cls].versions.high + 1)
    ]
