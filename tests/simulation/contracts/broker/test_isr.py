"""What the contracts of in-sync replicas say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core import isr as rules
from broker.core.isr import FollowerState, IsrAnswer, IsrState
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from tests.simulation.contracts.wrong_rules import answers, told_of

ONE, TWO, THREE = map(BrokerId, (1, 2, 3))
ALL = IsrState((ONE, TWO, THREE), 4)
LATE = FollowerState(log_end_offset=5, last_caught_up_ms=0)
SOON = FollowerState(log_end_offset=8, last_caught_up_ms=90)
Wrong = Callable[..., Any]


def begin_epoch(*, in_isr: bool) -> None:
    FollowerState(log_end_offset=7).on_leader_epoch(in_isr=in_isr, leader_end_offset=9, now_ms=50)


def keeps_its_end(follower: FollowerState, **_: object) -> None:
    follower.last_caught_up_ms = 50


def counts_anybody(follower: FollowerState, **_: object) -> None:
    follower.log_end_offset = follower.log_start_offset = -1
    follower.last_caught_up_ms = 50


def fetch(offset: int) -> None:
    follower = FollowerState(last_fetch_ms=30, last_fetch_leader_end_offset=6)
    follower.on_fetch(offset, 0, leader_end_offset=10, now_ms=50)


def noted_as(caught_up_ms: int, end: int = 10) -> Wrong:
    def on_fetch(follower: FollowerState, offset: int, start: int, **_: object) -> None:
        follower.log_end_offset, follower.log_start_offset = offset, start
        follower.last_fetch_ms, follower.last_fetch_leader_end_offset = 50, end
        follower.last_caught_up_ms = caught_up_ms

    return on_fetch


def late() -> None:
    rules.out_of_sync_replicas(
        ALL, {TWO: LATE, THREE: SOON}, leader_end_offset=9, now_ms=100, lag_time_max_ms=20
    )


def commit() -> None:
    rules.leader_high_watermark(3, ALL, {TWO: LATE, THREE: SOON}, leader_end_offset=9)


WRONG_RULES: Final[list[tuple[str, Wrong | property, Callable[[], object]]]] = [
    ("FollowerState.on_leader_epoch", keeps_its_end, lambda: begin_epoch(in_isr=True)),
    (
        "FollowerState.on_leader_epoch",
        counts_anybody,
        lambda: begin_epoch(in_isr=False),
    ),
    ("FollowerState.on_fetch", noted_as(30), lambda: fetch(10)),
    ("FollowerState.on_fetch", noted_as(50), lambda: fetch(6)),
    ("FollowerState.on_fetch", noted_as(30), lambda: fetch(5)),
    ("FollowerState.on_fetch", noted_as(50, end=9), lambda: fetch(10)),
    ("FollowerState.on_fetch", answers(None), lambda: fetch(10)),
    ("IsrState.shrink", answers(ALL), lambda: ALL.shrink([TWO])),
    (
        "IsrState.shrink",
        answers(replace(ALL, proposed=(ONE,))),
        lambda: replace(ALL, proposed=(ONE, TWO)).shrink([TWO]),
    ),
    ("IsrState.expand", answers(ALL), lambda: ALL.expand(BrokerId(4))),
    (
        "IsrState.expand",
        answers(replace(ALL, proposed=(ONE, TWO, THREE, TWO))),
        lambda: ALL.expand(TWO),
    ),
    (
        "isr.on_alter_partition_error",
        answers((ALL, IsrAnswer.ROLLED_BACK)),
        lambda: rules.on_alter_partition_error(
            replace(ALL, proposed=(ONE,)), ErrorCode.REQUEST_TIMED_OUT
        ),
    ),
    (
        "isr.on_alter_partition_success",
        answers((IsrState((ONE,), 3), IsrAnswer.COMMITTED)),
        lambda: rules.on_alter_partition_success(
            ALL, isr=[ONE], partition_epoch=3, is_newer_leader_epoch=False
        ),
    ),
    ("isr.out_of_sync_replicas", answers([]), late),
    ("isr.out_of_sync_replicas", answers([TWO, THREE]), late),
    ("isr.leader_high_watermark", answers(8), commit),
    ("isr.leader_high_watermark", answers(3), commit),
    (
        "isr.follower_high_watermark",
        answers(9),
        lambda: rules.follower_high_watermark(9, log_start_offset=0, log_end_offset=5),
    ),
    (
        "isr.may_append",
        answers(ErrorCode.NONE),
        lambda: rules.may_append(ALL, acks=-1, min_insync_replicas=4),
    ),
    (
        "isr.is_replicated",
        answers(ErrorCode.NONE),
        lambda: rules.is_replicated(
            ALL, high_watermark=4, required_offset=5, min_insync_replicas=1
        ),
    ),
    (
        "isr.is_replicated",
        answers(ErrorCode.NONE),
        lambda: rules.is_replicated(
            ALL, high_watermark=5, required_offset=5, min_insync_replicas=4
        ),
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong | property, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
