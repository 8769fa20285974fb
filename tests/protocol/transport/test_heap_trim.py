"""When freed memory is given back to the system."""

from __future__ import annotations

import asyncio

from protocol.transport.heap_trim import GROWN_BYTES_MIN, PERIOD_S, HeapTrim, trim_when_quiet

MIB = 1 << 20
NEEDED_BYTES = 60 * MIB


class FakeProcess:
    def __init__(self) -> None:
        self.resident_bytes = NEEDED_BYTES
        self.processor_s = 0.0
        self.heap = HeapTrim(lambda: None, lambda: self.resident_bytes, lambda: self.processor_s)


def test_a_quiet_process_that_has_grown_gives_back_what_it_freed() -> None:
    process = FakeProcess()
    assert not process.heap.is_due()
    process.resident_bytes += GROWN_BYTES_MIN
    assert process.heap.is_due()
    assert process.heap.is_due(), "what is freed next shows nowhere"


def test_a_busy_process_is_left_alone_until_it_is_quiet() -> None:
    process = FakeProcess()
    process.resident_bytes += 10 * GROWN_BYTES_MIN
    process.processor_s += 0.9 * PERIOD_S
    assert not process.heap.is_due()
    process.processor_s += 0.1 * PERIOD_S
    assert process.heap.is_due()


def test_a_process_has_grown_from_the_least_that_it_had() -> None:
    process = FakeProcess()
    process.resident_bytes -= MIB
    assert not process.heap.is_due()
    process.resident_bytes += GROWN_BYTES_MIN
    assert process.heap.is_due()


async def test_this_process_can_look_at_itself() -> None:
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda _loop, context: failures.append(context))
    trim_when_quiet()
    await asyncio.sleep(0)
    assert failures == []
