"""What any record promises: it changes what it says, and nothing else. Each class says the rest."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final, TypeVar

from controller.core.records import Record
from controller.core.step import Step
from simulation.contracts.contract import Broken, of_method

# Any: each takes its own class of records.
RecordPromise = Callable[[Any, Any], Generator[None, None, Broken]]
PromiseT = TypeVar("PromiseT", bound=RecordPromise)
PROMISES: Final[dict[type[Record], RecordPromise]] = {}
"""Class of a record -> what it promises of the state that it is applied to."""


def of_record(record: type[Record]) -> Callable[[PromiseT], PromiseT]:
    """Make a promise that of a class of records."""

    def kept(promise: PromiseT) -> PromiseT:
        PROMISES[record] = promise
        return promise

    return kept


@of_method(Step, "change")
def change(step: Step, record: Record) -> Generator[None, None, Broken]:
    """A decision changes what its record says, all else stays, and the journal gets the record.

    Not where a journal is replayed: that leads to the same, which is a promise of its own.
    """
    promise = PROMISES.get(type(record))
    count = len(step.records)
    broken = None
    if promise is None:
        yield
    else:
        broken = yield from promise(record, step.state)
    if broken is not None:
        return f"{type(record).__name__}: {broken}"
    is_kept = len(step.records) == count + 1 and step.records[-1] is record
    return None if is_kept else f"{record} is not the last of {step.records}"
