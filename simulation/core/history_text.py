"""Writes a history down: EDN as Jepsen's checkers read it, and JSON lines for everything else.

The EDN has the shape of `jepsen.tests.kafka`, which checks logs with offsets by Elle's graphs:
sends and polls of integer keys. Elle's own list-append would want a whole log in each read, and
would blame a consumer for a high watermark that is a moment old, which Kafka allows.
It opens no file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, assert_never, cast

from protocol.ids import NO_OFFSET, TopicPartition
from simulation.core.history import (
    Assignment,
    Commit,
    Function,
    Kind,
    Operation,
    Order,
    Poll,
    Read,
    Send,
    Txn,
    Value,
)

_CLIENT_FUNCTIONS: Final = (Function.SEND, Function.POLL, Function.TXN)


def edn_lines(operations: Iterable[Operation]) -> Iterator[str]:
    """Give a line per entry, and before it a comment where a partition is named first.

    Orders are the nemesis's, as in Jepsen: their begin and end are both ``:info``.
    """
    keys: dict[TopicPartition, int] = {}
    for operation in operations:
        for tp in _partitions(operation.value):
            if tp not in keys:
                keys[tp] = len(keys)
                yield f"; key {keys[tp]} is {tp}"
        yield _edn_map(_edn_fields(operation, keys))


def json_lines(operations: Iterable[Operation]) -> Iterator[str]:
    """Give a JSON object per entry, with everything that is known of it."""
    for operation in operations:
        yield json.dumps(_plain(operation), separators=(",", ":"), ensure_ascii=False)


def _plain(part: Any) -> Any:
    """Name the fields of named tuples, as JSON would write them as lists."""
    fields: dict[str, Any] | None = part._asdict() if hasattr(part, "_asdict") else None
    if fields is not None:
        return {name: _plain(one) for name, one in fields.items()}
    if isinstance(part, tuple):
        return [_plain(one) for one in cast("tuple[Any, ...]", part)]
    return part


def _partitions(value: Value) -> Iterator[TopicPartition]:
    match value:
        case Send():
            yield value.tp
        case Poll():
            yield from (read.tp for read in value.reads)
        case Txn():
            yield from (part.tp for part in (*value.reads, *value.sends))
        case Assignment() | Commit() | Order():
            pass
        case _:
            assert_never(value)


def _edn_fields(operation: Operation, keys: Mapping[TopicPartition, int]) -> dict[str, str]:
    is_client = operation.function in _CLIENT_FUNCTIONS
    fields = {
        "type": f":{operation.kind if is_client else Kind.INFO}",
        "f": f":{operation.function}",
        "value": _edn_value(operation, keys),
        "process": str(operation.process) if is_client else ":nemesis",
        "time": str(operation.at_us * 1000),
        "index": str(operation.number),
    }
    if operation.error:
        fields["error"] = _edn_text(operation.error)
    return fields


def _edn_value(operation: Operation, keys: Mapping[TopicPartition, int]) -> str:
    value = operation.value
    match value:
        case Send():
            return _edn_vector(_sends(value, keys[value.tp], operation.kind))
        case Poll():
            return _edn_vector([_poll(value.reads, keys, operation.kind)])
        case Txn():
            polls = [_poll(value.reads, keys, Kind.OK)] if value.reads else []
            sends = [
                text for send in value.sends for text in _sends(send, keys[send.tp], operation.kind)
            ]
            return _edn_vector([*polls, *sends])
        case Assignment():
            tps = _edn_vector(_edn_text(str(tp)) for tp in value.partitions)
            group = _edn_text(value.group)
            return f"{{:group {group}, :generation {value.generation}, :partitions {tps}}}"
        case Commit():
            offsets = ", ".join(f"{_edn_text(str(tp))} {at}" for tp, at in value.offsets)
            return f"{{:group {_edn_text(value.group)}, :offsets {{{offsets}}}}}"
        case Order():
            told = {
                name.replace("_", "-"): _edn_part(part)
                for name, part in value._asdict().items()
                if part != Order._field_defaults[name]
            }
            return _edn_map(told)
        case _:
            assert_never(value)


def _sends(send: Send, key: int, kind: Kind) -> Iterator[str]:
    """Say the offset where it is known; acks=0 is never told it."""
    for number, record in enumerate(send.records):
        if kind is not Kind.OK:
            yield f"[:send {key} {record}]"
        elif send.base_offset == NO_OFFSET:
            yield f"[:send {key} [nil {record}]]"
        else:
            yield f"[:send {key} [{send.base_offset + number} {record}]]"


def _poll(reads: Iterable[Read], keys: Mapping[TopicPartition, int], kind: Kind) -> str:
    if kind is not Kind.OK:
        return "[:poll]"
    read = [
        f"{keys[each.tp]} {_edn_vector(f'[{offset} {record}]' for offset, record in each.records)}"
        for each in reads
        if each.records
    ]
    return f"[:poll {{{', '.join(read)}}}]"


def _edn_part(part: str | float | tuple[Any, ...] | None) -> str:
    match part:
        case str():
            return _edn_text(part)
        case tuple():
            return _edn_vector(map(_edn_part, part))
        case None:
            return "nil"
        case bool():
            return str(part).lower()
        case _:
            return str(part)


def _edn_vector(parts: Iterable[str]) -> str:
    return f"[{' '.join(parts)}]"


def _edn_map(fields: Mapping[str, str]) -> str:
    return f"{{{', '.join(f':{name} {text}' for name, text in fields.items())}}}"


def _edn_text(text: str) -> str:
    # EDN's strings know fewer escapes than JSON's, of which only these two are needed.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
