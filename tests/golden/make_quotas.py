"""Asks a broker of Apache Kafka 4.3.1 about clients' quotas: ``quotas.jsonl.gz``.

A line is a request and its answer, in the order in which they were sent: ``alter`` (entries of
entities and operations, each answered by an error) or ``describe`` (a filter: error or entries).
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from jbodlab.asking.rpc import BlockingClient
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    ComponentData,
    DescribeClientQuotasRequest,
    OpData,
)
from tests.deadlines import DEADLINE_S
from tests.golden.kraft_broker import kraft_broker
from tests.golden.made import GOLDEN, Made, write_vectors
from tests.golden.vectors import load_vectors

VERSION: Final = 1
Names: TypeAlias = Sequence[Sequence[str | None]]
"""(type, name) pairs of one entity."""
Ops: TypeAlias = Sequence[tuple[str, float | None]]
"""(key, value) pairs; without a value the key is removed."""
Row: TypeAlias = dict[str, Any]
_ALICE: Final = [["user", "alice"]]
_ALICE_AT_APP: Final = [["user", "alice"], ["client-id", "app"]]
_ANY_USER: Final = [["user", None]]
_PRODUCE: Final = "producer_byte_rate"
_ENTITIES: Final[Sequence[Names]] = (
    _ALICE,
    _ALICE_AT_APP,
    [["user", "alice"], ["client-id", None]],
    _ANY_USER,
    [["user", None], ["client-id", None]],
    [["client-id", "app"]],
    [["client-id", None]],
    [["ip", "127.0.0.1"]],
    [["ip", "::1"]],
    [["ip", None]],
)
_WRONG_ENTITIES: Final[Sequence[Names]] = (
    [],
    [["sheep", "dolly"]],
    [["user", ""]],
    [["client-id", ""]],
    [["ip", "127.0.0.1"], ["user", "alice"]],
    [["ip", "127.0.0.1"], ["client-id", "app"]],
    [["ip", "no such host."]],
    [["ip", ""]],
    [["sheep", "dolly"], ["user", "alice"]],
)
_VALUES: Final = (1.0, 1000.0, 0.0, -1.0, 1.5, 1000.0000001, 1e15, 1e300)
_KEYS: Final = (
    _PRODUCE,
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
    "no_such_key",
)
_FILTERS: Final[Sequence[Sequence[Sequence[str | int | None]]]] = (
    [],
    [["user", 0, "alice"]],
    [["user", 0, "nobody"]],
    [["user", 0, None]],
    [["user", 1, None]],
    [["user", 1, "alice"]],
    [["user", 2, None]],
    [["user", 2, "alice"]],
    [["user", 9, None]],
    [["user", 0, "alice"], ["client-id", 0, "app"]],
    [["user", 2, None], ["client-id", 2, None]],
    [["user", 0, "alice"], ["client-id", 1, None]],
    [["client-id", 2, None]],
    [["ip", 2, None]],
    [["ip", 0, "127.0.0.1"]],
    [["ip", 2, None], ["user", 2, None]],
    [["user", 2, None], ["user", 0, "alice"]],
    [["", 2, None]],
    [["sheep", 2, None]],
)


def _alterations() -> Iterator[tuple[list[tuple[Names, Ops]], bool]]:
    """Give entries, and whether they are only validated."""
    for names in (*_ENTITIES, *_WRONG_ENTITIES):
        for key in _KEYS:
            yield [(names, [(key, 2000.0)])], True
    for value, key in itertools.product(_VALUES, ("producer_byte_rate", "request_percentage")):
        yield [(_ALICE, [(key, value)])], True
    yield [(_ALICE, [(_PRODUCE, None)])], True
    yield [(_ALICE, [("no_such_key", None)])], True
    yield [(_ALICE, [])], True
    yield [(_ALICE, [(_PRODUCE, 1.0), (_PRODUCE, 2.0)])], True
    yield [(_ALICE, [(_PRODUCE, 1.0)]), (_ALICE, [("consumer_byte_rate", 2.0)])], True
    yield [(_ALICE, [(_PRODUCE, 1.0), ("no_such_key", 2.0)])], True
    yield [(_ALICE, [("no_such_key", 2.0)]), (_ANY_USER, [(_PRODUCE, 2.0)])], True
    for number, names in enumerate(_ENTITIES):
        key = "connection_creation_rate" if names[0][0] == "ip" else _PRODUCE
        yield [(names, [(key, 1000.0 + number)])], False
    yield [(_ALICE, [("request_percentage", 12.5), (_PRODUCE, 5000.0)])], False
    yield [(_ALICE_AT_APP, [(_PRODUCE, None)])], False


def altered(client: BlockingClient, entries: list[tuple[Names, Ops]], *, is_tried: bool) -> Any:
    """Return entity, error code and message of each answer; ``is_tried``: it only validates."""
    request = alter_request(entries, is_tried=is_tried)
    return answered(client.request(request, VERSION))


def alter_request(entries: Sequence[tuple[Names, Ops]], *, is_tried: bool) -> Any:
    """Return the request that a line is about."""
    return AlterClientQuotasRequest(
        entries=[
            AlterClientQuotasRequestEntryData(
                entity=[
                    AlterClientQuotasRequestEntityData(entity_type=str(kind), entity_name=name)
                    for kind, name in names
                ],
                ops=[
                    OpData(
                        key=str(key), value=0.0 if value is None else value, remove=value is None
                    )
                    for key, value in ops
                ],
            )
            for names, ops in entries
        ],
        validate_only=is_tried,
    )


def answered(response: Any) -> list[Any]:
    """Return entity, error code and message of each answer, in an order that is always the same."""
    return sorted(
        (
            [_sorted(entry.entity), int(entry.error_code), entry.error_message]
            for entry in response.entries
        ),
        key=str,
    )


def describe_request(components: Sequence[Sequence[Any]], *, strict: bool) -> Any:
    """Return the request that a line is about."""
    return DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match_type, match=match)
            for kind, match_type, match in components
        ],
        strict=strict,
    )


def described(response: Any) -> list[Any]:
    """Return error code, message and entries, in an order that is always the same."""
    found: list[Any] | None = None
    if response.entries is not None:
        found = sorted(
            (
                [_sorted(entry.entity), sorted([each.key, each.value] for each in entry.values)]
                for entry in response.entries
            ),
            key=str,
        )
    return [int(response.error_code), response.error_message, found]


def _sorted(entity: Sequence[Any]) -> list[list[str | None]]:
    return sorted(([each.entity_type, each.entity_name] for each in entity), key=str)


def asked() -> Iterator[Row]:
    """Ask a new broker everything."""
    with kraft_broker() as client:
        count = 0
        for entries, is_tried in _alterations():
            answer = altered(client, entries, is_tried=is_tried)
            count += not is_tried
            yield {"alter": entries, "is_tried": is_tried, "answer": answer}
        _await(client)
        for components, strict in itertools.product(_FILTERS, (False, True)):
            request = describe_request(components, strict=strict)
            answer = described(client.request(request, VERSION))
            yield {"describe": components, "strict": strict, "answer": answer}


def _await(client: BlockingClient) -> None:
    """Wait until the last alteration is in force."""
    end = time.monotonic() + DEADLINE_S
    request = describe_request([["user", 0, "alice"], ["client-id", 0, "app"]], strict=True)
    while client.request(request, VERSION).entries:
        if time.monotonic() > end:
            raise SystemExit(f"quotas were not in force after {DEADLINE_S} s")


def made() -> Made:
    """Ask for every alteration and every filter."""
    found = list(asked())
    is_there = (GOLDEN / "quotas.jsonl.gz").exists()
    standing = load_vectors("quotas") if is_there else []
    pairs = itertools.zip_longest(found, standing)
    differing = [f"{new} for {old}" for new, old in pairs if new != old]
    write = functools.partial(write_vectors, "quotas", found)
    return Made(f"{len(found)} lines asked anew", differing, write)
