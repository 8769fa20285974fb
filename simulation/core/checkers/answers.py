"""No request is answered twice or never, none is asked without a pause; operations end once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.history import Kind, Operation

NAME: Final = "answers"


def check_answers(evidence: Evidence) -> list[Violation]:
    """Look at what went over connections, and at what clients wrote down."""
    seen = [
        Violation(
            NAME,
            each.at_us,
            f"{each.connection}: request {each.correlation_id} of API {each.api_key} {each.what}",
        )
        for each in evidence.samples.misanswers
    ]
    return seen + list(_ends(evidence))


def _ends(evidence: Evidence) -> Iterator[Violation]:
    begun: dict[int, Operation] = {}
    for operation in evidence.history:
        under_way = begun.pop(operation.process, None)
        if operation.kind is Kind.INVOKE:
            if under_way is not None:
                yield _violation(under_way, "had not ended when its process began the next one")
            begun[operation.process] = operation
        elif under_way is None:
            yield _violation(operation, "ended without a begin, or twice")
    for operation in begun.values():
        yield _violation(operation, "never ended")


def _violation(operation: Operation, what: str) -> Violation:
    text = f"{operation.function} of {operation.client} (entry {operation.number}) {what}"
    return Violation(NAME, operation.at_us, text)
