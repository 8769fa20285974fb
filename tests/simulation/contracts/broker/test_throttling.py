"""What the contracts of limits say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.future_log import MoveState
from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.replication_quota import ReplicationQuota
from broker.engine.follow.followed import Followed
from broker.engine.follow.follower_throttle import Division, FollowerThrottle
from broker.engine.move.moving import MovingLog
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.leader_throttle import WAITS, LeaderThrottle
from broker.engine.types import FetchResult
from tests.broker.engine.follow.followers import FakeReplica
from tests.simulation.contracts.wrong_rules import answers, told_of

DIVIDE: Final = FollowerThrottle.divide
COPIED: Final = MovingLog._on_written
NONE: Final = answers(None)
MIB: Final = 1 << 20


def entries(count: int = 2) -> list[Followed]:
    made = [Followed(FakeReplica(index), 0) for index in range(count)]
    for entry in made:
        entry.replica.is_throttled = True  # type: ignore[misc] -- a plain attribute here
    return made


def quota(used_bytes: int = 0) -> ReplicationQuota:
    made = ReplicationQuota(1_000)
    made.record(used_bytes, 0)
    return made


def divide(used_bytes: int = 0, *, in_sync: bool = False) -> None:
    throttle = FollowerThrottle(quota(used_bytes), RebuildThrottle(), lambda: 0)
    two = entries()
    two[0].is_in_sync = in_sync
    throttle.divide(two, MIB)


def fetch() -> None:
    throttle = FollowerThrottle(quota(), RebuildThrottle(), lambda: 0)
    throttle.fetched(entries()[0], 700, 1)


def rebuilt(leader_high_watermark: int) -> None:
    """A replica that begins anew, and has what its leader has committed, or not."""
    rebuilds, (entry, *_) = RebuildThrottle(), entries()
    rebuilds.begin("/d1", [entry.replica.tp], 1_000)
    throttle = FollowerThrottle(quota(), rebuilds, lambda: 0)
    throttle.fetched(entry, 700, leader_high_watermark)


def limits_for_ever(throttle: Any, entry: Followed, size_bytes: int, _: int) -> None:
    limit = throttle._rebuilds.quota_of(entry.replica.tp)
    limit.record(size_bytes, throttle._now_ms())


def gives_each_all(_: object, ready: list[Followed], __: int) -> Division:
    for entry in ready:
        entry.share_bytes = 250
    return Division([], [])


def holds_all(_: object, ready: list[Followed], __: int) -> Division:
    return Division(list(ready), [])


def gives_nothing_to_who_is_in_sync(throttle: Any, ready: list[Followed], most: int) -> Division:
    division = DIVIDE(throttle, ready, most)
    ready[0].share_bytes = 0
    return division


def serve(replica_id: int, used_bytes: int = 0) -> None:
    state: Any = SimpleNamespace(quotas=SimpleNamespace(leader=quota(used_bytes)), now_ms=lambda: 0)
    partition: Any = SimpleNamespace(tp="orders-0", isr=SimpleNamespace(isr=(1, 2)))
    LeaderThrottle(state).most_bytes(partition, replica_id, MIB)


def moving(committed: int) -> Any:
    """A move that has copied, of a log of which so much is committed."""
    own: Any = object.__new__(MovingLog)
    positions = SimpleNamespace(
        high_watermark=3, log_start_offset=0, log_end_offset=9, appended=answers(None)
    )
    own._tools = SimpleNamespace(throttle=quota())
    own._future = SimpleNamespace(log=SimpleNamespace(positions=positions), copied_bytes=0)
    own._replica = SimpleNamespace(
        tp="orders-0", partition=SimpleNamespace(high_watermark=committed)
    )
    counters = SimpleNamespace(move_bytes=SimpleNamespace(add=answers(None)))
    own._state = SimpleNamespace(now_ms=lambda: 0, ports=SimpleNamespace(counters=counters))
    return own


def copy() -> None:
    moving(5)._on_written(9, 700, counts=True)


def copies_for_nothing(own: Any, _: int, size_bytes: int, counts: bool) -> None:
    COPIED(own, 9, size_bytes, counts)
    own._tools.throttle.record(-size_bytes, 0)


def commits_all(own: Any, end_offset: int, size_bytes: int, counts: bool) -> None:
    COPIED(own, end_offset, size_bytes, counts)
    own._future.log.positions.high_watermark = end_offset


WRONG_RULES: Final[list[tuple[str, Callable[..., Any], Callable[[], object]]]] = [
    ("FollowerThrottle.divide", gives_each_all, divide),
    ("FollowerThrottle.divide", holds_all, divide),
    ("FollowerThrottle.divide", gives_each_all, lambda: divide(2_000)),
    ("FollowerThrottle.divide", gives_nothing_to_who_is_in_sync, lambda: divide(in_sync=True)),
    ("FollowerThrottle.fetched", NONE, fetch),
    ("LeaderThrottle.most_bytes", answers(MIB), lambda: serve(3)),
    ("LeaderThrottle.most_bytes", answers(250), lambda: serve(3, 2_000)),
    ("LeaderThrottle.most_bytes", answers(WAITS), lambda: serve(2, 2_000)),
    ("MovingLog._on_written", copies_for_nothing, copy),
    ("MovingLog._on_written", commits_all, copy),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., Any], use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_a_replica_that_is_rebuilt_is_limited_until_it_is_in_sync() -> None:
    assert told_of(None, "FollowerThrottle.fetched", lambda: rebuilt(0)) == []
    assert told_of(limits_for_ever, "FollowerThrottle.fetched", lambda: rebuilt(0))
    assert told_of(limits_for_ever, "FollowerThrottle.fetched", lambda: rebuilt(99)) == []


def told_copied(used_bytes: int) -> list[str]:
    async def nothing(_: object) -> None:
        return None

    own: Any = moving(5)
    own._tools.throttle.record(used_bytes, 0)
    return told_of(nothing, "MovingLog.copy", lambda: asyncio.run(own.copy()))


def test_a_move_waits_while_its_limit_is_exceeded() -> None:
    assert not told_copied(0)
    assert told_copied(700)


def told_read(replica_id: int, *, used_bytes: int = 0, counts: bool = True) -> list[str]:
    """Return what is told when a broker is given 700 bytes of a throttled replica."""
    limit = quota(used_bytes)
    fetches: Any = object.__new__(Fetches)
    fetches._state = SimpleNamespace(quotas=SimpleNamespace(leader=limit), now_ms=lambda: 0)
    partition = SimpleNamespace(isr=SimpleNamespace(isr=(1, 2)))
    replica = SimpleNamespace(tp="orders-0", partition=partition, is_leader_throttled=True)
    params = SimpleNamespace(replica_id=replica_id)
    reading = SimpleNamespace(is_follower=replica_id >= 0, params=params, disk=[])

    def gives(*_: object) -> FetchResult:
        limit.record(700 if counts else 0, 0)
        return FetchResult(records_size_bytes=700)

    return told_of(gives, "Fetches._read", lambda: fetches._read(reading, replica, 0))


def test_what_followers_are_given_of_a_throttled_replica_is_paid_for() -> None:
    assert not told_read(3)
    assert told_read(3, counts=False)
    assert told_read(3, used_bytes=2_000)
    assert not told_read(2, used_bytes=2_000)
    assert told_read(2, counts=False)
    assert not told_read(-1, counts=False)


@pytest.mark.parametrize(("told", "is_wrong"), [(7, False), (0, True), (-7, True)])
def test_a_step_of_a_move_says_what_it_has_copied(told: int, *, is_wrong: bool) -> None:
    own = moving(0)
    own._future.copied_bytes = 100

    async def copies(_: object, __: object) -> int:
        own._future.copied_bytes += 7
        return told

    found = told_of(copies, "MovingLog._copy", lambda: asyncio.run(own._copy(MoveState.COPYING)))
    assert bool(found) is is_wrong
