"""What the contracts of loading say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from broker.coordinators import coordinator_log
from broker.coordinators.coordinator_log import CoordinatorLog
from broker.core.groups.group_offsets import Committed, offset_records
from broker.core.groups.group_shard import GroupShard
from protocol.ids import NO_PRODUCER_ID
from protocol.ports import Buffer
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.entries import iterate_stored_batches, iterate_stored_records
from protocol.records.records import ControlRecordType, RecordView
from tests.broker.coordinators.asking import ports_of
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.simulation.contracts.coordinators.hosted_stories import (
    OFFSETS,
    led_by_another,
    pending,
    story,
)
from tests.simulation.contracts.wrong_rules import told_of

LOAD = CoordinatorLog.load
REPLAY_CONTROL: Final = partial(coordinator_log._replay_control)
"""Not the rule itself: that is where the wrong one is planted."""
COMMITS, ABORTS = b"\0\0\0\1", b"\0\0\0\0"


async def waits_for_nothing(log: CoordinatorLog, shard: Any) -> object:
    await LOAD(log, shard)
    return log._ports.appends.await_replicated(log._tp, 0)


def marked(key: bytes) -> Callable[[], object]:
    view = RecordView(0, 0, 0, key, bytes(6))
    return lambda: coordinator_log._replay_control(pending(), 7, view)


def the_other_end(shard: GroupShard, producer_id: int, view: RecordView) -> None:
    key = COMMITS if view.key == ABORTS else ABORTS
    REPLAY_CONTROL(shard, producer_id, RecordView(0, 0, 0, key, view.value))


def batch_of(offset: int, producer_id: int) -> Buffer:
    """Return a batch in which a group commits an offset, in a transaction or not."""
    records = offset_records("g", {ORDERS: Committed(offset, 0, "", 0)})
    options = BatchOptions(producer_id=producer_id, is_transactional=producer_id != NO_PRODUCER_ID)
    return build_batch([NewRecord(value, key, 1) for key, value in records], options)


def marker(control: ControlRecordType) -> Buffer:
    """Return what ends the transaction of producer 7."""
    return build_end_marker(
        control, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp_ms=1
    )


ENDED, ABORTED = marker(ControlRecordType.COMMIT), marker(ControlRecordType.ABORT)


def loaded(*batches: Buffer) -> Callable[[], object]:
    """Load a log of these batches, after which a transaction was open before."""

    async def load(lab: Lab) -> None:
        log = CoordinatorLog(OFFSETS, ports_of(lab[1]))
        await log._replay(pending(), b"".join(batches))

    return story(load)


async def counts_at_once(_log: CoordinatorLog, shard: GroupShard, buffer: Buffer) -> int:
    for position, header in iterate_stored_batches(buffer):
        for record in iterate_stored_records(buffer, position, header):
            if header.is_control:
                shard.replay_end(header.producer_id, is_commit=record.key == COMMITS)
            else:
                shard.replay(record.key or b"", record.value)
    return 0


async def loads_nothing(_log: CoordinatorLog, _shard: GroupShard, _buffer: Buffer) -> int:
    return 0


WRONG_RULES: Final[list[tuple[str, Callable[..., Any], Callable[[], object]]]] = [
    ("CoordinatorLog._replay", counts_at_once, loaded(batch_of(6, 7))),
    ("CoordinatorLog._replay", counts_at_once, loaded(batch_of(6, 8), ENDED, batch_of(6, -1))),
    ("CoordinatorLog._replay", counts_at_once, loaded(batch_of(6, 7), ABORTED)),
    ("CoordinatorLog._replay", loads_nothing, loaded(batch_of(6, -1))),
    ("CoordinatorLog._replay", loads_nothing, loaded(ENDED)),
    ("CoordinatorLog._replay", loads_nothing, loaded(ABORTED)),
    ("CoordinatorLog.load", waits_for_nothing, story(led_by_another)),
    ("coordinator_log._replay_control", the_other_end, marked(COMMITS)),
    ("coordinator_log._replay_control", the_other_end, marked(ABORTS)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., Any], use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_headers_of_what_a_disk_wrote_here_by_mistake_are_not_looked_at() -> None:
    batch = build_batch([NewRecord(b"value", b"key", 1, (("name", b""),))], BatchOptions())
    use = loaded(bytes(batch).replace(b"name", b"nam\x97"), batch_of(6, -1))

    assert told_of(None, "CoordinatorLog._replay", use) == []
