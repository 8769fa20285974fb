"""What the contracts of leader epochs say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from broker.core.leader_epochs import (
    UNDEFINED_END,
    EpochEnd,
    EpochEntry,
    LeaderEpochs,
    Truncation,
    decide_truncation,
    diverging_end,
)
from broker.core.log_positions import LogPositions
from protocol.records.batch import BatchHeader, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]


def epochs() -> LeaderEpochs:
    return LeaderEpochs([(1, 0), (3, 10), (4, 20)])


def positions(*, next_offset: int = 30) -> LogPositions:
    log = LogPositions()
    log.take_over(log_start_offset=0, log_end_offset=30, high_watermark=25, epochs=epochs())
    log.next_offset = next_offset
    return log


def header(offset: int, epoch: int) -> BatchHeader:
    options = BatchOptions(base_offset=offset, leader_epoch=epoch)
    return read_batch_header(build_batch([NewRecord(b"v")], options))


def cut(answer: EpochEnd, *, end: int = 30) -> Truncation:
    return decide_truncation(epochs(), end, fallback_offset=7, answer=answer)


def leaves_a_longer_log_of_the_same_epoch(
    own: LeaderEpochs, log_end_offset: int, *, fallback_offset: int, answer: EpochEnd
) -> Truncation:
    """As told of an earlier hunt: only the end of this log counts."""
    if answer.end_offset < 0 or not own.entries or answer.epoch > own.latest:
        return Truncation(min(max(answer.end_offset, fallback_offset), log_end_offset), True)
    end = own.end_offset_for(answer.epoch, log_end_offset)
    return Truncation(min(end.end_offset, log_end_offset), end.epoch == answer.epoch)


def knows_only_its_start(log: LogPositions, **found: Any) -> None:
    log.log_start_offset = log.high_watermark = found["log_start_offset"]
    log.log_end_offset = log.next_offset = found["log_end_offset"]
    log.epochs = found["epochs"]


def adds_without_a_look(own: LeaderEpochs, epoch: int, start_offset: int) -> bool:
    own._epochs.append(epoch)
    own._starts.append(start_offset)
    return True


def begins_behind_the_gap(
    log: LogPositions, batches: Sequence[BatchHeader], begin_offset: int
) -> list[EpochEntry]:
    del begin_offset
    log.epochs.assign(batches[0].partition_leader_epoch, batches[0].base_offset)
    return log.epochs.entries


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("LeaderEpochs.assign", adds_without_a_look, lambda: epochs().assign(4, 15)),
    ("LeaderEpochs.assign", answers(True), lambda: epochs().assign(5, 30)),
    (
        "LeaderEpochs.end_offset_for",
        answers(EpochEnd(2, 10)),
        lambda: epochs().end_offset_for(2, 30),
    ),
    ("LeaderEpochs.end_offset_for", answers(UNDEFINED_END), lambda: epochs().end_offset_for(2, 30)),
    ("LeaderEpochs.epoch_at", answers(3), lambda: epochs().epoch_at(9)),
    ("LeaderEpochs.truncate_from_end", answers(False), lambda: epochs().truncate_from_end(20)),
    ("LeaderEpochs.truncate_from_start", answers(True), lambda: epochs().truncate_from_start(12)),
    ("LeaderEpochs.clear", answers(True), lambda: epochs().clear()),
    (
        "leader_epochs.decide_truncation",
        leaves_a_longer_log_of_the_same_epoch,
        lambda: cut(EpochEnd(4, 25)),
    ),
    (
        "leader_epochs.decide_truncation",
        answers(Truncation(10, finished=True)),
        lambda: cut(EpochEnd(2, 12)),
    ),
    ("leader_epochs.diverging_end", answers(None), lambda: fetch(3, 21)),
    ("leader_epochs.diverging_end", answers(None), lambda: fetch(4, 31)),
    ("leader_epochs.diverging_end", answers(UNDEFINED_END), lambda: fetch(4, 25)),
    ("LogPositions.take_over", knows_only_its_start, positions),
    (
        "LogPositions.note_epochs",
        begins_behind_the_gap,
        lambda: positions().note_epochs([header(35, 6)], 30),
    ),
    (
        "LogPositions.note_epochs",
        answers(None),
        lambda: positions().note_epochs([header(30, 6)], 30),
    ),
    (
        "LogPositions.forget_empty_epochs",
        answers(None),
        lambda: positions(next_offset=20).forget_empty_epochs(),
    ),
    ("LogPositions.restarted_at", answers([]), lambda: positions().restarted_at(40)),
]


def fetch(epoch: int, offset: int) -> EpochEnd | None:
    return diverging_end(epochs(), 30, last_fetched_epoch=epoch, fetch_offset=offset)


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
