"""What the HTTP API orders of a cluster: blocking calls of jbodlab's Python API and its clients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jbodlab.api.broker import Broker
from jbodlab.api.connections import Connections
from jbodlab.api.log_dir import LogDir
from jbodlab.asking.control import ControlClient
from jbodlab.asking.fault_orders import fault_order
from jbodlab.asking.lab_values import BrokerPlace, ClusterPlaces, NodeStatus
from jbodlab.errors import ExitCode, LabError
from jbodlab.http_api.core.bodies import FailOrder, MoveOrder, NewFault, NewTopic, ReplaceOrder
from jbodlab.http_api.core.requests import RequestsOfApi, newest_requests
from jbodlab.http_api.core.snapshot import Snapshot
from jbodlab.http_api.dump_tail import DumpTail
from jbodlab.http_api.looking import look
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.node_status import node_state, node_status
from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.metrics.rows import FailoverEventRow, RequestRow


class NotThereError(LabError):
    """There is no such broker, log dir, topic or fault."""

    def __init__(self, message: str) -> None:
        super().__init__(ExitCode.FAILED, message)


class Orders:
    """The cluster of one cluster file; every call reads anew which processes there are.

    All methods raise LabError, whose text says what is wrong and what to do.
    """

    def __init__(self, config_path: Path) -> None:
        self._config_path = config_path
        dump_dir = Path(Cluster(config_path).spec.metrics.dump_dir)
        self._steps = DumpTail(dump_dir, FailoverEventRow)
        self._request_rows = DumpTail(dump_dir, RequestRow, is_late=True)
        self._requests: list[RequestRow] = []
        self._reading = threading.Lock()

    def look(self) -> Snapshot:
        """Return how the cluster is now."""
        return look(Cluster(self._config_path))

    def short(self, path: str) -> str:
        """Return a log dir's path as it stands in the cluster file."""
        return Cluster(self._config_path).short(path)

    def failover_steps(self) -> list[FailoverEventRow]:
        """Return what nodes wrote of failovers since this was asked last."""
        return self._steps.new_rows()

    def requests(self) -> list[RequestsOfApi]:
        """Return what brokers answered of late, by API."""
        with self._reading:
            self._requests, told = newest_requests(
                [*self._requests, *self._request_rows.new_rows()]
            )
        return told

    def places(self) -> ClusterPlaces:
        """Return where the brokers and their log dirs are."""
        cluster = Cluster(self._config_path)
        return ClusterPlaces(
            config_path=str(cluster.config_path),
            controller=node_state(cluster, cluster.control_node or CONTROLLER_NODE),
            brokers=tuple(
                BrokerPlace(
                    id=each.id,
                    host=each.advertised_host,
                    port=each.advertised_port,
                    rack=each.rack,
                    state=node_state(cluster, broker_node(each.id)),
                    log_dirs=tuple(log_dir.path for log_dir in each.log_dirs),
                )
                for each in cluster.brokers
            ),
        )

    def nodes(self) -> list[NodeStatus]:
        """Return how all nodes are."""
        cluster = Cluster(self._config_path)
        return [node_status(cluster, name) for name in cluster.names]

    def pass_on(self, broker_id: int, method: str, path: str, body: Any) -> bytes:
        """Have a control endpoint answer."""
        self._broker(broker_id)
        return self._control(broker_id).exchange(method, path, body)

    def kill(self, broker_id: int) -> None:
        """End a broker with SIGKILL."""
        self._process(broker_id).kill()

    def pause(self, broker_id: int) -> None:
        """Let a broker stand still."""
        self._process(broker_id).pause()

    def resume(self, broker_id: int) -> None:
        """Let a broker go on."""
        self._process(broker_id).resume()

    def stopping(self, broker_id: int) -> Callable[[], None]:
        """Return what stops a broker that runs."""
        broker = self._process(broker_id)
        if not broker.is_running:
            raise LabError(ExitCode.NOT_RUNNING, f"{broker.name} does not run: start it first")
        return broker.stop

    def starting(self, broker_id: int) -> Callable[[], None]:
        """Return what starts a broker that does not run."""
        broker = self._process(broker_id)
        if broker.is_running:
            raise LabError(ExitCode.FAILED, f"{broker.name} runs already: restart it instead")
        return broker.start

    def restarting(self, broker_id: int) -> Callable[[], None]:
        """Return what stops and starts a broker that runs."""
        self.stopping(broker_id)
        return self._broker(broker_id).restart

    def fail(self, broker_id: int, number: int, order: FailOrder) -> None:
        """Break a log dir."""
        self._log_dir(broker_id, number).fail(order.mode, delay_ms=order.delay_ms)

    def heal(self, broker_id: int, number: int) -> None:
        """Take all faults off a log dir."""
        self._log_dir(broker_id, number).heal()

    def restart_log_dir(self, broker_id: int, number: int) -> None:
        """Begin to bring a log dir back with its data."""
        path = self._log_dir(broker_id, number).path
        self._control(broker_id).restart(path)

    def replace_log_dir(self, broker_id: int, number: int, order: ReplaceOrder) -> None:
        """Begin to put an empty disk in the place of a log dir."""
        path = self._log_dir(broker_id, number).path
        self._control(broker_id).replace(path, accept_loss=order.accept_loss, force=order.force)

    def create_topic(self, topic: NewTopic) -> None:
        """Create a topic."""
        self._connections().create_topic(
            topic.name,
            topic.partitions,
            topic.replication_factor,
            topic.configs,
            topic.assignment,
        )

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        with self._connections().admin() as admin:
            admin.delete_topic(name)

    def move(self, order: MoveOrder) -> None:
        """Begin to move a replica."""
        target = self._log_dir(order.broker, order.log_dir)
        with self._connections().admin() as admin:
            admin.move_replicas(order.broker, target.path, {order.topic: [order.partition]})

    def add_fault(self, content: dict[str, Any]) -> NewFault:
        """Put a fault in force, with the keys of the cluster file and perhaps an ``id``."""
        rule = {key: value for key, value in content.items() if key != "id"}
        broker, order = fault_order(Cluster(self._config_path), rule)
        named = {"id": content["id"]} if "id" in content else {}
        (fault_id,) = self._control(broker.id).add_faults([{**order, **named}])
        return NewFault(broker=broker.id, id=fault_id)

    def clear_faults(self) -> int:
        """Take all faults off at all brokers that run; return how many were in force."""
        cluster = Cluster(self._config_path)
        running = [
            each
            for each in cluster.spec.brokers
            if node_state(cluster, broker_node(each.id)) == "running"
        ]
        return sum(len(self._control(each.id).clear_faults()) for each in running)

    def clear_fault(self, broker_id: int, fault_id: str) -> None:
        """Take one fault off."""
        self._broker(broker_id)
        control = self._control(broker_id)
        known = [each["id"] for each in control.faults() if each["is_in_force"]]
        if fault_id not in known:
            there = ", ".join(known) or "none"
            raise NotThereError(
                f"broker {broker_id} has no fault {fault_id} in force; there are: {there}"
            )
        control.clear_faults([fault_id])

    def release_held(self, broker_id: int, fault_id: str, count: int | None) -> int:
        """Let requests go on that a fault holds; return how many."""
        self._broker(broker_id)
        return self._control(broker_id).release(fault_id, count)

    def passed(self, broker_id: int, fault_id: str) -> list[dict[str, Any]]:
        """Return what an observer saw."""
        self._broker(broker_id)
        passed = self._control(broker_id).passed()
        if fault_id not in passed:
            there = ", ".join(passed) or "none"
            raise NotThereError(
                f"broker {broker_id} has no fault {fault_id} of mode observe; there are: {there}"
            )
        return passed[fault_id]

    def _connections(self) -> Connections:
        return Connections(Cluster(self._config_path))

    def _broker(self, broker_id: int) -> Broker:
        connections = self._connections()
        ids = [each.id for each in connections.processes.spec.brokers]
        if broker_id not in ids:
            raise NotThereError(f"there is no broker {broker_id}, only {', '.join(map(str, ids))}")
        return Broker(connections, broker_id)

    def _process(self, broker_id: int) -> Broker:
        """Return a broker whose process is this machine's to start and to end."""
        broker = self._broker(broker_id)
        cluster = Cluster(self._config_path)
        if not broker.is_running and node_state(cluster, broker.name) != "down":
            raise LabError(
                ExitCode.FAILED,
                f"{broker.name} runs, and jbodlab did not start it here: start and end it with "
                "what did, as `docker kill` and `docker start`",
            )
        return broker

    def _log_dir(self, broker_id: int, number: int) -> LogDir:
        broker = self._broker(broker_id)
        try:
            return broker.log_dir(number)
        except LabError as error:
            raise NotThereError(str(error)) from error

    def _control(self, broker_id: int) -> ControlClient:
        spec = Cluster(self._config_path).broker(broker_id)
        return ControlClient(spec.id, spec.control_port)
