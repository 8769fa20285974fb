"""What contracts say of wrong rules by which a controller that begins hears the brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from controller.core import catch_up, hearing, unknown_replicas
from controller.core.events import RequestArrived, Tick
from controller.core.run_state import Hearing, RunState
from controller.core.state import UnknownReplica
from controller.core.step import Step
from protocol.ids import ZERO_UUID
from protocol.messages.journal import JournalReport
from tests.controller.core.cluster import SESSION_MS, Cluster, settings, tp
from tests.controller.core.heard import heartbeat, led, reported
from tests.controller.core.test_catch_up import learned
from tests.controller.core.test_hearing import report, started
from tests.controller.core.test_missing_logs import four, has
from tests.simulation.contracts.controller.controlled import Act, Case, Wrong, tells
from tests.simulation.contracts.wrong_rules import answers, told_of

TAKE, EXPIRE, LEARN = "hearing.take", "hearing.expire", "catch_up.learn"
BEGIN: Final = "catch_up.begin_epoch_above"
TOPICS: Final = [reported("orders", led(1, (6, 9), (1,)))]


def beats(cluster: Cluster, broker_id: int, said: JournalReport) -> None:
    cluster.ask(heartbeat(cluster.state, broker_id, said), 2)


def the_last_one_is_heard() -> Act:
    cluster = started()
    beats(cluster, 1, report(5))
    return lambda: beats(cluster, 2, report(5))


def the_first_one_is_heard() -> Act:
    cluster = started()
    return lambda: beats(cluster, 1, report(5))


def one_knows_more() -> Act:
    cluster = started()
    beats(cluster, 1, report(5))
    return lambda: beats(cluster, 2, report(9))


def all_replicas_are_told() -> Act:
    cluster = started()
    beats(cluster, 2, report(9, topics=[]))
    return lambda: beats(cluster, 1, report(5, topics=TOPICS))


def nobody_is_heard_in_time() -> Act:
    cluster = started()
    cluster.now_ms += SESSION_MS
    return lambda: cluster.feed(Tick(cluster.now_ms))


def somebody_is_late() -> Act:
    cluster = started()
    cluster.now_ms += SESSION_MS // 2
    return lambda: cluster.feed(Tick(cluster.now_ms))


def acts_at_once(
    right: Wrong, step: Step, heard: Hearing, event: RequestArrived
) -> list[RequestArrived]:
    heard.awaited.clear()
    return right(step, heard, event)


def hears_no_replicas(
    right: Wrong, step: Step, heard: Hearing, event: RequestArrived
) -> list[RequestArrived]:
    released = right(step, heard, event)
    if step.run.hearing is not None:
        step.run.hearing = None
    return released


def asks_for_nothing(
    right: Wrong, step: Step, heard: Hearing, event: RequestArrived
) -> list[RequestArrived]:
    released = right(step, heard, event)
    for each in step.effects:
        response: Any = getattr(each, "response", None)
        if response is not None:
            response.unknown_tags = ()
    return released


def waits_no_session(right: Wrong, step: Step, heard: Hearing, event: Tick) -> list[RequestArrived]:
    heard.deadline_ms = step.now_ms
    return right(step, heard, event)


def goes_on_as_they_know(
    right: Wrong, step: Step, reports: Mapping[int, JournalReport], lost: int
) -> object:
    changed = right(step, reports, lost)
    orders = step.state.topics["orders"].partitions
    orders[0] = replace(orders[0], leader_epoch=6)
    return changed


def has_it_deleted(
    right: Wrong, step: Step, reports: Mapping[int, JournalReport], lost: int
) -> object:
    changed = right(step, reports, lost)
    step.state.removed[2] = {tp("orders-0"): None}
    return changed


def has_a_former_replica_delete_it(
    right: Wrong, step: Step, reports: Mapping[int, JournalReport], lost: int
) -> object:
    changed = right(step, reports, lost)
    step.state.removed[3] = {tp("orders-0"): None}
    return changed


def followers_are_told() -> Act:
    """Neither leads by what it was told; the first has more of an older leader epoch."""
    cluster = started()
    short = replace(led(3, (6, 9), (3,)), log_epoch=5, log_end_offset=20)
    long = replace(led(3, (6, 9), (3,)), log_epoch=6, log_end_offset=11)
    beats(cluster, 2, report(9, topics=[reported("orders", long)]))
    said = report(9, topics=[reported("orders", short)])
    return lambda: beats(cluster, 1, said)


def counts_one(right: Wrong, step: Step, newer: Mapping[int, JournalReport]) -> int:
    right(step, newer)
    return 1


def gives_them_again(right: Wrong, step: Step, newer: Mapping[int, JournalReport]) -> int:
    before = step.state.next_broker_epoch
    lost = right(step, newer)
    step.state.next_broker_epoch = before
    return lost


def takes_all_into_the_isr(
    right: Wrong, step: Step, reports: Mapping[int, JournalReport], lost: int
) -> object:
    changed = right(step, reports, lost)
    orders = step.state.topics["orders"].partitions
    orders[0] = replace(orders[0], isr=orders[0].replicas)
    return changed


def nobody_has_it_any_more() -> Act:
    cluster = started()
    beats(cluster, 2, report(9, topics=[]))
    return lambda: beats(cluster, 1, report(5, topics=[]))


def goes_on_where_it_was(
    right: Wrong, step: Step, reports: Mapping[int, JournalReport], lost: int
) -> object:
    before = list(step.state.topics["orders"].partitions)
    changed = right(step, reports, lost)
    step.state.topics["orders"].partitions[:] = before
    return changed


def a_lost_one_is_added_anew() -> Act:
    state = started().state
    state.unknown_replicas[2] = {tp("orders-0"): UnknownReplica(ZERO_UUID, 6)}
    step = Step(state, RunState(), settings(), Random(1), 0)
    return lambda: unknown_replicas.first_leader_epoch(step, tp("orders-0"))


CASES: Final[list[Case]] = [
    (TAKE, answers([]), the_last_one_is_heard),
    (TAKE, partial(acts_at_once, hearing.take), the_first_one_is_heard),
    (TAKE, partial(hears_no_replicas, hearing.take), one_knows_more),
    (TAKE, partial(asks_for_nothing, hearing.take), one_knows_more),
    (EXPIRE, answers([]), nobody_is_heard_in_time),
    (EXPIRE, partial(waits_no_session, hearing.expire), somebody_is_late),
    (BEGIN, partial(counts_one, catch_up.begin_epoch_above), all_replicas_are_told),
    (BEGIN, partial(gives_them_again, catch_up.begin_epoch_above), all_replicas_are_told),
    (LEARN, answers([]), all_replicas_are_told),
    (LEARN, partial(goes_on_as_they_know, catch_up.learn), all_replicas_are_told),
    (LEARN, partial(has_it_deleted, catch_up.learn), all_replicas_are_told),
    (LEARN, partial(has_a_former_replica_delete_it, catch_up.learn), all_replicas_are_told),
    (LEARN, partial(takes_all_into_the_isr, catch_up.learn), followers_are_told),
    (LEARN, partial(goes_on_where_it_was, catch_up.learn), nobody_has_it_any_more),
    ("unknown_replicas.first_leader_epoch", answers(0), a_lost_one_is_added_anew),
    ("unknown_replicas.first_leader_epoch", answers(7), a_lost_one_is_added_anew),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2].__name__}")
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)


def test_who_tells_last_that_it_has_none_may_be_elected_beside_who_told_so_before() -> None:
    """Seed 72: all have told, and nobody has a log."""
    cluster = four()
    partitions = cluster.state.topics["orders"].partitions
    partitions[0] = replace(partitions[0], leader=2, isr=(2,))

    def one_after_the_other() -> None:
        learned(cluster, {2: has(), 3: has(), 4: has()})
        learned(cluster, {1: has()})

    assert told_of(None, LEARN, one_after_the_other) == []
    assert cluster.partition("orders-0").isr == (1, 2)
