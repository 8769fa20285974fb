"""Our cluster of the transcripts: three brokers with two log dirs each, a tap before each broker.

It shows the versions of 3.9 with ZooKeeper, so that the tools ask as they did. It knows no story.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import CONTROLLER, Cluster
from jbodlab.processes.free_ports import free_ports
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import ClusterSpec, load_cluster_spec
from protocol.faults.model import broker_node
from protocol.ids import node_client_id
from tests.deadlines import DEADLINE_S
from tests.differential.story_lab import BROKER_IDS, StoryLab
from tests.differential.tap import Taps, Told

_CONFIGS = {
    "min.insync.replicas": "1",
    "jbodlab.reassignment.throttles.remove": "false",
    "auto.leader.rebalance.enable": "false",
}
_END_DEADLINE_MS = 20_000


class DifferentialLab(StoryLab):
    """The cluster and its taps. Its controller is a process beside the brokers."""

    quiet_s = 10
    tells_as_recorded = False
    misses_at_once = True
    told_before_return = 11

    def __init__(self, folder: Path, cluster: Cluster, admin: ClusterAdmin, taps: Taps) -> None:
        super().__init__(folder, cluster.spec, admin)
        self._cluster = cluster
        self._taps = taps

    def start_one_by_one(self) -> None:
        self._cluster.start_controller()
        for broker_id in BROKER_IDS:
            self._cluster.start_broker(broker_id)

    def start_broker(self, broker_id: int) -> None:
        self._cluster.start_broker(broker_id)

    def stop_broker(self, broker_id: int) -> None:
        self._cluster.stop([broker_node(broker_id)])

    def restart_broker(self, broker_id: int) -> None:
        self._cluster.restart_broker(broker_id)

    def kill_controller_and_broker(self, broker_id: int) -> None:
        self._cluster.kill(CONTROLLER)
        self._cluster.kill(broker_node(broker_id))
        self._cluster.start_controller()

    def exit_code(self, broker_id: int) -> int | None:
        return self._cluster.processes[broker_node(broker_id)].wait(_END_DEADLINE_MS)

    def replace_controller(self) -> None:
        self._cluster.kill(CONTROLLER)
        self._cluster.start_controller()

    def give_control_to_broker_1(self) -> None:
        """Nothing: no broker leads the cluster."""

    def told(self) -> dict[int, list[Told]]:
        return self._taps.told()

    def wait_for(self, condition: Callable[[], bool], deadline_s: float) -> bool:
        return self._taps.wait_for(condition, deadline_s)

    def wait_until(self, condition: Callable[[ClusterAdmin], bool], what: str) -> None:
        self._cluster.wait_until(condition, what, DEADLINE_S * 1000)


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
