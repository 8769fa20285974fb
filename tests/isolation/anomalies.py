"""Plants into a history what no isolation checker may overlook.

Each way returns what the history would be had the cluster broken that promise once, or None where
it has nothing to be planted in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from simulation.core.history import Kind
from tests.isolation.registers import READ, WRITE, Access, Entry

Entries: TypeAlias = Sequence[Entry]


class Anomaly(NamedTuple):
    """A promise that is broken."""

    plant: Callable[[Entries], list[Entry] | None]
    named: str
    """What its name in Elle begins with."""


def _written(entry: Entry) -> list[Access]:
    return [access for access in entry.accesses if access.how == WRITE]


def _seen_at_last(entries: Entries) -> set[int]:
    return {access.record for access in entries[-1].accesses if access.value is not None}


def _whole_and_seen(entries: Entries, records_min: int) -> list[int]:
    """Return the places of committed transactions that the last reader saw."""
    seen = _seen_at_last(entries)
    return [
        place
        for place, entry in enumerate(entries)
        if entry.kind is Kind.OK
        and len(_written(entry)) >= records_min
        and all(access.record in seen for access in _written(entry))
    ]


def _unseen(entries: Entries, records: Sequence[int]) -> list[Entry]:
    """Take records from what the last reader was given."""
    last = entries[-1]
    accesses = tuple(
        access._replace(value=None) if access.record in records else access
        for access in last.accesses
    )
    return [*entries[:-1], last._replace(accesses=accesses)]


def _aborted_read(entries: Entries) -> list[Entry] | None:
    """G1a: a transaction that the last reader saw was never committed."""
    places = _whole_and_seen(entries, 1)
    if not places:
        return None
    return [
        entry._replace(kind=Kind.FAIL) if place == places[-1] else entry
        for place, entry in enumerate(entries)
    ]


def _torn(entries: Entries) -> list[Entry] | None:
    """G-single: the last reader sees all of a transaction but one record."""
    places = _whole_and_seen(entries, 2)
    return _unseen(entries, [_written(entries[places[0]])[0].record]) if places else None


def _lost(entries: Entries) -> list[Entry] | None:
    """G-single in real time: nobody sees a transaction whose commit was answered."""
    places = _whole_and_seen(entries, 1)
    if len(places) < 2:  # the last reader is to see something of a topic
        return None
    return _unseen(entries, [access.record for access in _written(entries[places[0]])])


def _circle(entries: Entries) -> list[Entry] | None:
    """G1c: two transactions have read of each other."""
    places = _whole_and_seen(entries, 1)
    if len(places) < 2:
        return None
    first, second = places[:2]
    read = {
        first: _written(entries[second])[0]._replace(how=READ),
        second: _written(entries[first])[0]._replace(how=READ),
    }
    return [
        entry._replace(accesses=(read[place], *entry.accesses)) if place in read else entry
        for place, entry in enumerate(entries)
    ]


ANOMALIES: Final[Mapping[str, Anomaly]] = {
    "a record of an aborted transaction": Anomaly(_aborted_read, "G1a"),
    "a part of a transaction": Anomaly(_torn, "G-single"),
    "a lost commit": Anomaly(_lost, "G-single"),
    "a circle of reads": Anomaly(_circle, "G1c"),
}
