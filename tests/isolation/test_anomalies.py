"""What is planted into histories."""

from __future__ import annotations

import pytest

from simulation.core.history import Kind
from tests.isolation.anomalies import ANOMALIES
from tests.isolation.registers import READ, WRITE, Access, Entry


def wrote(*records: int) -> Entry:
    return Entry(Kind.OK, 1, 1, tuple(Access(WRITE, record, record) for record in records))


def read(*records: int, nothing_of: tuple[int, ...] = ()) -> Entry:
    accesses = tuple(
        Access(READ, record, None if record in nothing_of else record) for record in records
    )
    return Entry(Kind.OK, 2, 2, accesses)


WELL = [wrote(1, 2), wrote(3), read(1, 2, 3)]


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        (
            "a record of an aborted transaction",
            [wrote(1, 2), wrote(3)._replace(kind=Kind.FAIL), read(1, 2, 3)],
        ),
        ("a part of a transaction", [*WELL[:-1], read(1, 2, 3, nothing_of=(1,))]),
        ("a lost commit", [*WELL[:-1], read(1, 2, 3, nothing_of=(1, 2))]),
        (
            "a circle of reads",
            [
                Entry(Kind.OK, 1, 1, (Access(READ, 3, 3), *wrote(1, 2).accesses)),
                Entry(Kind.OK, 1, 1, (Access(READ, 1, 1), *wrote(3).accesses)),
                WELL[-1],
            ],
        ),
    ],
)
def test_each_is_planted_once(name: str, planted: list[Entry]) -> None:
    assert ANOMALIES[name].plant(WELL) == planted


@pytest.mark.parametrize("name", ANOMALIES)
def test_nothing_is_planted_where_nothing_was_read(name: str) -> None:
    unseen = [wrote(1, 2), wrote(3), read(1, 2, 3, nothing_of=(1, 2, 3))]
    assert ANOMALIES[name].plant(unseen) is None
