"""The cluster of the recorded stories: one to three brokers are jbodlab's, the controller is not.

What a broker of jbodlab is told is heard on the wire, what one of Apache Kafka is told is read from
its request log. Where fewer than two of the three are Apache Kafka's, a fourth broker without
replicas, the spare, is there to be the controller. It knows no story.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kazoo.client import KazooClient  # pyright: ignore[reportMissingTypeStubs] - it has none

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_ports
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import ClusterSpec, ZookeeperSpec, load_cluster_spec
from protocol.faults.model import broker_node
from protocol.zookeeper import paths
from protocol.zookeeper.znodes import ClusterIdZnode, encode
from tests.deadlines import DEADLINE_S
from tests.differential.story_lab import BROKER_IDS
from tests.differential.tap import Taps, Told
from tests.golden.kafka_lab import KafkaLab

SPARE: Final = 4
_APIS: Final = ("LeaderAndIsr", "UpdateMetadata", "StopReplica")
_CONFIGS: Final = {"min.insync.replicas": "1"}
_SESSION_TIMEOUT_MS: Final = 18_000
"""Apache Kafka's default, which the recording had."""


class MixedStoryLab(KafkaLab):
    """The cluster. ``close`` ends its processes."""

    def __init__(
        self, folder: Path, spec: ClusterSpec, admin: ClusterAdmin, own_ids: Collection[int]
    ) -> None:
        """Fetch what is missing; start nothing.

        Raises:
            PeerMissingError: there is no Java, no Maven, or no download.
        """
        super().__init__(folder, spec, admin)
        self.own_ids: Final = own_ids
        self.has_spare: Final = len(own_ids) > 1
        self.told_before_return = 11 if 1 in own_ids else 9
        self.misses_at_once = 3 in own_ids
        if self.has_spare:
            self.assignments = ((2, 3, 1), (3, 1, 2))  # As recorded, where there was no spare.
        ports = free_ports(len(own_ids))
        taps = dict(zip(own_ids, ports, strict=True))
        self.taps: Final = Taps(
            {each: (port, spec.broker(each).port) for each, port in taps.items()},
            *(str(each.id) for each in spec.brokers),
        )
        self._own: Final = Cluster(self._own_file(taps))

    def close(self) -> None:
        self._own.stop()
        super().close()

    def start_one_by_one(self) -> None:
        self._start_zookeeper()
        self._name_cluster()
        for broker_id in self._starting():
            if broker_id not in self.own_ids:
                self._configure(broker_id)
            self.start_broker(broker_id)

    def start_broker(self, broker_id: int) -> None:
        if broker_id in self.own_ids:
            self._own.start_broker(broker_id, DEADLINE_S * 1000)
        else:
            super().start_broker(broker_id)

    def stop_broker(self, broker_id: int) -> None:
        if broker_id in self.own_ids:
            self._own.stop([broker_node(broker_id)], DEADLINE_S * 1000)
        else:
            super().stop_broker(broker_id)

    def kill_controller_and_broker(self, broker_id: int) -> None:
        if broker_id in self.own_ids:
            self._own.kill(broker_node(broker_id))
            self.replace_controller()
        else:
            super().kill_controller_and_broker(broker_id)

    def exit_code(self, broker_id: int) -> int | None:
        if broker_id in self.own_ids:
            return self._own.processes[broker_node(broker_id)].wait(DEADLINE_S * 1000)
        return super().exit_code(broker_id)

    def replace_controller(self) -> None:
        """Have the spare elected once more where broker 1, which was to be it, is jbodlab's."""
        if 1 in self.own_ids:
            with _zookeeper(self.zookeeper_connect) as client:
                client.delete(paths.CONTROLLER)

    def give_control_to_broker_1(self) -> None:
        if 1 not in self.own_ids:
            super().give_control_to_broker_1()

    def told(self) -> dict[int, list[Told]]:
        heard = {
            broker_id: [each for each in told if each.api in _APIS]
            for broker_id, told in self.taps.told().items()
        }
        return {**super().told(), **heard}

    def _starting(self) -> list[int]:
        """Return the brokers as they start, the first controller first."""
        first, *others = BROKER_IDS
        spare = [SPARE] if self.has_spare else []
        return [*spare, *BROKER_IDS] if first in self.own_ids else [first, *spare, *others]

    def _own_file(self, taps: dict[int, int]) -> Path:
        brokers = tuple(
            replace(self.spec.broker(each), advertised_port=port, rack=None, emulate="3.9")
            for each, port in taps.items()
        )
        zookeeper = ZookeeperSpec(
            connect=self.zookeeper_connect, session_timeout_ms=_SESSION_TIMEOUT_MS
        )
        spec = replace(self.spec, brokers=brokers, zookeeper=zookeeper, configs=_CONFIGS)
        file = self.folder / "own.yaml"
        file.write_text(dump_cluster_spec(spec))
        return file

    def _name_cluster(self) -> None:
        """Give the cluster the id of the file before a broker makes one up."""
        znode = encode(ClusterIdZnode(id=self.spec.cluster_id))
        with _zookeeper(self.zookeeper_connect) as client:
            client.create(paths.CLUSTER_ID, znode, makepath=True)


@contextmanager
def _zookeeper(connect: str) -> Generator[Any]:
    client = KazooClient(connect)
    client.start(DEADLINE_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


@contextmanager
def mixed_story_lab(folder: Path, own_ids: Collection[int]) -> Generator[MixedStoryLab]:
    """Give a cluster of which nothing runs yet; ``folder`` keeps all that it wrote."""
    shape = LabShape(brokers=SPARE if len(own_ids) > 1 else len(BROKER_IDS), log_dirs=2)
    spec = load_cluster_spec(write_lab_spec(folder, shape))
    with ClusterAdmin(spec) as admin:
        lab = MixedStoryLab(folder, spec, admin, own_ids)
        with lab.taps:
            try:
                yield lab
            finally:
                lab.close()
