"""What the simulated clients of a run saw, as metric rows: out of their history."""

from __future__ import annotations

from collections.abc import Iterable

from protocol.metrics.client_rows import Sent, client_rows
from protocol.metrics.rows import ClientRow, LatencyRow
from simulation.core.history import Function, Kind, Operation, Send


def history_rows(operations: Iterable[Operation], epoch_ms: int) -> list[ClientRow | LatencyRow]:
    """Return the rows of all producers, client by client.

    Args:
        operations: a whole history.
        epoch_ms: the time of day at 0 us of the loop's time.
    """
    begun: dict[int, int] = {}
    sent: dict[str, list[Sent]] = {}
    for operation in operations:
        if operation.function is not Function.SEND:
            continue
        if operation.kind is Kind.INVOKE:
            begun[operation.process] = operation.at_us
        else:
            of_client = sent.setdefault(operation.client, [])
            of_client.append(_sent(operation, begun[operation.process]))
    return [
        row
        for client, of_client in sorted(sent.items())
        for row in client_rows(client, of_client, epoch_ms=epoch_ms)
    ]


def _sent(operation: Operation, began_us: int) -> Sent:
    assert isinstance(operation.value, Send)
    return Sent(
        operation.value.tp,
        began_us,
        operation.at_us,
        is_acknowledged=operation.kind is Kind.OK,
        records=len(operation.value.records),
    )
