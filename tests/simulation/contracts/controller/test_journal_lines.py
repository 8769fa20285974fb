"""What the contracts of the journal's lines say of wrong rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from controller import journal as journals
from controller.core.decision import Decision, Durable
from controller.core.records import ProducerIdsAllocated
from controller.journal import Entry, Journal, JournalCorruptError, Replayed, encode_entry
from tests.simulation.contracts.wrong_rules import answers, told_of

PATH: Final = Path("/journal")


def lines(*groups: int) -> list[bytes]:
    """Return one decision a line, by its number and that of the first one of its group."""
    record = ProducerIdsAllocated(1000)
    return [encode_entry(Entry(number, group, [record])) for number, group in enumerate(groups)]


FIRST, SECOND, THIRD = lines(0, 1, 2)
WHOLE: Final = FIRST + SECOND + THIRD
TORN: Final = FIRST + SECOND + THIRD[:-3]
DAMAGED: Final = FIRST + b"x" + SECOND[1:] + THIRD


def refuses(_: bytes, path: Path) -> Replayed:
    raise JournalCorruptError(path, 1, "wrong")


def changed(**fields: Any) -> Callable[[bytes, Path], Replayed]:
    right = journals.replay

    def rule(data: bytes, path: Path) -> Replayed:
        return replace(right(data, path), **fields)

    return rule


def takes(data: bytes, _: Path) -> Replayed:
    return cast("Replayed", SimpleNamespace(next_sequence=1, size_bytes=1, torn_bytes=len(data)))


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (WHOLE, refuses),
        (TORN, refuses),
        (TORN, changed(torn_bytes=0)),
        (TORN, changed(next_sequence=3)),
        (WHOLE, changed(size_bytes=1)),
        (DAMAGED, takes),
    ],
)
def test_a_journal_that_is_read_wrongly_is_told(
    data: bytes, wrong: Callable[[bytes, Path], Replayed]
) -> None:
    def use() -> None:
        try:
            journals.replay(data, PATH)
        except JournalCorruptError:
            assert data is DAMAGED or wrong is refuses

    assert not told_of(None, "journal.replay", use)
    assert told_of(wrong, "journal.replay", use)


def told_appended(wrong: Callable[..., Any] | None) -> list[str]:
    """Return what is told where one of two decisions has records."""

    class AtOnce(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError

    file: Any = SimpleNamespace(append=answers(None), path=PATH)

    async def use() -> None:
        journal = Journal(file, AtOnce())

        async def run(job: Callable[[], Any]) -> Any:
            return job()

        journal._run = run  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        decided = [Decision(7, [ProducerIdsAllocated(1000)], []), Decision(7, [], [])]
        await journal.append(decided)

    return told_of(wrong, "Journal.append", lambda: asyncio.run(use()))


async def writes_nothing(*_: object) -> Durable:
    return Durable(7)


async def counts_too_many(journal: Any, _: object) -> Durable:
    journal._next_sequence += 2
    journal._size_bytes += 9
    return Durable(7)


async def tells_of_another(journal: Any, _: object) -> Durable:
    journal._next_sequence += 1
    journal._size_bytes += 9
    return Durable(8)


def test_decisions_without_their_lines_are_told() -> None:
    assert not told_appended(None)
    for wrong in (writes_nothing, counts_too_many, tells_of_another):
        assert told_appended(wrong)
