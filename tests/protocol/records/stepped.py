"""Goes through long work on records and tells what its steps were."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from protocol.errors import Malformed
from protocol.records.steps import CodecWork, Steps

T = TypeVar("T")


@dataclass
class Stepped:
    """What was yielded on the way."""

    steps: int = 0
    """Turns of others."""
    works: list[CodecWork] = field(default_factory=list["CodecWork"])
    """What codecs had to do elsewhere."""


def gone_through(steps: Steps[T]) -> tuple[T, Stepped]:
    """Return the result of ``steps``, and what they were."""
    stepped = Stepped()
    try:
        work = next(steps)
        while True:
            result: Any = None
            if work is None:
                stepped.steps += 1
            else:
                stepped.works.append(work)
                try:
                    result = work.call()
                except Malformed as error:
                    work = steps.throw(error)
                    continue
            work = steps.send(result)
    except StopIteration as end:
        return end.value, stepped
