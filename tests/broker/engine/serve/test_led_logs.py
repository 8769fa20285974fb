"""A leader reads its own log to the end, whatever is replicated."""

from __future__ import annotations

import asyncio

import pytest

from protocol.errors import ErrorCode, KafkaError
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS


async def test_a_log_is_read_slice_by_slice_to_what_is_on_its_way_to_the_disk(lab: Lab) -> None:
    await lab.create()
    for number in range(6):
        await lab[1].produce([f"{number}" * 100], acks=1)
    logs = lab[1].engine.led_logs
    late = lab.begin(lab[1].produce(["late"], acks=1))
    span = logs.span(ORDERS)
    at, slices = span.start, 0
    while at < (end := logs.span(ORDERS).end):
        found = await logs.read(ORDERS, at, up_to=end, max_bytes=300)
        at, slices = found.next_offset, slices + 1
    await late
    assert (span.start, at) == (0, 7)
    assert slices > 2


async def test_who_follows_or_has_nothing_reads_nothing(lab: Lab) -> None:
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        lab[1].engine.led_logs.span(ORDERS)
    await lab.create()
    with pytest.raises(KafkaError, match="NOT_LEADER_OR_FOLLOWER"):
        await lab[2].engine.led_logs.read(ORDERS, 0, up_to=1, max_bytes=1)


async def test_a_log_whose_disk_fails_meanwhile_is_not_read(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce(["a"])
    path = await lab[1].dir_of() or ""
    lab[1].workers[path].hangs = True

    async def outcome() -> ErrorCode:
        try:
            await lab[1].engine.led_logs.read(ORDERS, 0, up_to=1, max_bytes=1)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    reading = lab.begin(outcome())
    await asyncio.sleep(0)
    lab[1].log_dirs[path].fail("append", OSError(5, "broken"))
    assert await reading is ErrorCode.KAFKA_STORAGE_ERROR
