"""Which log is compacted, how far, and in what groups."""

from __future__ import annotations

import dataclasses

import pytest

from broker.core.compaction import (
    CompactionRules,
    Dirtiness,
    LogFacts,
    SegmentFacts,
    group_segments,
    measure,
    segments_between,
)
from protocol.configs.parsing import broker_config, topic_config
from tests.broker.fake_configs import compaction_rules

RULES = compaction_rules()
NOW_MS = 1_000_000


def segments(*bases: int, size: int = 100, **fields: int) -> list[SegmentFacts]:
    return [SegmentFacts(base, size, **fields) for base in bases]


def measured(
    checkpoint: int | None,
    *,
    rules: CompactionRules = RULES,
    stable: int = 50,
    start: int = 0,
    logs: list[SegmentFacts] | None = None,
) -> Dirtiness:
    facts = LogFacts(logs or segments(0, 10, 20, 30, 40), start, 50, stable, checkpoint)
    return measure(facts, rules, NOW_MS)


def test_without_a_checkpoint_everything_sealed_is_dirty() -> None:
    found = measured(None)
    assert found.first_dirty == (0, False)
    assert (found.clean_bytes, found.cleanable_bytes) == (0, 400)
    assert found.uncleanable_offset == 40
    assert found.ratio == 1


def test_what_lies_before_the_checkpoint_is_clean() -> None:
    found = measured(30)
    assert (found.clean_bytes, found.cleanable_bytes) == (300, 100)
    assert found.ratio == 0.25
    assert not found.is_due(RULES)
    assert found.is_due(dataclasses.replace(RULES, min_cleanable_dirty_ratio=0.2))


def test_a_log_that_was_compacted_to_its_active_segment_has_nothing_to_do() -> None:
    found = measured(40)
    assert (found.clean_bytes, found.cleanable_bytes, found.overdue_ms) == (400, 0, 0)
    assert not found.is_due(dataclasses.replace(RULES, min_cleanable_dirty_ratio=0))


def test_a_log_with_one_segment_is_empty_for_the_cleaner() -> None:
    found = measured(None, logs=segments(0))
    assert (found.ratio, found.cleanable_bytes) == (0, 0)


@pytest.mark.parametrize("checkpoint", [5, 51])
def test_a_checkpoint_outside_the_log_is_written_anew(checkpoint: int) -> None:
    found = measured(checkpoint, start=10)
    assert found.first_dirty == (10, True)


def test_nothing_undecided_is_compacted() -> None:
    found = measured(None, stable=25)
    assert found.uncleanable_offset == 20
    assert found.cleanable_bytes == 200
    assert measured(30, stable=25).cleanable_bytes == 0


def test_young_segments_wait() -> None:
    logs = [
        *segments(0, 10, largest_timestamp=NOW_MS - 5000),
        *segments(20, largest_timestamp=NOW_MS - 999),
        *segments(30, largest_timestamp=NOW_MS - 5000),
        *segments(40),
    ]
    rules = dataclasses.replace(RULES, min_compaction_lag_ms=1000)
    found = measured(None, rules=rules, logs=logs)
    assert found.uncleanable_offset == 20
    assert found.cleanable_bytes == 200


def test_old_records_make_a_pass_due_whatever_the_ratio() -> None:
    logs = [
        *segments(0, 10, first_timestamp=1),
        *segments(20, first_timestamp=NOW_MS - 3000),
        *segments(30, first_timestamp=-1),
        *segments(40),
    ]
    rules = dataclasses.replace(RULES, max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1)
    found = measured(20, rules=rules, logs=logs)
    assert found.overdue_ms == 2000
    assert found.is_due(rules)
    relaxed = dataclasses.replace(rules, max_compaction_lag_ms=3000)
    assert not measured(20, rules=relaxed, logs=logs).is_due(relaxed)


def test_an_overdue_log_waits_while_nothing_may_be_compacted() -> None:
    logs = segments(0, 10, 20, 30, 40, first_timestamp=1)
    rules = dataclasses.replace(RULES, max_compaction_lag_ms=1000)
    assert not measured(20, rules=rules, logs=logs, stable=15).is_due(rules)


def test_a_checkpoint_inside_a_segment_counts_that_segment_on_both_sides() -> None:
    found = measured(25)
    assert (found.clean_bytes, found.cleanable_bytes) == (300, 200)


def test_segments_between_offsets_begin_with_the_one_that_holds_the_first() -> None:
    logs = segments(10, 20, 30)
    bases = [one.base_offset for one in segments_between(logs, 25, 31)]
    assert bases == [20, 30]
    assert segments_between(logs, 20, 20) == ()
    assert [one.base_offset for one in segments_between(logs, 0, 20)] == [10]


def test_neighbours_are_grouped_up_to_the_size_of_a_segment() -> None:
    rules = dataclasses.replace(RULES, segment_bytes=250)
    groups = group_segments(segments(0, 10, 20, 30, 40), rules, 50)
    assert [[one.base_offset for one in group] for group in groups] == [[0, 10], [20, 30], [40]]


def test_a_segment_that_is_too_large_stands_alone() -> None:
    rules = dataclasses.replace(RULES, segment_bytes=50)
    assert [len(group) for group in group_segments(segments(0, 10), rules, 20)] == [1, 1]
    assert group_segments([], rules, 0) == []


@pytest.mark.parametrize("field", ["offset_index_bytes", "time_index_bytes"])
def test_groups_fit_into_one_index(field: str) -> None:
    rules = dataclasses.replace(RULES, segment_index_bytes=20)
    logs = segments(0, 10, 20, **{field: 10})
    assert [len(group) for group in group_segments(logs, rules, 30)] == [2, 1]


def test_groups_stay_within_relative_offsets() -> None:
    logs = segments(0, 10, 2**31 + 1)
    assert [len(group) for group in group_segments(logs, RULES, 2**31 + 5)] == [1, 2]
    logs = [*segments(0), *segments(10, size=0), *segments(2**31)]
    assert [len(group) for group in group_segments(logs, RULES, 2**31 + 5)] == [2, 1]


def test_the_rules_come_from_the_topic() -> None:
    config = topic_config(
        {"min.cleanable.dirty.ratio": "0.1", "segment.bytes": "1000"}, broker_config({})
    )
    rules = CompactionRules.of(config)
    assert (rules.min_cleanable_dirty_ratio, rules.segment_bytes) == (0.1, 1000)
    assert rules.delete_retention_ms == 86_400_000


def test_only_a_lag_protects_segments_and_up_to_its_end() -> None:
    logs = [
        *segments(0, largest_timestamp=NOW_MS - 1000),
        *segments(10, largest_timestamp=NOW_MS - 999),
        *segments(20),
    ]
    for lag_ms, uncleanable in ((0, 20), (1000, 10)):
        rules = dataclasses.replace(RULES, min_compaction_lag_ms=lag_ms)
        assert measured(None, rules=rules, logs=logs).uncleanable_offset == uncleanable
    rules = dataclasses.replace(RULES, min_compaction_lag_ms=1)
    assert measured(None, rules=rules, logs=segments(0, 20)).uncleanable_offset == 20


def test_times_from_1_on_make_a_pass_due_and_not_at_the_lag_itself() -> None:
    for first_ms, overdue_ms in ((0, 0), (1, NOW_MS - 1001), (NOW_MS - 1000, 0), (NOW_MS, 0)):
        logs = [*segments(0, first_timestamp=first_ms), *segments(10)]
        rules = dataclasses.replace(RULES, max_compaction_lag_ms=1000)
        assert measured(None, rules=rules, logs=logs).overdue_ms == overdue_ms


def test_a_pass_is_due_above_the_ratio_and_a_millisecond_behind_the_lag() -> None:
    half = measured(20)
    assert half.ratio == 0.5
    assert not half.is_due(dataclasses.replace(RULES, min_cleanable_dirty_ratio=0.5))
    never = dataclasses.replace(RULES, min_cleanable_dirty_ratio=1)
    assert half._replace(overdue_ms=1).is_due(never)
    assert not half._replace(overdue_ms=0).is_due(never)
    assert half._replace(overdue_ms=1, cleanable_bytes=1).is_due(never)
    assert not half._replace(overdue_ms=1, cleanable_bytes=0).is_due(never)


def test_a_group_is_as_large_as_a_segment_and_reaches_as_far_as_its_offsets() -> None:
    for segment_bytes, counts in ((200, [2, 1]), (199, [1, 1, 1]), (300, [3])):
        rules = dataclasses.replace(RULES, segment_bytes=segment_bytes)
        assert [len(one) for one in group_segments(segments(0, 10, 20), rules, 30)] == counts
    for bound, count in ((2**31, 1), (2**31 + 1, 2)):
        assert len(group_segments(segments(0, 10), RULES, bound)) == count
