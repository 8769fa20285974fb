"""Changes brokers of a lab from Apache Kafka to jbodlab, on the same ports and log dirs, and back.

Behind broker 1 jbodlab's controller stands for election while it is jbodlab's, so that there is a
controller when no broker of Apache Kafka is left.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from jbodlab.load import Load
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_ports
from protocol.faults.model import broker_node
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.deadlines import DEADLINE_S
from tests.mixed.apache_nodes import LOG_DIRS
from tests.mixed.mixed_lab import BROKER_IDS, CONFIGS, MixedLab

LEADS: Final = BROKER_IDS[0]
COORDINATED: Final = ("__consumer_offsets", "__transaction_state")
_CONTROLLER: Final = "controller"
_OWN_CONFIGS: Final = {
    key: value for key, value in CONFIGS.items() if not key.startswith("zookeeper.")
}


class ChangedBrokers:
    """Starts with all brokers Apache Kafka's."""

    def __init__(self, lab: MixedLab) -> None:
        self._lab = lab
        told: MetadataResponse = lab.admin.ask(MetadataRequest(topics=[]), 4, lab.controller_id())
        controller_port, *control_ports = free_ports(1 + len(BROKER_IDS))
        document: dict[str, Any] = {
            "cluster_id": told.cluster_id,
            "zookeeper": {"connect": lab.nodes.zookeeper_connect, "session_timeout_ms": 6000},
            "controller": {"port": controller_port, "id": LEADS},
            "configs": _OWN_CONFIGS,
            "brokers": [
                {
                    "id": each,
                    "port": lab.nodes.ports[each],
                    "control_port": control_port,
                    "log_dirs": [{"path": str(lab.nodes.log_dir(each, name))} for name in LOG_DIRS],
                }
                for each, control_port in zip(BROKER_IDS, control_ports, strict=True)
            ],
        }
        file = lab.nodes.folder / "changed" / "cluster.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(document))
        self._own = Cluster(file)
        self._changed: list[int] = []

    def to_jbodlab(self, broker_id: int) -> None:
        """Stop a broker of Apache Kafka cleanly, and start one of jbodlab on what it has left."""
        self._lab.nodes.stop_broker(broker_id)
        self._changed.append(broker_id)
        self._own.start_broker(broker_id, DEADLINE_S * 1000)
        if broker_id == LEADS:
            self._own.start_controller()

    def to_apache_kafka(self, broker_id: int) -> None:
        """The same the other way round."""
        if broker_id == LEADS:
            self._own.stop([_CONTROLLER], DEADLINE_S * 1000)
        self._own.stop([broker_node(broker_id)], DEADLINE_S * 1000)
        self._lab.nodes.start_brokers({broker_id: CONFIGS})
        self._changed.remove(broker_id)

    def close(self) -> None:
        """Change back whatever is still jbodlab's: other stories go on with the cluster."""
        for broker_id in sorted(self._changed, reverse=True):  # The one that leads is the last.
            self.to_apache_kafka(broker_id)


@contextmanager
def changed_brokers(lab: MixedLab) -> Generator[ChangedBrokers]:
    """Change brokers within a block; all are Apache Kafka's afterwards."""
    brokers = ChangedBrokers(lab)
    try:
        yield brokers
    finally:
        brokers.close()


def wait_until_whole(lab: MixedLab, load: Load, topic: str) -> None:
    """As an operator does before the next broker: every replica is in sync, clients go on."""
    for each in (topic, *COORDINATED):
        lab.wait_for_isr(each, 3)
    lab.wait_for_records(load, 100)
