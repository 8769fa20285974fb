"""What the stories do to a cluster of three brokers with two log dirs each, whoever runs it.

Batches of exact sizes, wishes where replicas go, log dirs that break as in the recording. It starts
nothing and knows no story; ``tests.differential.lab`` has our cluster, ``tests.golden.kafka_lab``
Apache Kafka's.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.rpc import BlockingClient
from protocol.admin.log_dirs import LogDirView, describe_log_dirs_request, log_dir_views
from protocol.cluster_file.spec import ClusterSpec, TopicSpec
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.topics import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.records.build import NewRecord, build_batch
from tests.deadlines import DEADLINE_S
from tests.differential.tap import Told

BROKER_IDS: Final = (1, 2, 3)


class StoryLab(ABC):
    """The cluster and what is done to it; who runs it says how brokers start and end."""

    quiet_s: int
    """How long the last requests of a chapter may take."""
    assignments: tuple[Sequence[int], ...] | None = None
    """Where partitions that are added go; None: the controller has only these brokers to choose."""
    tells_as_recorded: bool
    """Whether every chapter has the recorded numbers of requests."""
    misses_at_once: bool
    """Whether a broker without log dirs is gone as it ends, not when ZooKeeper misses it."""
    told_before_return: int
    """What broker 2 is told in chapter 13 until broker 1 starts again."""

    def __init__(self, folder: Path, spec: ClusterSpec, admin: ClusterAdmin) -> None:
        self.folder = folder
        self.spec = spec
        self.admin = admin
        self.bootstrap = ",".join(f"{b.advertised_host}:{b.advertised_port}" for b in spec.brokers)

    @abstractmethod
    def start_one_by_one(self) -> None:
        """Start the cluster; broker 1 leads it where a broker does."""

    @abstractmethod
    def start_broker(self, broker_id: int) -> None:
        """Start a broker; return when it serves."""

    @abstractmethod
    def stop_broker(self, broker_id: int) -> None:
        """Shut a broker down as an operator would; return when its process has ended."""

    @abstractmethod
    def kill_controller_and_broker(self, broker_id: int) -> None:
        """Kill both at once; another controller takes over."""

    @abstractmethod
    def exit_code(self, broker_id: int) -> int | None:
        """Wait for a broker that ends by itself."""

    @abstractmethod
    def replace_controller(self) -> None:
        """Have another controller take over, unless broker 1, which was stopped, was it."""

    @abstractmethod
    def give_control_to_broker_1(self) -> None:
        """Restart brokers until broker 1 leads the cluster, where a broker does."""

    @abstractmethod
    def told(self) -> dict[int, list[Told]]:
        """Return what every broker was told and has answered so far."""

    @abstractmethod
    def wait_for(self, condition: Callable[[], bool], deadline_s: float) -> bool:
        """Wait for what brokers are told; return whether the condition holds in time."""

    @abstractmethod
    def wait_until(self, condition: Callable[[ClusterAdmin], bool], what: str) -> None:
        """Ask until ``condition`` holds."""

    def restart_broker(self, broker_id: int) -> None:
        self.stop_broker(broker_id)
        self.start_broker(broker_id)

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
        self.wait_until(
            lambda admin: all(
                len(admin.view(each, [name]).partitions) == len(assignment)
                for each in admin.any_view([]).broker_ids
            ),
            f"every broker knows {name}",
        )

    def add_partitions(self, name: str, count: int) -> None:
        placed = self.assignments
        assignments = None
        if placed is not None:
            assignments = [CreatePartitionsAssignment(broker_ids=each) for each in placed]
        topic = CreatePartitionsTopic(name=name, count=count, assignments=assignments)
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

    def log_dirs(self, broker_id: int) -> list[LogDirView]:
        """Ask a broker for its log dirs, at the newest version that 3.9.2 has."""
        return log_dir_views(self._ask(broker_id, describe_log_dirs_request(), 4), broker=broker_id)

    def wait_for_replica(self, name: str, partition: str) -> None:
        """Wait until a replica is in this log dir alone, as a move leaves it."""

        def is_there(_: ClusterAdmin) -> bool:
            return self.places(int(name[1]), partition) == [(self.log_dir(name), False)]

        self.wait_until(is_there, f"{partition} is in {name}")

    def places(self, broker_id: int, partition: str) -> list[tuple[Path, bool]]:
        """Return the log dirs that hold a replica, and whether as a future one."""
        return [
            (Path(view.path), replica.is_future)
            for view in self.log_dirs(broker_id)
            for replica in view.replicas
            if f"{replica.topic}-{replica.partition}" == partition
        ]

    def _ask(self, broker_id: int, request: Any, version: int) -> Any:
        broker = self.spec.broker(broker_id)
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
