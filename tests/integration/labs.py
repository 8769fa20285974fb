"""What integration tests share: real clusters in folders of their own, and questions to them.

Every wait is on a condition with a deadline.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaAdminClient

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.asking.rpc import BlockingClient
from jbodlab.load import Acknowledged, Load, read_numbers, verify
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.admin.cluster import PartitionView
from protocol.admin.log_dirs import LogDirView
from protocol.cluster_file.spec import TopicSpec
from protocol.faults.model import broker_node
from tests.deadlines import DEADLINE_MS

FAST = {
    # An idle bad log dir is noticed by the checkpoint; tests do not want to wait 5 s for it.
    "replica.high.watermark.checkpoint.interval.ms": "200",
    # A disk of a busy machine answers late; that is not what a test is about.
    "jbodlab.log.dir.io.deadline.ms": "30000",
    "replica.lag.time.max.ms": "5000",
}
SUSPICIOUS = FAST | {"jbodlab.log.dir.io.deadline.ms": "1000"}
"""For tests of log dirs that hang."""
KEPT = {"min.insync.replicas": "2", "retention.ms": "-1"}
"""Of topics with records of long ago, which retention takes whenever it comes by."""
LOG_LINES_SHOWN = 200
"""Of each node that does not answer when a test fails: more than the stacks of its threads."""
RUNNING: dict[Cluster, None] = {}
"""The clusters of labs that run now."""
PATIENT_MS = 30_000
"""The session timeout where no broker is killed: one that answers late is not dead."""


class Lab:
    """One running cluster with everything a test asks of it."""

    def __init__(self, cluster: Cluster, admin: ClusterAdmin) -> None:
        self.cluster = cluster
        self.admin = admin
        self._loads: list[Load] = []

    @property
    def servers(self) -> list[str]:
        """The running brokers: kafka-python may try the same dead ones until it gives up."""
        brokers = [self.cluster.spec.broker(each) for each in self.running_brokers()]
        return [f"{broker.advertised_host}:{broker.advertised_port}" for broker in brokers]

    def create(
        self,
        name: str,
        partitions: int = 1,
        *,
        assignment: Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = 3,
    ) -> None:
        """Create a topic and wait until every replica is in its Isr and every broker knows it."""
        topic = TopicSpec(
            name=name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=configs or {"min.insync.replicas": "2"},
        )
        self.admin.create_topic(topic, assignment=assignment)
        self.wait_for_full_isr(name, brokers=self.running_brokers())

    def running_brokers(self) -> list[int]:
        return [
            broker.id
            for broker in self.cluster.spec.brokers
            if self.cluster.is_running(broker_node(broker.id))
        ]

    def partition(self, topic: str, partition: int = 0, *, by: int | None = None) -> PartitionView:
        if by is not None:
            return self.admin.view(by, [topic]).partition(topic, partition)
        return self.admin.any_view([topic]).partition(topic, partition)

    def wait_for_full_isr(self, topic: str, *, brokers: Sequence[int] | None = None) -> float:
        """Wait until no replica of a topic is offline or out of sync; return ms."""
        asked = self.running_brokers() if brokers is None else brokers

        def full(admin: ClusterAdmin) -> bool:
            views = [admin.view(each, [topic]) for each in asked]
            return all(
                view.partitions
                and all(
                    len(each.isr) == len(each.replicas) and each.leader >= 0
                    for each in view.partitions
                    if each.topic == topic
                )
                for view in views
            )

        return self.cluster.wait_until(full, f"every replica of {topic} is in its Isr", DEADLINE_MS)

    def wait_for_reassignments(self, wanted: Mapping[tuple[str, int], Sequence[int]]) -> None:
        """Wait until no reassignment is under way and every broker knows the wanted replicas."""

        def known(admin: ClusterAdmin) -> bool:
            views = [admin.view(each) for each in self.running_brokers()]
            return not admin.reassignments() and all(
                view.partition(*partition).replicas == tuple(replicas)
                for view in views
                for partition, replicas in wanted.items()
            )

        self.cluster.wait_until(known, "the reassignments are complete", DEADLINE_MS)

    def wait_for_new_leader(self, topic: str, old: int, partition: int = 0) -> float:
        """Wait until another broker leads and ``old`` counts as offline; return ms."""

        def moved(admin: ClusterAdmin) -> bool:
            view = admin.any_view([topic]).partition(topic, partition)
            return view.leader not in (-1, old) and old in view.offline_replicas

        return self.cluster.wait_until(
            moved, f"{topic}-{partition} leaves broker {old}", DEADLINE_MS
        )

    def log_dir_of(self, broker: int, topic: str, partition: int = 0) -> LogDirView:
        """Return the log dir that holds the current log of a replica."""
        for view in self.admin.log_dirs(broker):
            for replica in view.replicas:
                if (replica.topic, replica.partition) == (
                    topic,
                    partition,
                ) and not replica.is_future:
                    return view
        raise AssertionError(f"broker {broker} holds no {topic}-{partition}")

    def other_dir(self, broker: int, path: str) -> str:
        return next(view.path for view in self.admin.log_dirs(broker) if view.path != path)

    def offline_dirs(self, broker: int) -> list[str]:
        return [view.path for view in self.admin.log_dirs(broker) if not view.is_online]

    def move(self, broker: int, topic: str, target: str, partition: int = 0) -> None:
        """Move one replica and wait until it is there."""
        self.begin_move(broker, topic, target, partition)
        self.wait_for_move(broker, topic, target, partition)

    def begin_move(self, broker: int, topic: str, target: str, partition: int = 0) -> None:
        """Ask for a move with kafka-python's admin client."""
        with kafka_admin(self) as client:
            results: dict[Any, Any] = client.alter_replica_log_dirs(
                {(topic, partition, broker): target}
            )
        assert [error.errno for error in results.values()] == [0]

    def wait_for_move(self, broker: int, topic: str, target: str, partition: int = 0) -> None:
        def moved(admin: ClusterAdmin) -> bool:
            places = [
                (view.path, replica.is_future)
                for view in admin.log_dirs(broker)
                for replica in view.replicas
                if (replica.topic, replica.partition) == (topic, partition)
            ]
            return places == [(target, False)]

        self.cluster.wait_until(moved, f"{topic}-{partition} is in {target}", DEADLINE_MS)

    def ask(self, message: Any, version: int, *, broker: int = 1) -> Any:
        """Ask one broker as a client does that knows this version only."""
        node = self.cluster.spec.broker(broker)
        client = BlockingClient(node.advertised_host, node.advertised_port)
        try:
            return client.request(message, version)
        finally:
            client.close()

    def control(self, broker: int) -> ControlClient:
        return ControlClient(broker, self.cluster.spec.broker(broker).control_port)

    def load(self, topic: str, partitions: int = 1, **options: Any) -> Load:
        """Write at most a thousand records a second, so that others keep up on a busy machine."""
        paced: dict[str, Any] = {"pace_ms": float(partitions), **options}
        load = Load(self.servers, topic, partitions=partitions, **paced)
        self._loads.append(load)
        return load.start()

    def abandon_loads(self) -> None:
        """End what a failed test left running."""
        for load in self._loads:
            load.abandon()

    def wait_for_records(self, load: Load, more: int) -> None:
        """Wait until ``more`` records than now are acknowledged."""
        wanted = load.acknowledged_count + more
        self.cluster.wait_until(
            lambda _: load.acknowledged_count >= wanted, f"{wanted} acknowledged", DEADLINE_MS
        )

    def assert_nothing_lost(
        self, topic: str, acknowledged: Sequence[Acknowledged], partitions: int = 1
    ) -> None:
        """Read the topic with kafka-python: every acknowledged record once, none twice."""
        numbers = read_numbers(self.servers, topic, partitions=partitions)
        check = verify(acknowledged, numbers)
        assert acknowledged
        assert (check.lost, check.twice) == ((), ())


@contextmanager
def running_lab(
    folder: Path, shape: LabShape | None = None, command_prefix: Sequence[str] = ()
) -> Generator[Lab]:
    """Run a cluster for the length of a block."""
    shape = shape or LabShape(configs=FAST)
    cluster = Cluster(write_lab_spec(folder, shape), command_prefix)
    with running(cluster), ClusterAdmin(cluster.spec) as admin:
        lab = Lab(cluster, admin)
        RUNNING[cluster] = None
        try:
            yield lab
        except BaseException:
            sys.stderr.write(told_of_nodes(cluster))
            raise
        finally:
            RUNNING.pop(cluster)
            lab.abandon_loads()


def told_of_nodes(cluster: Cluster) -> str:
    """Return what nodes tell, and how the logs end of those that tell nothing: for failed tests.

    By then those that live have written there what their threads do.
    """
    troubles, logs = cluster.troubles(), list[str]()
    for name in cluster.names:
        silent = f"{name.replace('-', ' ')} does not answer"
        if any(line.startswith((name, silent)) for line in troubles):
            log = cluster.log_file(name)
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            logs += [f"the end of {log}:", *lines[-LOG_LINES_SHOWN:]]
    return "".join(f"{line}\n" for line in (*troubles, *logs))


@contextmanager
def kafka_admin(lab: Lab) -> Generator[Any]:
    """Connect kafka-python's admin client."""
    client = KafkaAdminClient(bootstrap_servers=lab.servers)
    try:
        yield client
    finally:
        client.close()


def produce_with_confluent(lab: Lab, topic: str, values: Sequence[bytes], **settings: Any) -> None:
    """Produce with librdkafka, acks=all and idempotent unless told otherwise; all must arrive."""
    failed: list[Any] = []
    producer = Producer(
        {
            "bootstrap.servers": ",".join(lab.servers),
            "enable.idempotence": True,
            "linger.ms": 1,
            **settings,
        }
    )
    for value in values:
        producer.produce(
            topic, value, on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(DEADLINE_MS / 1000) == 0
    assert failed == []


def consume_with_confluent(lab: Lab, topic: str, count: int, partition: int = 0) -> list[bytes]:
    """Read ``count`` records of one partition from its beginning with librdkafka."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(lab.servers),
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.assign([ConfluentPartition(topic, partition, 0)])
        values: list[bytes] = []
        deadline = time.monotonic() + DEADLINE_MS / 1000
        while len(values) < count and time.monotonic() < deadline:
            for message in consumer.consume(count - len(values), timeout=1):
                assert message.error() is None, message.error()
                values.append(message.value() or b"")
        return values
    finally:
        consumer.close()
