"""What the contracts of retention and of the log start say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core.log_start import low_watermark, new_log_start
from broker.core.retention import Expired, RetentionLimits, expired_segments
from broker.storage.memory_disk import MemoryDisk
from protocol.errors import KafkaError
from protocol.ids import BrokerId
from tests.broker.core.test_log_start import DELETE, follower, leader
from tests.broker.core.test_retention import HOUR_MS, KEEP, parts
from tests.broker.storage.builders import batch
from tests.broker.storage.test_segment import segment_on, write
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
DAY: Final = replace(KEEP, retention_ms=24 * HOUR_MS)


def ignores_the_high_watermark(
    segments: Sequence[Any], log_end_offset: int, limits: RetentionLimits
) -> Expired:
    old = [limits.now_ms - one.newest_ms() > limits.retention_ms for one in segments]
    return Expired(0, 0, (*old, False).index(False))


def retain(*ages: int, limits: RetentionLimits) -> Expired:
    return expired_segments(parts(*ages), len(ages) * 10, limits)


def delete(offset: int, *policy: str) -> None:
    with suppress(KafkaError):
        new_log_start(leader(), offset, cleanup_policy=policy or DELETE)


def lowest() -> int:
    partition = leader()
    partition.followers[BrokerId(2)] = follower(10)
    return low_watermark(partition, None)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    (
        "retention.expired_segments",
        ignores_the_high_watermark,
        lambda: retain(30, 30, 0, limits=replace(DAY, high_watermark=15)),
    ),
    (
        "retention.expired_segments",
        answers(Expired(0, 1, 0)),
        lambda: retain(0, 0, 0, limits=replace(KEEP, retention_bytes=250)),
    ),
    (
        "retention.expired_segments",
        answers(Expired(0, 0, 0)),
        lambda: retain(0, 0, 0, limits=replace(KEEP, retention_bytes=200)),
    ),
    ("retention.expired_segments", answers(Expired(0, 0, 2)), lambda: retain(30, 24, limits=DAY)),
    ("retention.expired_segments", answers(Expired(0, 0, 0)), lambda: retain(30, 24, limits=DAY)),
    (
        "retention.expired_segments",
        answers(Expired(1, 0, 0)),
        lambda: retain(0, 0, limits=replace(KEEP, log_start_offset=9)),
    ),
    (
        "retention.expired_segments",
        answers(Expired(0, 0, 1)),
        lambda: retain(30, 0, limits=replace(DAY, deletes=False)),
    ),
    ("log_start.new_log_start", answers(81), lambda: delete(81)),
    ("log_start.new_log_start", answers(50), lambda: delete(50, "compact")),
    ("log_start.new_log_start", answers(79), lambda: delete(-1)),
    ("log_start.low_watermark", answers(20), lowest),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_a_segment_whose_disk_refuses_its_time_index_is_not_asked_for_its_age() -> None:
    disk = MemoryDisk()
    disk.make_dir("t-0")
    segments = [segment_on(disk, base_offset) for base_offset in (0, 1)]
    for number, segment in enumerate(segments):
        write(segment, batch(number))
        segment.seal()
    segments[1].unload()
    index = "t-0/00000000000000000001.timeindex"
    disk.remove(index)
    disk.make_dir(index)
    limits = replace(DAY, now_ms=48 * HOUR_MS, high_watermark=1)
    retained: list[Expired] = []
    told = told_of(
        None,
        "retention.expired_segments",
        lambda: retained.append(expired_segments(segments, 2, limits)),
    )
    assert (told, retained) == ([], [Expired(0, 0, 1)])
