"""Producers of transactions, their coordinator, and committed readers, against a broker."""

from __future__ import annotations

from typing import Any

from broker.core.isolation_level import READ_COMMITTED
from broker.core.transactions import EndMarker, build_marker
from broker.engine.types import FetchParams, FetchPart, ProducePart
from protocol.records.build import BatchOptions
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node


async def write(
    node: Node, producer_id: int, sequence: int, *, epoch: int = 0, transactional: bool = True
) -> Any:
    options = BatchOptions(
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    return await node.produce("v", options=options)


async def end(
    node: Node,
    producer_id: int,
    *,
    commit: bool,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    acks: int = -1,
) -> Any:
    marker = EndMarker(producer_id, epoch, coordinator_epoch, commit)
    part = ProducePart(ORDERS, memoryview(build_marker(marker, 5)), marker)
    (result,) = await node.engine.produces.produce([part], acks=acks, timeout_ms=30_000)
    return result


async def read(node: Node, offset: int = 0, *, max_wait_ms: int = 0) -> Any:
    params = FetchParams(max_wait_ms=max_wait_ms, min_bytes=1, isolation_level=READ_COMMITTED)
    part = FetchPart(ORDERS, bytes(16), offset, -1, -1, -1, 1 << 20)
    (result,) = await node.engine.fetches.fetch(params, [part])
    return result


async def last_stable_offset(node: Node) -> int:
    answer = await node.engine.offsets.list_offsets(
        ORDERS, -1, current_leader_epoch=-1, isolation_level=READ_COMMITTED, replica_id=-1
    )
    return answer.offset


async def three_transactions(node: Node) -> None:
    """Offsets 0 to 7: one aborted, one committed, one open, and records outside of them."""
    await write(node, 1, 0)
    await write(node, 2, 0)
    await write(node, 1, 1)
    assert (await end(node, 1, commit=False)).base_offset == 3
    assert (await end(node, 2, commit=True)).base_offset == 4
    await write(node, 9, 0, transactional=False)
    await write(node, 3, 0)
    await write(node, 9, 1, transactional=False)


def aborted_of(result: Any) -> list[tuple[int, int]]:
    return [tuple(one) for one in result.aborted]
