"""What the contracts of late answers say of who takes them, and of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.follower_session import FollowerSession
from broker.core.leader_epochs import EpochEnd
from broker.engine.fetch_room import FetchRoom
from broker.engine.follow.fetcher import Fetcher
from broker.engine.follow.followed import Followed, FollowState
from broker.engine.follow.reconciler import Reconciler
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchParams, FetchPart, FetchResult
from broker.storage.faults import FaultyDisk
from broker.storage.memory_disk import MemoryDisk
from protocol.byte_budget import ByteBudget
from protocol.ids import TopicPartition
from protocol.ports import Disk
from tests.broker.engine.follow.followers import FakeReplica
from tests.broker.storage.builders import batch
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


FOLLOWER: Final = 2
CONSUMER: Final = -1
TOLD_OF: Final = ["Fetches._read", "Fetches._read_disks"]
GIVEN: Final[list[tuple[int, int, FetchResult, int, bool]]] = [
    (CONSUMER, 0, FetchResult(high_watermark=5), 0, False),
    (CONSUMER, 0, FetchResult(high_watermark=4), 0, True),
    (FOLLOWER, 0, FetchResult(high_watermark=0), 0, False),
    (CONSUMER, 0, FetchResult(high_watermark=5), 3, False),
    (CONSUMER, 0, FetchResult(high_watermark=5), 5, True),
    (CONSUMER, 1, FetchResult(high_watermark=5, last_stable_offset=4), 0, True),
    (CONSUMER, 1, FetchResult(high_watermark=5, last_stable_offset=5), 0, True),
    (CONSUMER, 1, FetchResult(high_watermark=5, last_stable_offset=5, aborted=()), 0, False),
]
"""Who asks, how isolated, what is answered with what lies from 0 up to 5, from where it was asked,
and whether that breaks a promise."""


def told_given(rule: str, given: tuple[int, int, FetchResult, int, bool], disk: Disk) -> list[str]:
    """Return what is told of an answer with what lies from 0 up to 5 in one batch."""
    replica_id, isolation_level, result, offset, _ = given
    params = FetchParams(replica_id, 0, 1, 1 << 20, isolation_level)
    part = FetchPart(TopicPartition("orders", 0), bytes(16), offset, 0, -1, -1, 1 << 20)
    reading: Any = Reading(params, [part], answers(None), FetchRoom(ByteBudget(1 << 20)))  # pyright: ignore[reportArgumentType]
    replica = SimpleNamespace(log=SimpleNamespace(dir=SimpleNamespace(disk=disk)))
    reading.disk = [SimpleNamespace(part_index=0, replica=replica)]
    reading.results = [replace(result, records=(batch(0, count=5),))]
    fetches: Any = object.__new__(Fetches)

    async def reads_disks(_: object, reading: Any) -> None:
        reading.disk = []

    if rule == "Fetches._read":
        reads_memory = answers(reading.results[0])
        told = told_of(reads_memory, rule, lambda: fetches._read(reading, replica, 0))
    else:
        told = told_of(reads_disks, rule, lambda: asyncio.run(fetches._read_disks(reading)))
    return [text for text in told if "Consumers are given what is committed" in text]


@pytest.mark.parametrize("rule", TOLD_OF)
@pytest.mark.parametrize("given", GIVEN)
def test_who_is_given_more_than_it_may_read_is_told(
    rule: str, given: tuple[int, int, FetchResult, int, bool]
) -> None:
    assert bool(told_given(rule, given, MemoryDisk())) is given[-1]


def test_what_a_disk_wrote_to_a_wrong_place_is_nobodys_promise() -> None:
    """Seed 758100: a consumer of a log whose begin another log's batch was written over."""
    disk = FaultyDisk(MemoryDisk(), chance=random.Random(1))
    assert told_given("Fetches._read_disks", GIVEN[1], disk)
    disk.struck_files["orders-0/00000000000000000000.log"] = None
    assert not told_given("Fetches._read_disks", GIVEN[1], disk)
    assert told_given("Fetches._read", GIVEN[1], disk)


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
