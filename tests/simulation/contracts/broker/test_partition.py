"""What the contracts of partitions say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.isr import IsrAnswer, IsrState
from broker.core.log_positions import LogPositions, RaisedStart
from broker.core.partition import Partition
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from tests.broker.core.test_partition import append, fetch, partition, state
from tests.simulation.contracts.wrong_rules import answers, told_of

LAG_MS = 10_000
Wrong = Callable[..., Any]


def written(end: int = 10, *, isr: tuple[int, ...] = (1, 2, 3), needed: int = 1) -> Partition:
    led = partition(isr=isr)
    led.min_insync_replicas = needed
    led.assign_offsets(end)
    led.log_end_offset = end
    return led


def ends_behind_what_was_assigned(log: LogPositions, end_offset: int) -> None:
    log.log_end_offset = end_offset + 1


def raises_to(offset: int) -> Wrong:
    def rule(led: Partition, *_: object, **__: object) -> bool:
        led.high_watermark = offset
        return True

    return rule


def proposes(*members: int) -> Wrong:
    def rule(led: Partition, *_: object, **__: object) -> bool:
        led.isr = IsrState(led.isr.isr, 0, tuple(map(BrokerId, members)))
        return True

    return rule


def proposes_other_lives(led: Partition, replica: BrokerId) -> bool:
    led.proposed_lives = {replica: 3}
    led.isr = IsrState(led.isr.isr, 0, (*led.isr.isr, replica))
    return True


def notes_a_fetch_and_raises_to(offset: int) -> Wrong:
    def rule(led: Partition, replica: BrokerId, *, fetch_offset: int, **_: object) -> bool:
        led.followers[replica].log_end_offset = fetch_offset
        led.high_watermark = offset
        return True

    return rule


def leads_without_its_epoch(led: Partition, told: Any, **_: object) -> None:
    led.leader_epoch = told.leader_epoch
    led.isr = IsrState(tuple(told.isr), told.partition_epoch)


def cut_only_its_end(log: LogPositions, offset: int) -> None:
    log.next_offset = log.log_end_offset = offset


def start_that_nobody_writes(log: LogPositions, offset: int) -> RaisedStart | None:
    log.log_start_offset = log.high_watermark = offset
    return None


def follow() -> None:
    written().become_follower(state(leader=2, epoch=1))


def late() -> bool:
    led = written()
    led.followers[BrokerId(2)].log_end_offset = 10
    return led.propose_shrink(now_ms=20_000, lag_time_max_ms=LAG_MS)


def join(end: int) -> bool:
    led = partition(isr=[1, 2])
    append(led, 5)
    fetch(led, 2, 5)
    led.followers[BrokerId(3)].log_end_offset = end
    led.high_watermark = 4
    return led.propose_join(BrokerId(3))


def accept(partition_epoch: int) -> None:
    written().isr_accepted(
        isr=[1, 2],
        leader_epoch=0,
        partition_epoch=partition_epoch,
        now_ms=0,
        lag_time_max_ms=LAG_MS,
    )


WRONG_RULES: Final[list[tuple[str, Wrong | property, Callable[[], object]]]] = [
    ("LogPositions.appended", ends_behind_what_was_assigned, lambda: append(partition(), 4)),
    ("LogPositions.truncated", cut_only_its_end, lambda: partition_cut_at(4)),
    ("LogPositions.truncated", answers(None), lambda: partition_cut_at(4)),
    ("LogPositions.raise_log_start", answers(None), lambda: written().raise_log_start(3)),
    (
        "LogPositions.raise_log_start",
        start_that_nobody_writes,
        lambda: written().raise_log_start(3),
    ),
    (
        "Partition.become_leader",
        leads_without_its_epoch,
        lambda: written().become_leader(state(epoch=3), now_ms=5),
    ),
    ("Partition.become_leader", answers(None), lambda: partition(epoch=3)),
    ("Partition.become_follower", answers(None), follow),
    (
        "Partition.check_leader",
        answers(ErrorCode.NONE),
        lambda: partition(epoch=3).check_leader(2),
    ),
    (
        "Partition.check_leader",
        answers(ErrorCode.FENCED_LEADER_EPOCH),
        lambda: partition(epoch=3).check_leader(-1),
    ),
    (
        "Partition.required_isr_count",
        property(answers(4)),
        lambda: partition().is_under_min_isr,
    ),
    (
        "Partition.check_append",
        answers(ErrorCode.NONE),
        lambda: written(isr=(1,), needed=2).check_append(-1),
    ),
    ("Partition.check_append", answers(ErrorCode.NONE), lambda: follower().check_append(1)),
    ("Partition.replicated", answers(ErrorCode.NONE), lambda: written().replicated(3)),
    (
        "Partition.follow_high_watermark",
        raises_to(9),
        lambda: follower().follow_high_watermark(9),
    ),
    ("Partition.follower_fetched", notes_a_fetch_and_raises_to(7), lambda: fetch_of_two(7)),
    ("Partition.follower_fetched", answers(False), lambda: fetch_of_two(7)),
    ("Partition.leader_appended", answers(False), lambda: append(partition(), 4)),
    (
        "Partition.brokers_changed",
        raises_to(10),
        lambda: written().brokers_changed(now_ms=0, lag_time_max_ms=LAG_MS),
    ),
    ("Partition.propose_join", proposes(1, 2, 3), lambda: join(3)),
    ("Partition.propose_join", answers(False), lambda: join(5)),
    ("Partition.propose_join", proposes_other_lives, lambda: join(5)),
    ("Partition.propose_shrink", proposes(1, 3), late),
    ("Partition.propose_shrink", answers(False), late),
    ("Partition.isr_accepted", answers((IsrAnswer.COMMITTED, False)), lambda: accept(1)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong | property, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def partition_cut_at(offset: int) -> None:
    led = written()
    led.high_watermark = 7
    led.truncated(offset)


def follower() -> Partition:
    return partition(leader=2)


def fetch_of_two(offset: int) -> bool:
    """The third replica, in the Isr too, has less."""
    return fetch(written(), 2, offset)
