"""Builders of situations: only what matters to a test has to be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from jbodlab.rebalance.core.plan import RebalancePlan
from jbodlab.rebalance.core.situation import LogDir, LogDirId, Partition, Replica, Situation
from protocol.ids import TopicPartition

MIB = 1 << 20


def at(broker: int, number: int) -> LogDirId:
    return LogDirId(broker, f"/b{broker}/d{number}")


def log_dirs(brokers: int = 1, each: int = 2, **of_all: object) -> tuple[LogDir, ...]:
    return tuple(
        LogDir(id=at(broker, number), rack=f"r{broker}", **of_all)  # type: ignore[arg-type]
        for broker in range(1, brokers + 1)
        for number in range(1, each + 1)
    )


def partition(
    number: int,
    places: Sequence[LogDirId],
    size_bytes: int = 10,
    *,
    rate: float = 0.0,
    offline: Sequence[int] = (),
    leader: int | None = None,
    is_changing: bool = False,
) -> Partition:
    """Return t-``number`` led by its first replica; ``offline`` are brokers."""
    replicas = tuple(
        Replica(at=place, size_bytes=size_bytes, is_online=place.broker not in offline)
        for place in places
    )
    return Partition(
        tp=TopicPartition("t", number),
        replicas=replicas,
        leader=places[0].broker if leader is None else leader,
        write_rate=rate,
        becoming=replicas if is_changing else (),
    )


def in_one_dir(sizes: Sequence[int], place: LogDirId) -> tuple[Partition, ...]:
    """Return partitions with one replica each, all in one log dir."""
    return tuple(partition(number, [place], size) for number, size in enumerate(sizes))


def loads(plan: RebalancePlan) -> Mapping[LogDirId, int]:
    """Return bytes per log dir after a plan, zeros left out."""
    found: dict[LogDirId, int] = {}
    for each, places in zip(plan.situation.partitions, plan.places, strict=True):
        for replica, place in zip(each.replicas, places, strict=True):
            found[place] = found.get(place, 0) + replica.size_bytes
    return found


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Clusters of up to four brokers on up to three racks, some log dirs closed or small."""
    brokers = draw(st.integers(1, 4))
    dirs = [
        LogDir(
            id=at(broker, number),
            rack=f"r{(broker - 1) % draw(st.integers(1, 3))}",
            is_online=(is_online := draw(st.integers(0, 9)) > 0),
            is_cordoned=draw(st.integers(0, 5)) == 0,
            total_bytes=(total := draw(st.sampled_from([-1, 500, 1000, 2000]))),
            usable_bytes=draw(st.integers(0, total)) if total > 0 and is_online else -1,
        )
        for broker in range(1, brokers + 1)
        for number in range(1, draw(st.integers(1, 3)) + 1)
    ]
    # One broker has one rack.
    racks = {each.id.broker: each.rack for each in dirs}
    dirs = [
        LogDir(
            id=each.id,
            rack=racks[each.id.broker],
            is_online=each.is_online,
            is_cordoned=each.is_cordoned,
            total_bytes=each.total_bytes,
            usable_bytes=each.usable_bytes,
        )
        for each in dirs
    ]
    partitions = [_drawn_partition(draw, number, dirs) for number in range(draw(st.integers(0, 9)))]
    return Situation(log_dirs=tuple(dirs), partitions=tuple(partitions))


def _drawn_partition(draw: st.DrawFn, number: int, dirs: Sequence[LogDir]) -> Partition:
    hosts = draw(
        st.lists(st.sampled_from(dirs), min_size=1, max_size=3, unique_by=lambda d: d.id.broker)
    )
    alive = [each.id.broker for each in hosts if each.is_online]
    return partition(
        number,
        [each.id for each in hosts],
        draw(st.integers(0, 200)),
        rate=draw(st.floats(0, 100)),
        offline=[each.id.broker for each in hosts if not each.is_online],
        leader=alive[0] if alive else -1,
        is_changing=draw(st.integers(0, 7)) == 0,
    )
