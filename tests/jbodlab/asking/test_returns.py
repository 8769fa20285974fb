"""What counts as a log dir that is back, and when waiting for it ends without that.

The whole way is in tests/integration/test_kip_18.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from jbodlab.asking.returns import ReturnProgress, throttled_patience_ms, watch_return
from jbodlab.errors import ExitCode, LabError
from protocol.admin.cluster import ClusterView, PartitionView
from protocol.admin.log_dirs import LogDirView, ReplicaView
from protocol.ids import TopicPartition
from tests.protocol.admin.views import cluster_of

PATH = "/b1/d1"
PARTITIONS = {
    name: TopicPartition("t", number) for number, name in enumerate(("copied", "waiting", "alone"))
}


def progress(state: str = "done", *, replicas: int = 3, in_sync: int = 3) -> ReturnProgress:
    return ReturnProgress(
        state=state,
        found_count=1,
        lost_count=2,
        awaited_count=0,
        copied_bytes=10,
        total_bytes=20,
        in_sync_count=in_sync,
        replica_count=replicas,
    )


class Broker:
    """Broker 1 with one log dir, and what the metadata says of it; 2 leads what it does not."""

    broker_id = 1

    def __init__(self) -> None:
        self.returning: dict[str, Any] = {"state": "done", "found": 0, "lost": 1}
        self.shown: dict[str, Any] = {"online": True, "reason": "", "fault": None}
        self.copied: dict[TopicPartition, int] = {}
        self.lost: list[TopicPartition] = []
        self.isrs: dict[TopicPartition, tuple[int, ...]] = {}
        self.unread: dict[str, dict[str, int]] = {}
        self.is_leader_silent = False

    def log_dirs(self, broker_id: int | None = None) -> list[Any]:
        """Answer GET /log-dirs, or DescribeLogDirs of a leader."""
        if broker_id is not None:
            return self._leader_log_dirs()
        replicas = [
            {"topic": tp.topic, "partition": tp.partition, "size_bytes": size, "is_future": False}
            for tp, size in self.copied.items()
        ]
        awaited = [{"topic": tp.topic, "partition": tp.partition} for tp in self.lost]
        returning = {**self.returning, "awaited": awaited}
        return [{"path": PATH, "return": returning, "replicas": replicas, **self.shown}]

    def _leader_log_dirs(self) -> list[LogDirView]:
        if self.is_leader_silent:
            raise ConnectionError("it has just died")
        replicas = tuple(
            ReplicaView(
                topic=tp.topic,
                partition=tp.partition,
                size_bytes=100,
                offset_lag=0,
                is_future=False,
            )
            for tp in self.isrs
        )
        return [
            LogDirView(
                broker=2,
                path="/b2/d1",
                error_code=0,
                total_bytes=1,
                usable_bytes=1,
                is_cordoned=False,
                replicas=replicas,
            )
        ]

    def status(self) -> dict[str, Any]:
        return {"loading": self.unread}

    def any_view(self, topics: Sequence[str]) -> ClusterView:
        assert all(tp.topic in topics for tp in [*self.copied, *self.lost])
        partitions = tuple(
            PartitionView(
                topic=tp.topic,
                partition=tp.partition,
                leader=next((member for member in isr if member != 1), -1),
                leader_epoch=1,
                replicas=(1, 2),
                isr=isr,
                offline_replicas=(),
                error_code=0,
            )
            for tp, isr in self.isrs.items()
        )
        return cluster_of(partitions, brokers=(1, 2))

    def watch(self, **options: Any) -> list[ReturnProgress]:
        return list(watch_return(self, self, PATH, **{"patience_ms": 0, **options}))  # pyright: ignore[reportArgumentType] - the part of both that is used

    def refusal(self, **options: Any) -> tuple[ExitCode, str]:
        with pytest.raises(LabError) as caught:
            self.watch(**options)
        return caught.value.exit_code, str(caught.value)


@pytest.fixture
def broker() -> Broker:
    return Broker()


def test_a_log_dir_is_back_when_all_its_replicas_are_in_sync() -> None:
    assert progress().is_done


def test_a_topic_that_is_deleted_meanwhile_is_not_waited_for() -> None:
    assert progress(replicas=0, in_sync=0).is_done


@pytest.mark.parametrize(
    "unfinished", [progress("loading"), progress("registering"), progress(in_sync=2)]
)
def test_until_then_it_is_waited_for(unfinished: ReturnProgress) -> None:
    assert not unfinished.is_done


def test_what_is_in_sync_and_what_is_copied_is_counted(broker: Broker) -> None:
    broker.copied = {PARTITIONS["copied"]: 70}
    broker.isrs = {PARTITIONS["copied"]: (2, 1)}
    (seen,) = broker.watch()
    assert (seen.in_sync_count, seen.replica_count, seen.left) == (1, 1, ())
    assert (seen.copied_bytes, seen.total_bytes) == (70, 100)


def test_a_log_dir_that_fails_again_is_not_waited_for(broker: Broker) -> None:
    """It has no replicas any more, and so none that is out of sync."""
    broker.shown |= {"online": False, "reason": "log dir /b1/d1 is offline: append: full"}
    code, said = broker.refusal(patience_ms=3_600_000)
    assert code == ExitCode.FAILED
    assert "it failed again: log dir /b1/d1 is offline: append: full; repair it, then" in said
    broker.shown["fault"] = {"mode": "eio"}
    assert "take its fault eio off (`jbodlab log-dirs heal`), then `jbodlab" in broker.refusal()[1]


def test_what_nobody_else_has_is_not_waited_for(broker: Broker) -> None:
    broker.lost = [PARTITIONS["alone"]]
    broker.isrs = {PARTITIONS["alone"]: (1,)}
    code, said = broker.refusal(patience_ms=3_600_000)
    assert code == ExitCode.FAILED
    assert "stay offline: t-2 (no other broker has it in sync)" in said
    assert "(/b1/d1.replaced-..., or /b1/d1/__replaced-0.... of a mount point) back in its" in said
    assert "`jbodlab log-dirs restart-partition --accept-loss`" in said


def test_what_nobody_else_has_is_waited_for_once_its_loss_is_accepted(broker: Broker) -> None:
    broker.lost = [PARTITIONS["alone"]]
    broker.isrs = {PARTITIONS["alone"]: (1,)}
    code, said = broker.refusal(accepts_loss=True)
    assert code == ExitCode.TIMED_OUT
    assert "not t-2 (no other broker has it in sync)" in said


def test_a_refusal_of_the_broker_is_passed_on(broker: Broker) -> None:
    broker.returning |= {"state": "refused", "detail": "it belongs to another broker"}
    assert broker.refusal() == (ExitCode.FAILED, "broker 1: it belongs to another broker")


def test_a_standstill_ends_and_says_what_is_wrong_with_which_replica(broker: Broker) -> None:
    broker.copied = {PARTITIONS["copied"]: 70}
    broker.lost = [PARTITIONS["waiting"], PARTITIONS["alone"]]
    broker.isrs = {
        PARTITIONS["copied"]: (2,),
        PARTITIONS["waiting"]: (2,),
        PARTITIONS["alone"]: (1,),
    }
    broker.returning["throttle_bytes_per_second"] = 2_000_000_000
    broker.shown["fault"] = {"mode": "slow"}
    code, said = broker.refusal()
    assert code == ExitCode.TIMED_OUT
    for part in (
        "/b1/d1: nothing got better for 0 s",
        "0 of 3 replicas are in sync, not t-0 (70 of 100 bytes copied from broker 2), "
        "t-1 (0 of 100 bytes copied from broker 2), t-2 (no other broker has it in sync)",
        "its fault slow is in force (`jbodlab log-dirs heal /b1/d1`)",
        "at most 2,000,000,000 B/s are copied",
        "the broker goes on without this command",
    ):
        assert part in said


def test_replicas_without_a_leader_or_topic_and_leaders_without_an_answer_are_told(
    broker: Broker,
) -> None:
    broker.copied = {PARTITIONS["copied"]: 70, PARTITIONS["waiting"]: 7}
    broker.isrs = {PARTITIONS["copied"]: ()}
    said = broker.refusal()[1]
    assert "t-0 (it has no leader, Isr ), t-1 (no broker knows it)" in said
    broker.isrs = dict.fromkeys(broker.copied, (2,))
    broker.is_leader_silent = True
    assert "t-0 (70 of 0 bytes copied from broker 2)" in broker.refusal()[1]


def test_a_slow_look_through_its_logs_is_waited_for_as_long_as_it_gets_on(broker: Broker) -> None:
    broker.returning["state"] = "loading"
    watch = watch_return(broker, broker, PATH, patience_ms=0)  # pyright: ignore[reportArgumentType]
    for unread in range(5, 0, -1):
        broker.unread = {PATH: {"logs": unread, "segments": 0}}
        assert next(watch).unread_logs_count == unread
    next(watch)
    with pytest.raises(LabError, match="it is still loading"):
        next(watch)


def test_one_partition_is_waited_for_alone(broker: Broker) -> None:
    broker.copied = {PARTITIONS["copied"]: 1, PARTITIONS["waiting"]: 1}
    broker.lost = [PARTITIONS["alone"]]
    broker.isrs = {PARTITIONS["copied"]: (2, 1), PARTITIONS["waiting"]: (2,)}
    (seen,) = broker.watch(only=PARTITIONS["copied"])
    assert (seen.in_sync_count, seen.replica_count, seen.copied_bytes) == (1, 1, 1)
    assert broker.refusal(only=PARTITIONS["waiting"])[0] == ExitCode.TIMED_OUT


def test_a_throttle_is_given_the_time_of_its_largest_transfer_within_limits() -> None:
    assert throttled_patience_ms(7, None) == 7
    assert throttled_patience_ms(7, 2 * 1024 * 1024) == 1_007
    assert throttled_patience_ms(7, 1) == 600_007
