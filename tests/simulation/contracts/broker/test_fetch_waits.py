"""What the contracts of waiting fetches say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from broker.engine.serve.disk_reads import DiskRead, DiskReads
from broker.engine.serve.fetch import Fetches
from broker.engine.types import FetchParams, FetchPart, FetchResult
from tests.broker.engine.fetched import part
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.simulation.contracts.broker.lab_story import OTHER, Story, told
from tests.simulation.contracts.wrong_rules import answers

LOOK_AT_ALL: Final = Fetches._look_at_all
BEGIN: Final = DiskReads.begin
CAME_LATE: Final = DiskReads._came_late


async def waits(lab: Lab) -> None:
    await lab[1].fetch(1, max_wait_ms=500)


async def reads_at_once(lab: Lab) -> None:
    await lab[1].fetch(0, max_wait_ms=500)


async def reads_two_small_parts(lab: Lab) -> None:
    parts = [part(tp, max_bytes=1) for tp in (ORDERS, OTHER)]
    await lab[1].engine.fetches.fetch(FetchParams(max_bytes=1 << 21), parts)


async def reads_a_slow_disk(lab: Lab) -> None:
    """Nobody waits for it; what it gave late is read, and it is asked once more."""
    lab[1].state.tails.drop_older_than(1 << 62)
    lab[1].workers[await lab[1].dir_of() or ""].delay_s = 2
    await lab[1].fetch(max_wait_ms=500)
    await lab[1].fetch(max_wait_ms=500)
    await lab[1].fetch(max_wait_ms=5_000)
    lab[1].replica().log.end()
    await lab[1].fetch(max_wait_ms=500)


async def reads_what_came_late_of_a_log_that_was_cut(lab: Lab) -> None:
    lab[1].state.tails.drop_older_than(1 << 62)
    lab[1].workers[await lab[1].dir_of() or ""].delay_s = 2
    await lab[1].fetch(max_wait_ms=500)
    await asyncio.sleep(3)
    lab[1].replica().log.end()
    await lab[1].fetch(max_wait_ms=500)


def waits_nowhere(fetches: Any, reading: Any) -> bool:
    LOOK_AT_ALL(fetches, reading)
    fetches._unregister(reading)
    return True


async def ends_early(_: Any, reading: Any, __: float, *, may_wait: bool) -> list[FetchResult]:
    assert may_wait
    return reading.results


async def gives_all_there_is(
    fetches: Any, _: FetchParams, parts: Sequence[FetchPart]
) -> list[FetchResult]:
    return [FetchResult(records_size_bytes=each.max_bytes + 1) for each in parts]


def reads_on(reads: Any, index: int, replica: Any, span: Any) -> DiskRead | None:
    reads._stalled.clear()
    return BEGIN(reads, index, replica, span)


def gives_what_came_late(reads: Any, index: int, replica: Any, span: Any) -> DiskRead | None:
    late = reads._late.get((replica, span.offset))
    return late or BEGIN(reads, index, replica, span)


def stays_stalled(reads: Any, read: DiskRead, future: asyncio.Future[Any]) -> None:
    CAME_LATE(reads, read, future)
    reads._stalled[read.path] += 1


async def waits_and_forgets(_: Any, reads: Sequence[DiskRead]) -> None:
    del reads
    await asyncio.sleep(0.5)


WRONG_RULES: Final[list[tuple[str, Callable[..., object], Story]]] = [
    ("Fetches._look_at_all", answers(True), reads_at_once),
    ("Fetches._look_at_all", answers(False), waits),
    ("Fetches._look_at_all", waits_nowhere, waits),
    ("Fetches._wait_for_enough", ends_early, waits),
    ("Fetches.fetch", gives_all_there_is, reads_two_small_parts),
    ("FetchRoom.let_go", answers(None), reads_at_once),
    ("DiskReads.begin", answers(None), reads_a_slow_disk),
    ("DiskReads.begin", reads_on, reads_a_slow_disk),
    ("DiskReads.begin", gives_what_came_late, reads_what_came_late_of_a_log_that_was_cut),
    ("DiskReads.wait", waits_and_forgets, reads_a_slow_disk),
    ("DiskReads._came_late", answers(None), reads_a_slow_disk),
    ("DiskReads._came_late", stays_stalled, reads_a_slow_disk),
]


@pytest.mark.parametrize(("rule", "wrong", "story"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], story: Story
) -> None:
    assert not told(None, rule, story)
    assert told(wrong, rule, story)[0].startswith(f"{rule} breaks its promise")
