"""What the contracts of late answers say of who takes them, and of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.follower_session import FollowerSession
from broker.core.leader_epochs import EpochEnd
from broker.engine.fetch_room import FetchRoom
from broker.engine.follow.fetcher import Fetcher
from broker.engine.follow.followed import Followed, FollowState
from broker.engine.follow.reconciler import Reconciler
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchParams, FetchPart, FetchResult
from broker.storage.log_reader import LogRead
from protocol.byte_budget import ByteBudget
from protocol.ids import TopicPartition
from tests.broker.engine.follow.followers import FakeReplica
from tests.broker.storage.builders import batches
from tests.simulation.contracts.wrong_rules import answers, told_of

TOLD: Final = EpochEnd(0, 5)


def fetcher_of(entry: Followed) -> Any:
    """A fetcher that does nothing with the one partition it has."""
    fetcher: Any = object.__new__(Fetcher)
    fetcher._entries, fetcher._changed = {entry.key: entry}, {}
    return fetcher


def told_reconciled(state: FollowState, *, is_followed_anew: bool = False) -> list[str]:
    entry = Followed(FakeReplica(), 0)
    fetcher = fetcher_of(Followed(entry.replica, 1) if is_followed_anew else entry)
    entry.state = state
    reconciler: Any = Reconciler(fetcher)
    rule = "Reconciler._reconcile"
    return told_of(answers(None), rule, lambda: reconciler._reconcile(entry, TOLD))


def test_only_who_was_asked_last_is_told_where_epochs_end() -> None:
    assert not told_reconciled(FollowState.ASKED)
    assert told_reconciled(FollowState.READY)
    assert told_reconciled(FollowState.BUSY)
    assert told_reconciled(FollowState.ASKED, is_followed_anew=True)


def told_taken(state: FollowState, *, changed: bool = False, anew: bool = False) -> list[str]:
    entry = Followed(FakeReplica(), 0)
    fetcher = fetcher_of(Followed(entry.replica, 1) if anew else entry)
    entry.state = state
    if changed:
        fetcher._changed[entry.key] = None
    data = SimpleNamespace(error_code=0)
    rule = "Fetcher._take_partition"
    return told_of(answers(None), rule, lambda: fetcher._take_partition(entry, data))


def test_what_was_fetched_counts_only_for_who_is_fetched_from_there() -> None:
    assert not told_taken(FollowState.READY)
    assert told_taken(FollowState.RECONCILING)
    assert told_taken(FollowState.READY, changed=True)
    assert told_taken(FollowState.READY, anew=True)


def give(replica_id: int, isolation_level: int, result: FetchResult, offset: int = 0) -> None:
    """Give what lies from 0 up to 5."""
    params = FetchParams(replica_id, 0, 1, 1 << 20, isolation_level)
    part = FetchPart(TopicPartition("orders", 0), bytes(16), offset, 0, -1, -1, 1 << 20)
    reading = Reading(params, [part], answers(None), FetchRoom(ByteBudget(1 << 20)))  # pyright: ignore[reportArgumentType]
    buffers = tuple(batches(0, 5))
    reading.give(0, result, LogRead(buffers, sum(map(len, buffers)), 5))


FOLLOWER: Final = 2
CONSUMER: Final = -1
GIVEN: Final[list[tuple[Callable[[], None], bool]]] = [
    (lambda: give(CONSUMER, 0, FetchResult(high_watermark=5)), False),
    (lambda: give(CONSUMER, 0, FetchResult(high_watermark=4)), True),
    (lambda: give(FOLLOWER, 0, FetchResult(high_watermark=0)), False),
    (lambda: give(CONSUMER, 0, FetchResult(high_watermark=5), offset=3), True),
    (lambda: give(CONSUMER, 1, FetchResult(high_watermark=5, last_stable_offset=4)), True),
    (lambda: give(CONSUMER, 1, FetchResult(high_watermark=5, last_stable_offset=5)), True),
    (
        lambda: give(CONSUMER, 1, FetchResult(high_watermark=5, last_stable_offset=5, aborted=())),
        False,
    ),
]
"""What is given, and whether that breaks a promise."""


@pytest.mark.parametrize(("use", "is_told"), GIVEN)
def test_who_is_given_more_than_it_may_read_is_told(
    use: Callable[[], None], *, is_told: bool
) -> None:
    assert bool(told_of(None, "Reading.give", use)) is is_told


def asked(fetcher: Any) -> list[str]:
    """Return what is told of a request that nobody answered."""

    async def nothing(_: object) -> None:
        return None

    return told_of(nothing, "Fetcher._ask_once", lambda: asyncio.run(fetcher._ask_once()))


def test_a_session_ends_with_its_connection() -> None:
    fetcher = fetcher_of(Followed(FakeReplica(), 0))
    session: FollowerSession[str] = FollowerSession()
    fetcher.source_id, fetcher._session = 1, session
    for fetcher._client in (None, "one"):
        assert not asked(fetcher)
    session.next_request({"a": 1}, [], [])
    session.answered(0, 7)
    assert not asked(fetcher)
    fetcher._client = None
    assert asked(fetcher)


def told_late(rule: str, *how: object, turn: int) -> list[str]:
    """Return what is told when what comes of a turn makes a partition ready to be fetched."""
    entry = Followed(FakeReplica(), 0)
    entry.enter(FollowState.BUSY)
    fetcher = fetcher_of(entry)

    def makes_ready(*_: object) -> None:
        entry.enter(FollowState.READY)

    def use() -> None:
        getattr(fetcher, rule)(entry, turn, *how)

    return told_of(makes_ready, f"Fetcher.{rule}", use)


@pytest.mark.parametrize(("rule", "how"), [("_retry", ()), ("_worked", (0, None, None))])
def test_a_turn_that_is_over_changes_nothing(rule: str, how: tuple[object, ...]) -> None:
    assert not told_late(rule, *how, turn=1)
    assert told_late(rule, *how, turn=0)
