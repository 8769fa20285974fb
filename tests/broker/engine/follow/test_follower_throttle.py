"""Which partitions wait when the follower's quota is used up."""

from __future__ import annotations

from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.replication_quota import UNLIMITED, ReplicationQuota
from broker.engine.follow.followed import ALL_BYTES, Followed, FollowState
from broker.engine.follow.follower_throttle import FollowerThrottle
from tests.broker.engine.follow.followers import FakeReplica

MIB = 1 << 20


def entries(count: int, *, throttled: bool = True) -> list[Followed]:
    made = [Followed(FakeReplica(index), 0) for index in range(count)]
    for entry in made:
        entry.replica.is_throttled = throttled  # type: ignore[misc] -- a plain attribute here
    return made


def throttle(limit: int, *, used_bytes: int = 0) -> FollowerThrottle:
    quota = ReplicationQuota(limit)
    quota.record(used_bytes, 0)
    return FollowerThrottle(quota, RebuildThrottle(), lambda: 0)


def shares(throttle: FollowerThrottle, *ready: Followed) -> list[int | None]:
    """Divide a fetch; return what it asks of each, None: it is left out."""
    held = throttle.divide(ready, MIB).held
    return [None if entry in held else min(entry.share_bytes, MIB) for entry in ready]


def test_without_a_limit_nothing_is_held_back_and_nothing_is_cut() -> None:
    free = throttle(UNLIMITED, used_bytes=1 << 50)
    (entry,) = entries(1)
    assert free.divide([entry], MIB) == ([], [])
    assert shares(free, entry) == [MIB]


def test_a_used_up_quota_holds_back_throttled_partitions_that_lag() -> None:
    used_up = throttle(1_000, used_bytes=1_001)
    lagging, in_sync = entries(2)
    in_sync.is_in_sync = True
    (other,) = entries(1, throttled=False)
    assert shares(used_up, lagging, in_sync, other) == [None, MIB, MIB]
    assert used_up.wait_ms([lagging]) == 1_000, "1.001 s would do, but the limit may change"


def test_a_burst_for_the_first_and_nothing_for_the_others_but_their_turn_comes() -> None:
    """Nothing is asked, not nobody: hundreds of empty replicas are in sync after one fetch."""
    one, two, three = entries(3)
    limited = throttle(1_000)
    assert shares(limited, one, two, three) == [250, 0, 0]
    assert shares(limited, two, three, one) == [250, 0, 0]
    assert limited.divide([two, three, one], MIB) == ([], []), "only changes are told"


def test_a_burst_and_what_is_saved_up_are_for_several() -> None:
    saved_up = FollowerThrottle(quota := ReplicationQuota(80_000), RebuildThrottle(), lambda: 5_000)
    quota.record(1, 0)
    assert (quota.room_bytes(5_000), quota.burst_bytes) == (10_000, 20_000)
    five = entries(5)
    saved_up.divide(five, 8_000)
    assert [entry.share_bytes for entry in five] == [8_000, 8_000, 8_000, 6_000, 0]


def test_no_partition_asks_for_more_than_a_burst() -> None:
    (entry,) = entries(1)
    limited = throttle(1_000)
    assert shares(limited, entry) == [250]
    entry.is_in_sync = True
    assert shares(limited, entry) == [MIB]


def test_when_the_limit_is_lifted_everybody_asks_for_everything_again() -> None:
    quota = ReplicationQuota(1_000)
    lifted = FollowerThrottle(quota, RebuildThrottle(), lambda: 0)
    two = entries(2)
    assert shares(lifted, *two) == [250, 0]
    quota.limit_bytes_per_second = UNLIMITED
    assert lifted.divide(two, MIB).changed == two
    assert [entry.share_bytes for entry in two] == [ALL_BYTES, ALL_BYTES]
    assert lifted.divide(two, MIB) == ([], [])


def test_who_comes_back_after_the_limit_was_lifted_asks_for_everything_too() -> None:
    quota = ReplicationQuota(1_000)
    lifted = FollowerThrottle(quota, RebuildThrottle(), lambda: 0)
    (busy,) = entries(1)
    assert shares(lifted, busy) == [250]
    busy.enter(FollowState.BUSY)
    quota.limit_bytes_per_second = UNLIMITED
    assert lifted.divide([], MIB) == ([], [])
    busy.enter(FollowState.READY)
    assert lifted.divide([busy], MIB) == ([], [])
    assert busy.share_bytes == ALL_BYTES


def test_fetched_bytes_count_and_tell_who_is_in_sync() -> None:
    quota = ReplicationQuota(1_000)
    counting = FollowerThrottle(quota, RebuildThrottle(), lambda: 0)
    (entry,) = entries(1)
    counting.fetched(entry, 700, 1)
    assert (quota.room_bytes(0), entry.is_in_sync) == (-700, False)
    counting.fetched(entry, 0, 0)
    assert entry.is_in_sync
    (free,) = entries(1, throttled=False)
    counting.fetched(free, 700, 0)
    assert quota.room_bytes(0) == -700


def test_rebuilt_replicas_have_a_limit_of_their_own_until_they_are_in_sync() -> None:
    quota, rebuilds = ReplicationQuota(1_000_000), RebuildThrottle()
    both = FollowerThrottle(quota, rebuilds, lambda: 0)
    named, rebuilt, free = entries(3)
    rebuilt.replica.is_throttled = free.replica.is_throttled = False  # type: ignore[misc]
    rebuilds.begin("/d1", [rebuilt.replica.tp], 1_000)
    assert shares(both, named, rebuilt, free) == [250_000, 250, MIB]

    both.fetched(rebuilt, 1_100, 1)
    assert shares(both, named, rebuilt, free) == [250_000, None, MIB]
    assert quota.room_bytes(0) == 0
    assert both.wait_ms([rebuilt]) == 1_000
    assert both.wait_ms([named]) == 0

    both.fetched(rebuilt, 50, 0)
    assert rebuilds.view("/d1") is None
    assert shares(both, named, rebuilt, free) == [250_000, MIB, MIB]


def test_a_rebuilt_replica_that_is_named_too_counts_against_its_rebuild_alone() -> None:
    quota, rebuilds = ReplicationQuota(1_000), RebuildThrottle()
    both = FollowerThrottle(quota, rebuilds, lambda: 0)
    (rebuilt,) = entries(1)
    rebuilds.begin("/d1", [rebuilt.replica.tp], 400)
    both.fetched(rebuilt, 900, 1)
    assert quota.room_bytes(0) == 0
    assert shares(both, rebuilt) == [None]


def test_who_comes_behind_one_that_is_held_back_gets_its_share() -> None:
    used_up = throttle(1_000, used_bytes=1_001)
    (lagging,) = entries(1)
    (other,) = entries(1, throttled=False)
    other.share_bytes = 10
    assert used_up.divide([lagging, other], MIB) == ([lagging], [other])
    assert other.share_bytes == ALL_BYTES


def test_nobody_waits_for_a_limit_that_was_lifted() -> None:
    assert throttle(UNLIMITED).wait_ms(entries(1)) == 0
