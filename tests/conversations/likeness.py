"""What two clusters may answer differently although they mean the same."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, cast

from conformance.core.cases.building import STAMP_MS
from protocol.errors import Malformed
from protocol.records.compression import Compression, decompress

_DAYS_MS: Final = 10**10
"""Beyond every time that a conversation gives its records: the time of day of a cluster."""
_TIMES: Final = ("timestamp", "lastTimestamp")
_CODEC_MASK: Final = 7
_SETS: Final = ("entity", "subscribedTopicNames", "topicPartitions")
"""Lists in the order of a hash."""
_HASHED: Final = {"committedOffset", "entity", "isrNodes", "lastSequence", "transactionState"}
"""What rows have in them, or in their own rows, whose order is that of a hash."""


def alike(seen: Any) -> Any:
    """Return what was seen without bytes of compressors, times of day and orders without meaning.

    Partitions of a Fetch that have an error stand behind the others, in the order of their names:
    Apache Kafka puts those there that it knows nothing of. Transactions that were aborted behind
    the records of an answer, which it names where its index is coarse, are left out.
    """
    if isinstance(seen, list):
        items = [alike(each) for each in cast("list[Any]", seen)]
        return sorted(items, key=str) if _HASHED & _names(items) else items
    if not isinstance(seen, Mapping):
        return seen
    form = dict(cast("Mapping[str, Any]", seen))
    for rule in (_of_batch, _of_transaction, _of_fetch, _of_place, _of_group):
        form |= rule(form)
    for name in _TIMES:
        if isinstance(form.get(name), int) and form[name] > STAMP_MS + _DAYS_MS:
            form[name] = "<now>"
    for name in _SETS:
        if form.get(name):
            form[name] = sorted(form[name], key=str)
    return {key: alike(value) for key, value in form.items()}


def _of_batch(form: Mapping[str, Any]) -> dict[str, Any]:
    if not form.get("attributes", 0) & _CODEC_MASK:
        return {}
    return {"batch_length": "<compressed>", "records": _unpacked(form)}


def _of_transaction(form: Mapping[str, Any]) -> dict[str, Any]:
    if "transactionState" not in form or "topics" not in form:
        return {}
    changed: dict[str, Any] = {"topics": sorted(form["topics"], key=str)}
    if form["transactionState"] == "Empty":  # 3.9 tells when the one began that is over.
        changed["transactionStartTimeMs"] = "<none>"
    return changed


def _of_fetch(form: Mapping[str, Any]) -> dict[str, Any]:
    if form.get("abortedTransactions") and isinstance(form.get("records"), list):
        return {"abortedTransactions": _of_records(form)}
    if "sessionId" in form and "responses" in form:
        return {"responses": _errors_last(form["responses"])}
    return {}


def _of_place(form: Mapping[str, Any]) -> dict[str, Any]:
    if form.get("partitionSize", 0) > 0:
        return {"partitionSize": "<bytes>"}
    # Of reassignments: 3.9 has a word, or none, where 4.3 has null.
    if form.get("errorMessage") == "" or "partitionIndex" in form:
        return {"errorMessage": None}
    return {}


def _of_group(form: Mapping[str, Any]) -> dict[str, Any]:
    if form.get("groupState", "Stable") == "Stable" or "members" not in form:
        return {}
    # While members are to join again, 3.9 tells of no assignments.
    return {"members": [{**each, "memberAssignment": "<before>"} for each in form["members"]]}


def _names(rows: list[Any]) -> set[str]:
    """Return the names of the first row and of the first partition in it."""
    if not rows or not isinstance(rows[0], dict):
        return set()
    first = cast("dict[str, Any]", rows[0])
    return {*first, *_names(first.get("partitions", []))}


def _of_records(partition: Mapping[str, Any]) -> list[Any]:
    last = partition["records"][-1]
    end = last["base_offset"] + last["last_offset_delta"]
    return [each for each in partition["abortedTransactions"] if each["firstOffset"] <= end]


def _unpacked(batch: Mapping[str, Any]) -> str:
    data = base64.b64decode(batch["records"])
    try:
        return bytes(decompress(Compression(batch["attributes"] & _CODEC_MASK), data)).hex()
    except Malformed as error:
        return f"<malformed: {error}>"


def _errors_last(topics: list[Any]) -> list[Any]:
    rows = [
        [topic.get("topic") or topic.get("topicId"), row]
        for topic in topics
        for row in topic["partitions"]
    ]
    fine = [row for row in rows if not row[1]["errorCode"]]
    return fine + sorted((row for row in rows if row[1]["errorCode"]), key=str)
