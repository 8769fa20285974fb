"""Compacted topics on brokers of the lab: made, filled, read, and how far they are compacted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from broker.engine.types import ProducePart
from broker.storage.cleanable import read_cleaner_offsets
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.records.build import NewRecord, build_batch
from protocol.records.records import Record, iterate_all_records
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node


async def compacted(
    lab: Lab, tp: TopicPartition = ORDERS, *, replicas: Sequence[int] = (1,), **configs: str
) -> None:
    """Create a topic with small segments, compacted."""
    await lab.create(
        tp,
        replicas=replicas,
        cleanup_policy="compact",
        segment_bytes="1000",
        file_delete_delay_ms="1000",
        **configs,
    )


async def put(node: Node, key: str, value: str | None, tp: TopicPartition = ORDERS) -> Any:
    record = NewRecord(
        None if value is None else value.encode(), key.encode(), timestamp_ms=1_700_001_000_000
    )
    part = ProducePart(tp, memoryview(build_batch([record])))
    (result,) = await node.engine.produces.produce([part], acks=-1, timeout_ms=5_000)
    return result


async def fill(node: Node, count: int, tp: TopicPartition = ORDERS) -> None:
    for number in range(count):
        result = await put(node, f"key-{number % 4}", f"{number:050d}", tp)
        assert result.error_code == ErrorCode.NONE


async def consumed(node: Node, offset: int = 0, tp: TopicPartition = ORDERS) -> list[Record]:
    """Every record from ``offset`` on."""
    found: list[Record] = []
    end = await node.log_end(tp)
    while offset < end:
        answer = await node.fetch(offset, tp=tp, max_bytes=500)
        assert answer.error_code == ErrorCode.NONE
        records = list(iterate_all_records(b"".join(answer.records)))
        found += [record for record in records if record.offset >= offset]
        offset = max([offset + 1, *[record.offset + 1 for record in records]])
    return found


def dirty(node: Node, path: str, tp: TopicPartition = ORDERS) -> int | None:
    """What the log dir's file says."""
    return read_cleaner_offsets(node.memory[path]).get(tp)


def active_base(node: Node, tp: TopicPartition = ORDERS) -> int:
    return node.replica(tp).log.files.segment_base_offsets[-1]


async def until_cleaned(node: Node, tp: TopicPartition = ORDERS) -> None:
    async with asyncio.timeout(600):
        while dirty(node, node.replica(tp).log_dir, tp) != active_base(node, tp):  # noqa: ASYNC110
            await asyncio.sleep(0.5)
