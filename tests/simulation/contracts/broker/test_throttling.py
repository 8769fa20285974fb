"""What the contracts of limits say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.replication_quota import ReplicationQuota
from broker.engine.follow.followed import Followed
from broker.engine.follow.follower_throttle import Division, FollowerThrottle
from broker.engine.move.moving import MovingLog
from broker.engine.serve.leader_throttle import WAITS, LeaderThrottle
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
    positions = SimpleNamespace(high_watermark=3, log_end_offset=9, appended=answers(None))
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
