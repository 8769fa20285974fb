"""What the rate limits of replicas promise that are made anew on a replaced log dir."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable

from broker.core.rebuild_throttle import RebuildThrottle, RebuildView
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_method


@of_method(RebuildThrottle, "begin")
def begin(
    throttle: RebuildThrottle, path: str, tps: Iterable[TopicPartition], limit_bytes_per_second: int
) -> Generator[None, None, Broken]:
    """All replicas of a log dir that is made anew share one limit, which is the last one given."""
    assert isinstance(tps, Collection), "it is asked twice"
    limited = list(dict.fromkeys(tps))
    by_replica = throttle._by_replica  # noqa: SLF001 -- nothing public has it
    earlier = [tp for tp, one in by_replica.items() if one == path and tp not in limited]
    yield
    left = [tp for tp in earlier if tp in throttle._by_replica]  # noqa: SLF001 -- as above
    if left:
        return f"{left} are limited still by what {path} had before"
    view = throttle.view(path)
    wanted = RebuildView(limit_bytes_per_second, len(limited)) if limited else None
    if view != wanted:
        return f"{path} is limited by {view}, not {wanted}"
    quotas = {id(throttle.quota_of(tp)) for tp in limited}
    is_limited = all(throttle.quota_of(tp) is not None for tp in limited)
    return None if is_limited and len(quotas) <= 1 else f"{limited} have {len(quotas)} limits"


@of_method(RebuildThrottle, "done")
def done(throttle: RebuildThrottle, tp: TopicPartition) -> Generator[None, None, Broken]:
    """A replica in sync is limited no more, and others of its log dir are."""
    path = throttle._by_replica.get(tp)  # noqa: SLF001 -- nothing public has it
    before = None if path is None else throttle.view(path)
    yield
    if throttle.quota_of(tp) is not None:
        return f"{tp} is limited still"
    if path is None or before is None:
        return None
    count = before.replica_count - 1
    wanted = before._replace(replica_count=count) if count else None
    after = throttle.view(path)
    return None if after == wanted else f"{before} becomes {after}, not {wanted}"


@of_method(RebuildThrottle, "end")
def end(throttle: RebuildThrottle, path: str) -> Generator[None, None, Broken]:
    """Of a limit that ended nothing is left, and others stay."""
    by_replica = throttle._by_replica  # noqa: SLF001 -- nothing public has it
    others = {tp: one for tp, one in by_replica.items() if one != path}
    yield
    left = dict(throttle._by_replica)  # noqa: SLF001 -- as above
    is_over = throttle.view(path) is None and left == others
    return None if is_over else f"{path} is limited: {throttle.view(path)}, in all {left}"
