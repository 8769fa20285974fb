"""One broker of jbodlab in a cluster that is otherwise Apache Kafka's, as a process of its own.

``stand`` starts the controller behind it, another process, which stands for election.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.processes.free_ports import free_ports
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.deadlines import DEADLINE_S
from tests.mixed.apache_nodes import COORDINATORS, HOST, LOG_DIRS
from tests.mixed.mixed_lab import MixedLab

BROKER_ID: Final = 4
_CLEAN_EXIT: Final = 0


class JbodlabBroker:
    """Joins the cluster of a lab by its ZooKeeper."""

    def __init__(self, lab: MixedLab) -> None:
        self.nodes = lab.nodes
        self.port, controller_port, control_port = free_ports(3)
        self.control = ControlClient(BROKER_ID, control_port)
        self._process: subprocess.Popen[bytes] | None = None
        self._controller: subprocess.Popen[bytes] | None = None
        paths = [str(self.nodes.log_dir(BROKER_ID, name)) for name in LOG_DIRS]
        told: MetadataResponse = lab.admin.ask(MetadataRequest(topics=[]), 4, lab.controller_id())
        document: dict[str, Any] = {
            "cluster_id": told.cluster_id,
            "zookeeper": {"connect": self.nodes.zookeeper_connect, "session_timeout_ms": 6000},
            "controller": {"port": controller_port, "id": BROKER_ID},
            # Whoever is asked first makes the coordinators' topics.
            "configs": COORDINATORS,
            "brokers": [
                {
                    "id": BROKER_ID,
                    "port": self.port,
                    "control_port": control_port,
                    "log_dirs": [{"path": path} for path in paths],
                }
            ],
        }
        self._file = self.nodes.folder / "cluster.yaml"
        self._file.write_text(json.dumps(document))

    def start(self) -> None:
        """Start it; return when Apache Kafka's brokers know it."""
        self._process = self._spawn("broker", "--id", str(BROKER_ID))
        self.nodes.wait_until(self._is_known, "the broker of jbodlab is known")

    def stand(self) -> None:
        """Start the controller behind it; return when it stands for election."""
        self._controller = self._spawn("controller")
        log = self.nodes.folder / "jbodlab-controller.log"
        self.nodes.wait_until(lambda: "CONNECTED" in log.read_text(), "it stands for election")

    def kill_controller(self) -> None:
        """End the controller at once, as if its machine had lost power."""
        assert self._controller is not None
        self._controller.kill()
        self._controller.wait(DEADLINE_S)
        self._controller = None

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(DEADLINE_S)

    def pause(self) -> None:
        """Have it stand still, as in a long garbage collection."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Shut it down as an operator would; nothing where it does not run."""
        for process in (self._controller, self._process):
            if process is not None and process.poll() is None:
                process.terminate()
                assert process.wait(DEADLINE_S) == _CLEAN_EXIT

    def _spawn(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = "jbodlab.log" if module == "broker" else "jbodlab-controller.log"
        command = [sys.executable, "-m", module, "--config", str(self._file), *arguments]
        with (self.nodes.folder / log).open("ab") as out:
            return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)

    def _is_known(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.nodes.folder / "jbodlab.log").read_text()[-2000:]
        return BROKER_ID in {each.id for each in cluster_behind(self.nodes.bootstrap).brokers}


@contextmanager
def joined(lab: MixedLab) -> Generator[tuple[MixedLab, JbodlabBroker]]:
    """Have a broker of jbodlab in the cluster for the length of a block; give a lab with it."""
    broker = JbodlabBroker(lab)
    try:
        broker.start()
        with ClusterAdmin(cluster_behind(f"{HOST}:{broker.port}")) as admin:
            yield MixedLab(lab.nodes, admin), broker
    finally:
        broker.stop()
