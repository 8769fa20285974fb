"""Topics and partitions in requests and answers of any API: found, divided, given error codes.

It goes by the tables of the messages, so that it knows no API; Fetch alone answers in rows that no
refusal of a whole request has. Nothing is changed in place: answers may be shared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from protocol.errors import ErrorCode
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.wire.table import arrays_of, rows_of, struct_arrays_of

_TOPIC_NAMES: Final = ("name", "topic", "topic_name")
_TOPICS: Final = (
    *("topics", "topic_data", "topic_partitions", "topic_results", "responses"),
    *("replica_election_results", "v3_and_below_topics", "results_by_topic_v3_and_below"),
    "results",
)
"""Arrays of topics, if their elements have a topic's name or id."""
_NOT_ASKED: Final = ("forgotten_topics_data",)
NO_PARTITION: Final = -1
"""In a Part: what is said of a topic alone, such as that it does not exist."""
_PARTITIONS: Final = (
    *("partitions", "partition_data", "partition_indexes", "partition_responses"),
    *("partition_result", "results_by_partition"),
)
_INDEXES: Final = ("index", "partition_index", "partition", "partition_id")
_CODES: Final = ("error_code", "partition_error_code")
_WITHOUT_SUCCESS: Final = {"base_offset": -1, "records": None}
"""What a row of a partition says beside its code when it failed."""


class Part(NamedTuple):
    """A topic, or one of its partitions."""

    topic: str
    partition: int | None = None
    """None: the topic as a whole."""

    def __str__(self) -> str:
        return self.topic if self.partition is None else f"{self.topic}-{self.partition}"


NameOf = Callable[[bytes], str | None]
"""Tells the name of a topic by its id."""
IsChosen = Callable[[Part], bool]


def parts_of(message: Any, name_of: NameOf) -> list[Part]:
    """Return what a request or an answer names, in its order."""
    return list(_parts(message, name_of))


def divide(request: Any, is_chosen: IsChosen, name_of: NameOf) -> tuple[Any, Any]:
    """Return the request for what is chosen, and the one for the rest; None for nothing.

    A request that names no partition is chosen as a whole.
    """
    chosen, rest = _divided(request, is_chosen, name_of)
    if chosen is None and rest is None:
        return request, None
    return chosen, rest


def with_error(answer: Any, code: ErrorCode, is_chosen: IsChosen | None, name_of: NameOf) -> Any:
    """Return the answer with a code: in chosen partitions, or topics, or wherever it has one.

    ``is_chosen`` is None for all of it.
    """
    if is_chosen is not None:
        return _with_codes(answer, code, is_chosen, name_of)
    has_rows = next(_parts(answer, name_of), None) is not None
    if has_rows:
        return _with_codes(answer, code, lambda _: True, name_of)
    return _with_code_everywhere(answer, code)


def refused_fetch(request: FetchRequest, code: ErrorCode) -> FetchResponse:
    """Return the answer that has the code in each partition, which no refusal of Fetch has."""
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    PartitionData(
                        partition_index=asked.partition,
                        error_code=code,
                        high_watermark=-1,
                        aborted_transactions=None,
                        records=b"",
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def joined(one: Any, other: Any) -> Any:
    """Return one answer made of two that are about different partitions."""
    changes = {
        name: [*(getattr(one, name) or ()), *more]
        for name in arrays_of(one.__class__)
        if (more := getattr(other, name))
    }
    return dataclasses.replace(one, **changes)


def error_names(answer: Any) -> list[str]:
    """Return the names of the codes that an answer has anywhere, each once, but for NONE."""
    names: dict[str, None] = {}
    field = _code_field(answer.__class__)
    if field and getattr(answer, field):
        names[ErrorCode(getattr(answer, field)).name] = None
    for array, _ in struct_arrays_of(answer.__class__):
        for item in getattr(answer, array) or ():
            names.update(dict.fromkeys(error_names(item)))
    return list(names)


def has_throttle_time(answer: type[Any], version: int) -> bool:
    """Tell whether answers of a version say for how long a client is throttled."""
    return any(
        name == "throttle_time_ms" and version in row.versions for name, row, _ in rows_of(answer)
    )


def _parts(value: Any, name_of: NameOf) -> Iterator[Part]:
    for array, element in _topic_arrays(value):
        for item in getattr(value, array) or ():
            topic = item if element is None else _topic(item, name_of)
            rows = "" if element is None else _partitions_in(element)
            indexes = [_index(each) for each in getattr(item, rows) or ()] if rows else []
            if indexes:
                yield from (Part(topic, index) for index in indexes)
            else:
                yield Part(topic)
    for array, _ in _outer_arrays(value):
        for item in getattr(value, array) or ():
            yield from _parts(item, name_of)


def _divided(value: Any, is_chosen: IsChosen, name_of: NameOf) -> tuple[Any, Any]:
    """Divide all arrays of topics below ``value``; (None, None): there is none."""
    chosen: dict[str, list[Any]] = {}
    rest: dict[str, list[Any]] = {}
    for array, element in _topic_arrays(value):
        for item in getattr(value, array) or ():
            topic = item if element is None else _topic(item, name_of)
            taken, left = _divided_topic(item, element, topic, is_chosen)
            chosen.setdefault(array, []).extend(taken)
            rest.setdefault(array, []).extend(left)
    for array, _ in _outer_arrays(value):
        for item in getattr(value, array) or ():
            taken, left = _divided(item, is_chosen, name_of)
            chosen.setdefault(array, []).extend([] if taken is None else [taken])
            rest.setdefault(array, []).extend([] if left is None else [left])
    return _replaced(value, chosen), _replaced(value, rest)


def _replaced(value: Any, arrays: dict[str, list[Any]]) -> Any:
    return dataclasses.replace(value, **arrays) if any(arrays.values()) else None


def _divided_topic(
    item: Any, element: type[Any] | None, topic: str, is_chosen: IsChosen
) -> tuple[list[Any], list[Any]]:
    rows = "" if element is None else _partitions_in(element)
    partitions: Sequence[Any] = (getattr(item, rows) or ()) if rows else ()
    if not partitions:
        return ([item], []) if is_chosen(Part(topic)) else ([], [item])
    taken = [each for each in partitions if is_chosen(Part(topic, _index(each)))]
    left = [each for each in partitions if not is_chosen(Part(topic, _index(each)))]
    return (
        [dataclasses.replace(item, **{rows: taken})] if taken else [],
        [dataclasses.replace(item, **{rows: left})] if left else [],
    )


def _with_codes(value: Any, code: ErrorCode, is_chosen: IsChosen, name_of: NameOf) -> Any:
    changes: dict[str, Any] = {}
    for array, element in _topic_arrays(value):
        if element is not None:
            changes[array] = [
                _topic_with_codes(item, code, is_chosen, _topic(item, name_of))
                for item in getattr(value, array) or ()
            ]
    for array, _ in _outer_arrays(value):
        changes[array] = [
            _with_codes(item, code, is_chosen, name_of) for item in getattr(value, array) or ()
        ]
    return dataclasses.replace(value, **changes)


def _topic_with_codes(item: Any, code: ErrorCode, is_chosen: IsChosen, topic: str) -> Any:
    """Put the code into the topic itself where it has one and is met, else into partitions."""
    rows = _partitions_in(item.__class__)
    partitions: Sequence[Any] = (getattr(item, rows) or ()) if rows else ()
    if _code_field(item.__class__) and is_chosen(Part(topic, NO_PARTITION)):
        return _with_code(dataclasses.replace(item, **({rows: []} if rows else {})), code)
    if not rows or not partitions or not _code_field(partitions[0].__class__):
        return item
    failed = [
        _with_code(each, code) if is_chosen(Part(topic, _index(each))) else each
        for each in partitions
    ]
    return dataclasses.replace(item, **{rows: failed})


def _with_code_everywhere(value: Any, code: ErrorCode) -> Any:
    if _code_field(value.__class__):
        value = _with_code(value, code)
    changes = {
        array: [_with_code_everywhere(item, code) for item in getattr(value, array) or ()]
        for array, _ in struct_arrays_of(value.__class__)
        if getattr(value, array)
    }
    return dataclasses.replace(value, **changes)


def _with_code(item: Any, code: ErrorCode) -> Any:
    cls: Any = item.__class__
    without = {name: value for name, value in _WITHOUT_SUCCESS.items() if hasattr(item, name)}
    return dataclasses.replace(item, **{_code_field(cls): code}, **without)


def _code_field(cls: Any) -> str:
    return _first_field(cls, _CODES)


def _partitions_in(cls: Any) -> str:
    arrays = arrays_of(cls)
    return next((name for name in _PARTITIONS if name in arrays), "")


def _first_field(cls: Any, names: tuple[str, ...]) -> str:
    known = [name for name, _, _ in rows_of(cls)]
    return next((name for name in names if name in known), "")


def _topic_arrays(value: Any) -> Iterator[tuple[str, type[Any] | None]]:
    """Yield the arrays of topics that a struct has, with the class of their elements if any."""
    structs = dict(struct_arrays_of(value.__class__))
    for array in arrays_of(value.__class__):
        element = structs.get(array)
        if array in _NOT_ASKED:
            continue
        if element is None:
            if array == "topic_names":
                yield array, None
        elif (array in _TOPICS or _partitions_in(element)) and _first_field(
            element, (*_TOPIC_NAMES, "topic_id")
        ):
            yield array, element


def _outer_arrays(value: Any) -> Iterator[tuple[str, type[Any]]]:
    """Yield those whose elements may have topics inside them: groups, markers, log dirs."""
    topics = [array for array, _ in _topic_arrays(value)]
    for array, element in struct_arrays_of(value.__class__):
        if array not in topics and any(True for _ in _arrays_below(element)):
            yield array, element


def _arrays_below(element: type[Any]) -> Iterator[str]:
    for array, inner in struct_arrays_of(element):
        if _partitions_in(inner):
            yield array


def _topic(item: Any, name_of: NameOf) -> str:
    for field in _TOPIC_NAMES:
        if name := getattr(item, field, None):
            return str(name)
    topic_id = getattr(item, "topic_id", b"")
    return name_of(bytes(topic_id)) or ""


def _index(partition: Any) -> int:
    if isinstance(partition, int):
        return partition
    for field in _INDEXES:
        if hasattr(partition, field):
            return int(getattr(partition, field))
    return -1
