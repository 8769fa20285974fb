"""What the contracts of the table of partitions say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.cleaner_offsets import CleanerOffsets
from broker.core.hosted import (
    FailedReplicas,
    HostedPartitions,
    HostedState,
    Loss,
    OfflineReplica,
    ReplicaView,
    ReturnedReplicas,
    ReturnRule,
)
from broker.engine.control.loaded_log_dirs import LoadedLogDirs
from broker.engine.log.cleaning import Cleaning
from broker.storage.cleanable import write_cleaner_offsets
from broker.storage.memory_disk import MemoryDisk
from tests.broker.core.test_hosted import ID, T0, T1, Hosted, Idle, table
from tests.simulation.contracts.wrong_rules import answers, told_of

OTHER_ID = bytes(range(1, 17))
NOBODY: Final[list[Hosted]] = []
FAIL: Final[Callable[..., Any]] = vars(HostedPartitions)["on_log_dir_failed"]
PUT_OFFLINE: Final[Callable[..., Any]] = vars(HostedPartitions)["put_offline"]


def failed() -> HostedPartitions[Hosted, Idle]:
    hosted = table(t0=Hosted("/d1"), t1=Hosted("/d2", future_log_dir="/d1"))
    hosted.on_log_dir_failed("/d1")
    return hosted


def wrong_from_the_second_on(right: Callable[..., Any], then: object) -> Callable[..., object]:
    """Return a rule that is right when it is asked first, and only says ``then`` from then on."""
    asked: list[object] = []

    def rule(*args: Any) -> object:
        asked.append(args)
        return right(*args) if len(asked) == 1 else then

    return rule


def take_offline() -> None:
    table(t0=Hosted()).put_offline(T0, ID, "/d1")


def returned(*, rule: ReturnRule | None = None, **found: Idle) -> None:
    failed().on_log_dir_returned(
        "/d1",
        {T0 if name == "t0" else T1: log for name, log in found.items()},
        rule or ReturnRule(),
    )


def failed_again() -> HostedPartitions[Hosted, Idle]:
    """A replica that was lost with its log dir, which came back empty, and failed once more."""
    hosted = failed()
    hosted.on_log_dir_returned("/d1", {}, ReturnRule())
    hosted.on_log_dir_failed("/d1")
    return hosted


def waiting() -> HostedPartitions[Hosted, Idle]:
    """The log of the first partition is back, and was not released yet."""
    hosted = failed()
    hosted.on_log_dir_returned("/d1", {T0: Idle()}, ReturnRule(only=T1))
    return hosted


def forgets_the_epoch(hosted: Any, tp: Any, topic_id: bytes, log_dir: str) -> Any:
    ended = PUT_OFFLINE(hosted, tp, topic_id, log_dir)
    hosted._failed_epochs.clear()
    return ended


WRONG_RULES: Final[list[tuple[str, Callable[..., object], Callable[[], object]]]] = [
    ("view", answers(ReplicaView(HostedState.ABSENT)), lambda: failed().view(T0)),
    (
        "view",
        answers(ReplicaView(HostedState.ONLINE, 2, ID, "/d2")),
        lambda: failed().view(T1),
    ),
    (
        "view",
        answers(ReplicaView(HostedState.OFFLINE, topic_id=ID, loss=Loss.REBUILD)),
        lambda: failed().view(T0),
    ),
    ("put_online", answers(None), lambda: table(t0=Hosted())),
    ("put_offline", answers(None), take_offline),
    ("put_offline", forgets_the_epoch, take_offline),
    ("remove", answers(None), lambda: table(t0=Hosted()).remove(T0)),
    (
        "on_log_dir_failed",
        answers((FailedReplicas((T0,), (), ()), [Hosted("/d1")])),
        failed,
    ),
    ("on_log_dir_failed", answers((FailedReplicas((), (), ()), NOBODY)), failed),
    (
        "on_log_dir_failed",
        wrong_from_the_second_on(FAIL, (FailedReplicas((), (), ()), NOBODY)),
        failed_again,
    ),
    ("on_log_dir_returned", answers(ReturnedReplicas((), (), ())), returned),
    (
        "on_log_dir_returned",
        answers(ReturnedReplicas((), (), (T0,))),
        lambda: returned(t0=Idle()),
    ),
    (
        "on_log_dir_returned",
        answers(ReturnedReplicas((T0,), (), ())),
        lambda: returned(t0=Idle(topic_id=OTHER_ID)),
    ),
    (
        "on_log_dir_returned",
        answers(ReturnedReplicas((), (), ())),
        lambda: returned(rule=ReturnRule(only=T1)),
    ),
    ("release", answers((T0,)), lambda: failed().release([T0])),
    ("release", answers((T0,)), lambda: waiting().release([T0])),
    ("accept_loss", answers((T0,)), lambda: lost().accept_loss([T0])),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], use: Callable[[], object]
) -> None:
    assert told_of(None, f"HostedPartitions.{rule}", use) == []
    assert told_of(wrong, f"HostedPartitions.{rule}", use)


def lost() -> HostedPartitions[Hosted, Idle]:
    hosted = failed()
    hosted.on_log_dir_returned("/d1", {}, ReturnRule())
    assert hosted.offline_replica(T0) == OfflineReplica(ID, "/d1", Loss.REBUILD)
    return hosted


def told_back(*, is_unread: bool, is_stray: bool, preferred: str = "/d1") -> list[str]:
    """Return what is told when a log of a replica that nobody knows comes back, beside a lost one.

    ``preferred``: where that is made anew.
    """
    loaded: Any = object.__new__(LoadedLogDirs)
    states = SimpleNamespace(is_unread=answers(is_unread), preferred=answers(preferred))
    loaded._state = SimpleNamespace(
        hosted=table(), log_dir_states=states, control_turn=asyncio.Lock()
    )
    log_dir: Any = SimpleNamespace(path="/d1")
    log = SimpleNamespace(topic_partition=T0, is_future=False)
    found: Any = SimpleNamespace(logs=[log])

    async def brings_back(*_: object) -> ReturnedReplicas:
        return ReturnedReplicas((), (), (T0,) if is_stray else (), (T1,))

    def use() -> None:
        asyncio.run(loaded._bring_back(log_dir, found, ReturnRule()))

    return told_of(brings_back, "LoadedLogDirs._bring_back", use)


@pytest.mark.parametrize("is_unread", [True, False])
@pytest.mark.parametrize("is_stray", [True, False])
def test_a_log_of_no_known_replica_is_kept_where_nobody_named_what_there_is(
    *, is_unread: bool, is_stray: bool
) -> None:
    assert bool(told_back(is_unread=is_unread, is_stray=is_stray)) is (is_unread is is_stray)


@pytest.mark.parametrize(("preferred", "is_told"), [("/d1", False), ("/d2", True)])
def test_what_a_log_dir_has_lost_is_made_anew_in_it(preferred: str, *, is_told: bool) -> None:
    told = told_back(is_unread=True, is_stray=False, preferred=preferred)
    assert bool(told) is is_told


@pytest.mark.parametrize(("known", "is_told"), [(7, False), (6, True), (None, True)])
def test_cleaning_goes_on_where_it_was_on_a_log_dir_that_is_back(
    known: int | None, *, is_told: bool
) -> None:
    disk, offsets = MemoryDisk(), CleanerOffsets()
    write_cleaner_offsets(disk, {T0: 7})
    cleaning: Any = object.__new__(Cleaning)
    cleaning._state = SimpleNamespace(cleaner_offsets=offsets)
    log_dir: Any = SimpleNamespace(path="/d1", disk=disk, is_online=True)

    async def takes_it(_: object, __: object) -> None:
        offsets.load("/d1", {} if known is None else {T0: known})

    def use() -> None:
        asyncio.run(cleaning.log_dir_returned(log_dir))

    assert bool(told_of(takes_it, "Cleaning.log_dir_returned", use)) is is_told
