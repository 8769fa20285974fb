"""The cluster of the mixed stories, with clients that look at it and a client that checks it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.load import Load, read_numbers, verify
from protocol.admin.cluster import PartitionView
from protocol.admin.log_dirs import move_errors, move_request
from protocol.admin.outcomes import Outcome
from protocol.admin.reassignments import reassign_outcomes, reassign_request
from protocol.admin.topics import (
    NewTopic,
    create_topics_request,
    delete_topics_request,
    topic_outcomes,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.coordinators import FindCoordinatorRequest
from tests.deadlines import DEADLINE_MS, DEADLINE_S
from tests.mixed.apache_nodes import LOG_DIRS, ApacheNodes

BROKER_IDS: Final = (1, 2, 3)
GROUP, TRANSACTION = 0, 1
CONFIGS: Final[Mapping[str, str]] = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "zookeeper.session.timeout.ms": "6000",
    "replica.lag.time.max.ms": "5000",
}


class MixedLab:
    """Three brokers that run, or did until a story ended one."""

    def __init__(self, nodes: ApacheNodes, admin: ClusterAdmin) -> None:
        self.nodes = nodes
        self.admin = admin

    @property
    def servers(self) -> list[str]:
        """All brokers, as clients take them."""
        return self.nodes.bootstrap.split(",")

    def create(self, name: str, *replicas: Sequence[int]) -> None:
        """Create a topic with these replicas for its partitions, the preferred leader first."""
        topic = NewTopic(
            name=name,
            partitions=len(replicas),
            replication_factor=1,
            assignment=dict(enumerate(replicas)),
            configs={"min.insync.replicas": "2"},
        )
        request = create_topics_request([topic], timeout_ms=DEADLINE_MS)
        answered: list[Outcome] = []

        def is_taken() -> bool:
            """A broker that hears late of a new controller says so; clients look again."""
            answered[:] = topic_outcomes(self.ask_controller(request, 5))
            return all(each.code is not ErrorCode.NOT_CONTROLLER for each in answered)

        self.wait_until(is_taken, f"a controller creates {name}")
        for outcome in answered:
            outcome.check()
        self.wait_for_isr(name, len(replicas[0]))

    def delete(self, name: str) -> None:
        """Have a topic deleted; brokers that are asked afterwards may still know it."""
        request = delete_topics_request([name], timeout_ms=DEADLINE_MS)
        for outcome in topic_outcomes(self.ask_controller(request, 5)):
            outcome.check()

    def ask_controller(self, request: Any, version: int) -> Any:
        """Send a request to the broker that leads the cluster, which alone takes it."""
        return self.admin.ask(request, version, self.controller_id())

    def controller_id(self) -> int:
        """Return which broker leads the cluster; -1: nobody does."""
        return self.admin.any_view([]).controller_id

    def reassign(self, topic: str, replicas: Sequence[int], *, partition_count: int = 1) -> None:
        """Give the first partitions these replicas; return when they have them."""
        wanted = {TopicPartition(topic, number): replicas for number in range(partition_count)}
        request = reassign_request(wanted, timeout_ms=DEADLINE_MS)
        reassign_outcomes(self.ask_controller(request, 0)).check()
        self.wait_until(
            lambda: all(self.partition(*tp).replicas == tuple(replicas) for tp in wanted),
            f"{topic} is on brokers {replicas}",
        )

    def coordinator(self, key: str, kind: int) -> int:
        """Wait until a group or transactional id has one; return its broker."""
        request = FindCoordinatorRequest(key=key, key_type=kind)
        found: list[int] = []

        def is_found() -> bool:
            answer = self.admin.ask(request, 3, self.admin.any_view([]).broker_ids[0])
            found[:] = [answer.node_id]
            return answer.error_code == 0

        self.wait_until(is_found, f"{key} has a coordinator")
        return found[0]

    def partition(self, topic: str, partition: int = 0) -> PartitionView:
        return self.admin.any_view([topic]).partition(topic, partition)

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        self.nodes.wait_until(condition, what)

    def wait_for_isr(self, topic: str, count: int) -> None:
        """Wait until every live broker tells that every partition has so many in its Isr."""

        def is_told() -> bool:
            told_by = self.admin.any_view([]).broker_ids
            views = [self.admin.view(broker_id, [topic]) for broker_id in told_by]
            return all(len(each.isr) == count for view in views for each in view.partitions)

        self.wait_until(is_told, f"{count} replicas are in each Isr of {topic}")

    def wait_for_leader_other_than(self, broker_id: int, topic: str) -> int:
        """Wait for another leader of partition 0; return it."""

        def is_another() -> bool:
            return self.partition(topic).leader not in {broker_id, -1}

        self.wait_until(is_another, f"another than broker {broker_id} leads {topic}-0")
        return self.partition(topic).leader

    def move(self, broker_id: int, topic: str) -> None:
        """Move a broker's replica of partition 0 to its other log dir; return when it is there."""
        before = self.log_dir_of(broker_id, topic)
        (other,) = [name for name in LOG_DIRS if name != before]
        tp = TopicPartition(topic, 0)
        request = move_request({tp: str(self.nodes.log_dir(broker_id, other))})
        assert move_errors(self.admin.ask(request, 2, broker_id)) == {tp: ErrorCode.NONE}
        self.wait_until(
            lambda: self.log_dir_of(broker_id, topic) == other, f"{topic}-0 is in {other}"
        )

    def log_dir_of(self, broker_id: int, topic: str, partition: int = 0) -> str:
        """Return the name of the log dir in which a broker has a replica."""
        names: list[str] = []

        def is_there() -> bool:
            """The Isr of a new topic is told before its brokers have made the directories."""
            names[:] = [
                name
                for name in LOG_DIRS
                if (self.nodes.log_dir(broker_id, name) / f"{topic}-{partition}").is_dir()
            ]
            return len(names) == 1  # Looked at one after the other, a move can be seen in both.

        self.wait_until(is_there, f"broker {broker_id} has {topic}-{partition}")
        (name,) = names
        return name

    @contextmanager
    def checked_load(self, topic: str, partitions: int) -> Generator[Load]:
        """Write while the block runs; then read all: nothing that was promised is lost or twice."""
        load = Load(self.servers, topic, partitions=partitions, pace_ms=5.0).start(DEADLINE_MS)
        try:
            yield load
        except BaseException:
            load.abandon()
            raise
        report = load.stop()
        assert report.failed == ()
        numbers = read_numbers(self.servers, topic, partitions=partitions, deadline_ms=DEADLINE_MS)
        check = verify(report.acknowledged, numbers)
        assert (check.lost, check.twice) == ((), ())

    def fill(self, topic: str, value: bytes, count: int) -> None:
        """Write ``count`` records to partition 0."""
        producer = Producer({"bootstrap.servers": ",".join(self.servers), "acks": "all"})
        for _ in range(count):
            producer.produce(topic, value, partition=0)
        assert producer.flush(DEADLINE_S) == 0

    def wait_for_records(self, load: Load, more: int) -> None:
        """Wait until ``more`` records than now are acknowledged."""
        wanted = load.acknowledged_count + more
        self.wait_until(lambda: load.acknowledged_count >= wanted, f"{wanted} are acknowledged")

    def restart(self, broker_id: int) -> None:
        """Start a broker that was ended, once ZooKeeper has missed it."""
        self.wait_until(
            lambda: broker_id not in self.admin.any_view([]).broker_ids,
            f"broker {broker_id} is missed",
        )
        self.nodes.start_brokers({broker_id: CONFIGS})


@contextmanager
def mixed_lab(folder: Path) -> Generator[MixedLab]:
    """Run the cluster for the length of a block.

    Raises:
        PeerMissingError: there is no Java, no Maven, or no download.
    """
    with ApacheNodes(folder, BROKER_IDS) as nodes:
        nodes.start_zookeeper()
        nodes.start_brokers(dict.fromkeys(BROKER_IDS, CONFIGS))
        nodes.wait_until(
            lambda: len(cluster_behind(nodes.bootstrap).brokers) == len(BROKER_IDS),
            "all brokers are known",
        )
        with ClusterAdmin(cluster_behind(nodes.bootstrap)) as admin:
            lab = MixedLab(nodes, admin)
            # Kafka creates the topics of the coordinators on first use, and refuses to while fewer
            # brokers than replicas live: no story may be the first with a broker missing.
            for kind in (GROUP, TRANSACTION):
                lab.coordinator("first", kind)
            yield lab
