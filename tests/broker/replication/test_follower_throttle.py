"""Which partitions wait when the follower's quota is used up."""

from __future__ import annotations

from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.replication_quota import UNLIMITED, ReplicationQuota
from broker.replication.followed import Followed
from broker.replication.follower_throttle import FollowerThrottle
from tests.broker.replication.followers import FakeReplica

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


def test_without_a_limit_nothing_is_held_back_and_nothing_is_cut() -> None:
    free = throttle(UNLIMITED, used_bytes=1 << 50)
    (entry,) = entries(1)
    assert free.held_back([entry], MIB) == []
    assert free.most_bytes(entry, MIB) == MIB


def test_a_used_up_quota_holds_back_throttled_partitions_that_lag() -> None:
    used_up = throttle(1_000, used_bytes=1_001)
    lagging, in_sync = entries(2)
    in_sync.is_in_sync = True
    (other,) = entries(1, throttled=False)
    assert used_up.held_back([lagging, in_sync, other], MIB) == [lagging]
    assert used_up.wait_ms([lagging]) == 1_000, "1.001 s would do, but the limit may change"


def test_only_as_many_partitions_go_as_there_is_room_for() -> None:
    three = entries(3)
    assert throttle(1_000).held_back(three, 600) == []
    assert throttle(1_000, used_bytes=700).held_back(three, 600) == three[2:]


def test_no_partition_asks_for_more_than_a_burst() -> None:
    (entry,) = entries(1)
    limited = throttle(1_000)
    assert limited.most_bytes(entry, MIB) == 250
    entry.is_in_sync = True
    assert limited.most_bytes(entry, MIB) == MIB


def test_fetched_bytes_count_and_tell_who_is_in_sync() -> None:
    quota = ReplicationQuota(1_000)
    counting = FollowerThrottle(quota, RebuildThrottle(), lambda: 0)
    (entry,) = entries(1)
    counting.fetched(entry, 700, 1)
    assert (quota.room_bytes(0), entry.is_in_sync) == (300, False)
    counting.fetched(entry, 0, 0)
    assert entry.is_in_sync
    (free,) = entries(1, throttled=False)
    counting.fetched(free, 700, 0)
    assert quota.room_bytes(0) == 300


def test_rebuilt_replicas_have_a_limit_of_their_own_until_they_are_in_sync() -> None:
    quota, rebuilds = ReplicationQuota(1_000_000), RebuildThrottle()
    both = FollowerThrottle(quota, rebuilds, lambda: 0)
    named, rebuilt, free = entries(3)
    rebuilt.replica.is_throttled = free.replica.is_throttled = False  # type: ignore[misc]
    rebuilds.begin("/d1", [rebuilt.replica.tp], 1_000)
    assert [both.most_bytes(entry, MIB) for entry in (named, rebuilt, free)] == [250_000, 250, MIB]

    both.fetched(rebuilt, 1_100, 1)
    assert both.held_back([named, rebuilt, free], MIB) == [rebuilt]
    assert quota.room_bytes(0) == 1_000_000
    assert both.wait_ms([rebuilt]) == 1_000
    assert both.wait_ms([named]) == 0

    both.fetched(rebuilt, 50, 0)
    assert rebuilds.view("/d1") is None
    assert both.held_back([named, rebuilt, free], MIB) == []
    assert both.most_bytes(rebuilt, MIB) == MIB


def test_a_rebuilt_replica_that_is_named_too_counts_against_its_rebuild_alone() -> None:
    quota, rebuilds = ReplicationQuota(1_000), RebuildThrottle()
    both = FollowerThrottle(quota, rebuilds, lambda: 0)
    (rebuilt,) = entries(1)
    rebuilds.begin("/d1", [rebuilt.replica.tp], 400)
    both.fetched(rebuilt, 900, 1)
    assert quota.room_bytes(0) == 1_000
    assert both.held_back([rebuilt], MIB) == [rebuilt]
