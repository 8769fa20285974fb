"""What the contracts of logs that change, and of those who wait for them, say of wrong rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from broker.core.delayed import DelayedProduce, ProduceWaiters
from broker.core.log_positions import LogPositions
from broker.engine.hosted_log import HostedLog, Place
from broker.engine.replica import Replica
from jbodlab.worlds.scenario_files import load_plan
from tests.simulation.contracts.broker.test_engine import KNOWS_LESS, LEADER_FAILS, is_well, told_by
from tests.simulation.contracts.wrong_rules import answers, told_of

APPEND: Final = HostedLog[Any].append
ON_CUT: Final = HostedLog[Any]._on_cut  # pyright: ignore[reportPrivateUsage]
CUT: Final = HostedLog[Any].cut
RESTART: Final = HostedLog[Any].restart_at
BEGINS_ANEW: Final = "bug-follower-that-begins-anew-keeps-up-with-retention"
DELETES: Final = "move-keeps-deleted-records-deleted"


def leaves_an_offset_out(log: Any, *args: Any, **kwargs: Any) -> Any:
    written = APPEND(log, *args, **kwargs)
    log.positions.next_offset += 1
    return written


def forgets_the_producers(log: Any, found: Any, _on_producers: Any, cut: Any) -> None:
    ON_CUT(log, found, None, cut)


def keeps_what_is_on_its_way(log: Any, *args: Any, **kwargs: Any) -> Any:
    token, rule = log._generation, RESTART if "now_ms" in kwargs else CUT
    done = rule(log, *args, **kwargs)
    log._generation = token
    return done


def counts_its_own_alone(replica: Replica) -> int:
    return replica.partition.log_start_offset + 1


WRONG_RULES: Final[list[tuple[str, Callable[..., object] | property, str]]] = [
    ("HostedLog.append", leaves_an_offset_out, LEADER_FAILS),
    ("HostedLog._on_cut", forgets_the_producers, KNOWS_LESS),
    ("HostedLog._on_cut", answers(None), KNOWS_LESS),
    ("HostedLog.cut", keeps_what_is_on_its_way, KNOWS_LESS),
    ("HostedLog.restart_at", keeps_what_is_on_its_way, BEGINS_ANEW),
    ("HostedLog.become", answers(None), DELETES),
    ("Replica.on_high_watermark", answers(None), LEADER_FAILS),
    ("Replica.low_watermark", property(counts_its_own_alone), DELETES),
    ("Replica.answer_waiters", answers(None), LEADER_FAILS),
    ("Replica.end", answers(None), LEADER_FAILS),
]


@pytest.mark.parametrize(("rule", "wrong", "scenario"), WRONG_RULES)
def test_a_wrong_rule_is_told(
    rule: str, wrong: Callable[..., object] | property, scenario: str
) -> None:
    assert told_by(load_plan(scenario), rule, wrong).startswith(f"{rule} breaks its promise")


def test_the_right_rules_are_not_told() -> None:
    for scenario in dict.fromkeys(scenario for _, _, scenario in WRONG_RULES):
        assert is_well(scenario)


def waited_for(offset: int) -> Any:
    waiters = ProduceWaiters()
    waiters.add(offset, DelayedProduce(1, lambda: None), 0)
    return SimpleNamespace(written=waiters, partition=SimpleNamespace(log_end_offset=3))


@pytest.mark.parametrize(("offset", "is_late"), [(2, True), (3, True), (4, False)])
def test_who_waits_for_what_is_written_is_told(offset: int, *, is_late: bool) -> None:
    wrong = answers(None)
    told = told_of(wrong, "Replica.on_written", lambda: Replica.on_written(waited_for(offset)))
    assert bool(told) is is_late


@pytest.mark.parametrize(("offset", "is_late"), [(2, True), (3, True), (4, False)])
def test_who_waits_for_a_deletion_that_all_have_is_told(offset: int, *, is_late: bool) -> None:
    waiting = SimpleNamespace(deleted=waited_for(offset).written, low_watermark=3, tp="orders-0")
    told = told_of(answers(None), "Replica.on_log_start", lambda: Replica.on_log_start(waiting))  # pyright: ignore[reportArgumentType]
    assert bool(told) is is_late


class Disk(SimpleNamespace):
    """A log dir whose disk never ends a write."""

    path = "/d1"

    @property
    def queue(self) -> Any:
        return self

    def submit_append(self, *_: object) -> asyncio.Future[int]:
        return asyncio.get_running_loop().create_future()


def log_in(place: Place) -> Any:
    files: Any = None
    log_dir: Any = Disk()
    return HostedLog(files, log_dir, LogPositions(), place=place, checkpoint=lambda _: None)


def appended_to(log: Any) -> list[str]:
    return told_of(None, "HostedLog.append", lambda: log.append((), 1, answers(None), now_ms=0))


@pytest.mark.parametrize("change", ["swapping", "cutting", "promoting", ""])
async def test_an_append_to_a_log_that_changes_is_told(change: str) -> None:
    log = log_in(Place.PROMOTING if change == "promoting" else Place.CURRENT)
    if change in {"swapping", "cutting"}:
        getattr(log, change).begin()
    assert bool(appended_to(log)) is bool(change)


@pytest.mark.parametrize(
    ("name", "value"), [("log_end_offset", 4), ("next_offset", 6), ("log_start_offset", 2), ("", 0)]
)
def test_a_copy_that_has_not_all_or_what_was_deleted_is_told(name: str, value: int) -> None:
    log, promoted = log_in(Place.CURRENT), log_in(Place.PROMOTING)
    for each in (log, promoted):
        each.positions.log_end_offset = each.positions.next_offset = 5
    log.positions.log_start_offset = promoted.positions.log_start_offset = 1
    if name:
        setattr(log.positions, name, value)
    told = told_of(None, "HostedLog.become", lambda: log.become(promoted))
    assert bool(told) is bool(name)


@pytest.mark.parametrize(("entries", "is_told"), [(None, True), ([(0, 0)], False)])
def test_leader_epochs_are_written_when_there_is_news(entries: object, *, is_told: bool) -> None:
    queue = SimpleNamespace(queue_depth=0)
    log = SimpleNamespace(queue=queue, log_dir="/d1")

    def writes(_: object, __: object) -> None:
        queue.queue_depth += 1

    def use() -> None:
        cast("Any", HostedLog).write_epochs(log, entries)

    assert bool(told_of(writes, "HostedLog.write_epochs", use)) is is_told
