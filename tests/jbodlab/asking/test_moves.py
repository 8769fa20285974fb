"""The progress of a move is read from DescribeLogDirs; each other end of it is told as such."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.moves import MoveProgress, watch_move
from jbodlab.errors import BrokerAwayError, ExitCode, LabError
from protocol.admin.cluster import ClusterView, PartitionView
from protocol.admin.log_dirs import LogDirView, ReplicaView
from protocol.errors import ErrorCode
from tests.protocol.admin.views import cluster_of


def log_dir(path: str, *replicas: ReplicaView) -> LogDirView:
    return LogDirView(
        broker=1, path=path, error_code=0, total_bytes=1, usable_bytes=1, replicas=replicas
    )


def offline(path: str) -> LogDirView:
    return LogDirView(
        broker=1,
        path=path,
        error_code=ErrorCode.KAFKA_STORAGE_ERROR,
        total_bytes=-1,
        usable_bytes=-1,
        replicas=(),
    )


def replica(size_bytes: int, *, future: bool = False, partition: int = 0) -> ReplicaView:
    return ReplicaView(
        topic="t", partition=partition, size_bytes=size_bytes, offset_lag=5, is_future=future
    )


def partition(*replicas: int) -> PartitionView:
    return PartitionView(
        topic="t",
        partition=0,
        leader=replicas[0],
        leader_epoch=0,
        replicas=replicas,
        isr=replicas,
        offline_replicas=(),
        error_code=0,
    )


Looks = Sequence[Sequence[LogDirView] | BrokerAwayError]
AWAY = BrokerAwayError("broker 1 at h:1 does not answer (Connection refused)")
UNDER_WAY = (log_dir("/d1", replica(100)), log_dir("/d2", replica(40, future=True)))


class Admin(ClusterAdmin):
    """A broker that tells one look after the other, the last one for good."""

    def __init__(self, looks: Looks, *partitions: PartitionView) -> None:  # no call to super
        self.looks = list(looks)
        self.partitions = partitions

    def log_dirs(self, broker_id: int, partitions: object = None) -> list[LogDirView]:
        assert (broker_id, partitions) == (1, None)
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, BrokerAwayError):
            raise look
        return list(look)

    def any_view(self, topics: Sequence[str] | None = None) -> ClusterView:
        assert topics == ["t"]
        return cluster_of(self.partitions, brokers=(1,))


def end_of(*looks: Sequence[LogDirView] | BrokerAwayError, view: PartitionView) -> LabError:
    with pytest.raises(LabError) as caught:
        list(watch_move(Admin(looks, view), 1, "t", 0, "/d2", patience_ms=1))
    return caught.value


def test_a_future_log_tells_how_far_it_is_until_the_replica_is_there() -> None:
    moved = (log_dir("/d1"), log_dir("/d2", replica(100)))
    assert list(watch_move(Admin([UNDER_WAY, moved]), 1, "t", 0, "/d2")) == [
        MoveProgress(copied_bytes=40, total_bytes=100, offset_lag=5, is_done=False),
        MoveProgress(copied_bytes=100, total_bytes=100, offset_lag=0, is_done=True),
    ]


@pytest.mark.parametrize(
    ("then", "view", "words"),
    [
        (
            [offline("/d1"), log_dir("/d2", replica(40, future=True))],
            partition(1, 2),
            "/d1, which it is copied from, is offline",
        ),
        (
            [log_dir("/d1", replica(100)), offline("/d2")],
            partition(1, 2),
            "/d2 is offline; the replica is still in /d1",
        ),
        ([log_dir("/d1"), log_dir("/d2")], partition(2, 3), "no replica of it any more: they are"),
        (
            [log_dir("/d1", replica(100)), log_dir("/d2"), log_dir("/d3")],
            partition(1, 2),
            "the replica stays in /d1; another order took the move back",
        ),
        (
            [log_dir("/d1", replica(100)), log_dir("/d2"), log_dir("/d3", replica(1, future=True))],
            partition(1, 2),
            "another order moves the replica to /d3 instead",
        ),
    ],
)
def test_a_move_that_ends_in_another_way_is_told_as_such(
    then: list[LogDirView], view: PartitionView, words: str
) -> None:
    for looks in ([UNDER_WAY, then], [then]):
        error = end_of(*looks, view=view)
        assert (error.exit_code, words in str(error)) == (ExitCode.FAILED, True), str(error)


def test_a_topic_that_was_deleted_is_told() -> None:
    with pytest.raises(LabError, match="has ended: the topic t was deleted"):
        list(watch_move(Admin([UNDER_WAY, [log_dir("/d1"), log_dir("/d2")]]), 1, "t", 0, "/d2"))


def test_a_broker_that_ends_meanwhile_is_told_and_that_the_move_goes_on() -> None:
    error = end_of(UNDER_WAY, AWAY, view=partition(1, 2))
    assert error.exit_code is ExitCode.NOT_RUNNING
    assert "broker 1 at h:1 does not answer (Connection refused) while t-0 moves" in str(error)


def test_a_move_that_stands_still_is_given_up_on_with_how_far_it_is() -> None:
    error = end_of(UNDER_WAY, view=partition(1, 2))
    assert error.exit_code is ExitCode.TIMED_OUT
    assert "40 of 100 bytes" in str(error)


def test_a_replica_that_the_broker_has_not_loaded_yet_is_waited_for() -> None:
    loading = [log_dir("/d1"), log_dir("/d2")]
    moved = [log_dir("/d1"), log_dir("/d2", replica(100))]
    admin = Admin([UNDER_WAY, loading, moved], partition(1, 2))
    *_, last = watch_move(admin, 1, "t", 0, "/d2")
    assert last.is_done
