"""The cluster of the transcripts: three brokers with two log dirs each, a tap before each broker.

It shows the versions of 3.9 with ZooKeeper, so that the tools ask as they did.

Also what the stories do to it beside Kafka's tools: produce batches of exact sizes, break log dirs
as the recording did. It knows no story.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_ports
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import ClusterSpec, TopicSpec, dump_cluster_spec, load_cluster_spec
from protocol.ids import node_client_id
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.topics import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.records.build import NewRecord, build_batch
from tests.deadlines import DEADLINE_S
from tests.differential.tap import Taps

BROKER_IDS = (1, 2, 3)
_CONFIGS = {
    "min.insync.replicas": "1",
    "jbodlab.reassignment.throttles.remove": "false",
    "auto.leader.rebalance.enable": "false",
}


class DifferentialLab:
    """The cluster, its tap, and what is done to it."""

    def __init__(self, folder: Path, cluster: Cluster, admin: ClusterAdmin, taps: Taps) -> None:
        self.folder = folder
        self.cluster = cluster
        self.admin = admin
        self.taps = taps
        self.bootstrap = ",".join(cluster.bootstrap_servers)

    def start_one_by_one(self) -> None:
        self.cluster.start_controller()
        for broker_id in BROKER_IDS:
            self.cluster.start_broker(broker_id)

    def log_dir(self, name: str) -> Path:
        """Return the path of ``b1/d2``."""
        return self.folder / "data" / name

    def place(self, name: str, *partitions: str) -> None:
        """Have replicas made in a log dir that are not there yet."""
        broker_id = int(name[1])
        topics = [
            AlterReplicaLogDirTopic(name=topic, partitions=[int(number)])
            for topic, _, number in (each.rpartition("-") for each in partitions)
        ]
        wish = AlterReplicaLogDir(path=str(self.log_dir(name)), topics=topics)
        self._ask(broker_id, AlterReplicaLogDirsRequest(dirs=[wish]), 2)

    def create(self, name: str, assignment: Mapping[int, Sequence[int]]) -> None:
        topic = TopicSpec(name=name, partitions=len(assignment), replication_factor=1, configs={})
        self.admin.create_topic(topic, assignment=assignment)

    def add_partitions(self, name: str, count: int) -> None:
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        broker_id = self.admin.any_view([]).broker_ids[0]
        answer = self._ask(broker_id, CreatePartitionsRequest(topics=[topic], timeout_ms=60_000), 2)
        assert [result.error_code for result in answer.results] == [0]

    def produce(self, partition: str, count: int, size_bytes: int) -> None:
        """Produce one batch of exactly this size, acks=all."""
        topic, _, number = partition.rpartition("-")
        leader = self.admin.any_view([topic]).partition(topic, int(number)).leader
        data = PartitionProduceData(index=int(number), records=exact_batch(count, size_bytes))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=DEADLINE_S * 1000,
            topic_data=[TopicProduceData(name=topic, partition_data=[data])],
        )
        answer = self._ask(leader, request, 9)
        codes = [p.error_code for t in answer.responses for p in t.partition_responses]
        assert codes == [0]

    def break_log_dir(self, name: str) -> None:
        """Put a plain file in its place."""
        path = self.log_dir(name)
        path.rename(path.with_name(f"{path.name}.aside"))
        path.write_text("")

    def repair_log_dir(self, name: str) -> None:
        path = self.log_dir(name)
        path.unlink()
        path.with_name(f"{path.name}.aside").rename(path)

    def wait_until(self, condition: Callable[[ClusterAdmin], bool], what: str) -> None:
        self.cluster.wait_until(condition, what, DEADLINE_S * 1000)

    def wait_for_replica(self, name: str, partition: str) -> None:
        """Wait until a replica is in this log dir alone, as a move leaves it."""

        def is_there(admin: ClusterAdmin) -> bool:
            return self.places(admin, int(name[1]), partition) == [(self.log_dir(name), False)]

        self.wait_until(is_there, f"{partition} is in {name}")

    def places(self, admin: ClusterAdmin, broker_id: int, partition: str) -> list[Any]:
        """Return the log dirs that hold a replica, and whether as a future one."""
        return [
            (Path(view.path), replica.is_future)
            for view in admin.log_dirs(broker_id)
            for replica in view.replicas
            if f"{replica.topic}-{replica.partition}" == partition
        ]

    def _ask(self, broker_id: int, request: Any, version: int) -> Any:
        broker = self.cluster.spec.broker(broker_id)
        with closing(BlockingClient(broker.advertised_host, broker.port)) as client:
            return client.request(request, version)


def exact_batch(count: int, size_bytes: int) -> bytes:
    """Return a batch of ``count`` records that has ``size_bytes``."""
    now_ms = time.time_ns() // 1_000_000  # Retention goes by it.
    sizes = [(size_bytes - 61) // count - 10] * count
    while True:
        records = [NewRecord(b"v" * size, timestamp_ms=now_ms) for size in sizes]
        batch = bytes(build_batch(records))
        if len(batch) == size_bytes:
            return batch
        missing = size_bytes - len(batch)
        sizes = [size + missing // count for size in sizes]
        sizes[-1] += missing % count


@contextmanager
def differential_lab(folder: Path) -> Generator[DifferentialLab]:
    """Give a cluster of which nothing runs yet."""
    file = write_lab_spec(
        folder, LabShape(log_dirs=2, configs=_CONFIGS, emulate=dict.fromkeys(BROKER_IDS, "3.9"))
    )
    spec, routes = _tapped(load_cluster_spec(file))
    file.write_text(dump_cluster_spec(spec))
    cluster = Cluster(file)
    with Taps(routes, node_client_id(spec.controller.id)) as taps:
        try:
            with ClusterAdmin(spec) as admin:
                yield DifferentialLab(folder, cluster, admin, taps)
        finally:
            cluster.stop()


def _tapped(spec: ClusterSpec) -> tuple[ClusterSpec, dict[int, tuple[int, int]]]:
    """Have every broker advertise the port of its tap; return where the taps lead."""
    ports = free_ports(len(spec.brokers))
    brokers = tuple(
        replace(broker, advertised_port=port, rack=None)
        for broker, port in zip(spec.brokers, ports, strict=True)
    )
    routes = {broker.id: (port, broker.port) for broker, port in zip(brokers, ports, strict=True)}
    return replace(spec, brokers=brokers), routes
