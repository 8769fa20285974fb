"""The controller and the brokers as processes: what keeps them from serving, how they end.

It starts none.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from jbodlab.asking.control import ControlClient
from jbodlab.asking.own_security import security_at_controller
from jbodlab.asking.rpc import BlockingClient
from jbodlab.errors import LabError
from jbodlab.processes.neighbours import ZOOKEEPER
from jbodlab.processes.process import UNKNOWN_CODE, Process, fatal_signal
from protocol.cluster_file.spec import BrokerSpec, ClusterSpec
from protocol.faults.model import CONTROLLER_NODE, broker_id_of, broker_node
from protocol.messages.api_versions import ApiVersionsRequest

_TIMEOUT_MS: Final = 3000
_LISTENS_TIMEOUT_S: Final = 1


def _nothing_more() -> list[str]:
    return []


def cluster_troubles(
    spec: ClusterSpec, log_files: Mapping[str, Path], processes: Mapping[str, Process]
) -> list[str]:
    """Return what keeps a cluster from being whole, as far as processes and nodes tell.

    A node that lives and does not answer is asked to write what its threads do to its log.

    Args:
        spec: the cluster.
        log_files: of all its nodes, by name.
        processes: those that are known, by name.
    """
    found: list[str] = []
    for name, log_file in log_files.items():
        process = processes.get(name)
        if process is None or not process.is_running:
            found.append(_absence(name, process, log_file))
        elif process.is_paused:
            found.append(f"{name} stands still (SIGSTOP)")
        else:
            found += _node_troubles(spec, process)
    return found


def _absence(name: str, process: Process | None, log_file: Path) -> str:
    ended_by = fatal_signal(log_file) if process is None else process.ended_by()
    return f"{name} does not run" + (f", it ended by {ended_by}" if ended_by else "")


def _node_troubles(spec: ClusterSpec, process: Process) -> list[str]:
    ask_stacks = partial(_stacks, process)
    if process.name == CONTROLLER_NODE:
        is_there = controller_answers(spec)
        return [] if is_there else ["controller does not answer", *ask_stacks()]
    broker = broker_of(spec, process.name)
    if broker is None or not broker.control_port:
        return [] if listens(spec, process.name) else [f"{process.name} does not listen yet"]
    return broker_troubles(_control_client(broker), ask_stacks)


def _control_client(broker: BrokerSpec) -> ControlClient:
    return ControlClient(broker.id, broker.control_port, timeout_s=_TIMEOUT_MS / 1000)


def _stacks(process: Process) -> list[str]:
    """Have a process that does not answer write where its threads are, and say where that is."""
    if not process.write_stacks():
        return []
    return [f"what the threads of {process.name} do is in {process.log_file}"]


def broker_troubles(
    client: ControlClient, on_silence: Callable[[], list[str]] = _nothing_more
) -> list[str]:
    """Return what keeps a broker from serving, as it tells itself; empty when nothing does.

    ``on_silence`` gives what is to be said, too, of one that does not answer.
    """
    name = f"broker {client.broker_id}"
    try:
        return [f"{name} {words}" for words in status_troubles(client.status())]
    except LabError:
        return [f"{name} does not answer on its control port", *on_silence()]


def all_serve(spec: ClusterSpec) -> bool:
    """Tell whether the controller and every broker of jbodlab in a cluster serve.

    By ZooKeeper the controller may be any broker; those of jbodlab tell whether they know it.
    """
    return (spec.zookeeper is not None or controller_answers(spec)) and not any(
        broker_troubles(_control_client(broker)) for broker in spec.brokers
    )


# Any: JSON.
def status_troubles(told: Mapping[str, Any]) -> list[str]:
    """Return what keeps a broker from serving, from its ``/status``."""
    if told["state"] != "running":
        return [f"is {told['state'].replace('_', ' ')}"]
    if not told["is_controller_connected"]:
        return ["has no connection to the controller"]
    if told["is_fenced"]:
        return ["is fenced by the controller"]
    if not told["is_open_to_clients"]:
        return ["was told nothing of the cluster by the controller yet"]
    return []


def controller_answers(spec: ClusterSpec) -> bool:
    """Tell whether the controller serves: it does not before it has replayed its journal."""
    client = BlockingClient(
        spec.controller.advertised_host,
        spec.controller.port,
        timeout_ms=_TIMEOUT_MS,
        security=security_at_controller(spec),
    )
    try:
        client.request(ApiVersionsRequest(client_software_name="", client_software_version=""), 0)
    except OSError:
        return False
    finally:
        client.close()
    return True


def listens(spec: ClusterSpec, name: str) -> bool:
    """Tell whether anybody takes connections where clients reach a node: one in a container too."""
    host, port = node_address(spec, name)
    try:
        socket.create_connection((host, port), timeout=_LISTENS_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def node_address(spec: ClusterSpec, name: str) -> tuple[str, int]:
    """Return host and port where clients reach a node, or brokers the controller or ZooKeeper."""
    broker = broker_of(spec, name)
    if broker is not None:
        return broker.advertised_host, broker.advertised_port
    if name == CONTROLLER_NODE:
        return spec.controller.advertised_host, spec.controller.port
    assert spec.beside is not None, f"{name} of a cluster without ZooKeeper of its own"
    return "127.0.0.1", spec.beside.zookeeper_port


def node_ports(spec: ClusterSpec) -> Iterator[tuple[str, str, int, str]]:
    """Give every port of every node: its name, the host, the port, the key of the cluster file."""
    controller, beside = spec.controller, spec.beside
    yield CONTROLLER_NODE, controller.bind_host, controller.port, "controller.port"
    if beside is not None:
        yield ZOOKEEPER, "127.0.0.1", beside.zookeeper_port, "zookeeper.connect"
        for index, broker in enumerate(beside.brokers):
            key = f"beside.brokers[{index}].port"
            yield broker_node(broker.id), broker.bind_host, broker.port, key
    for index, broker in enumerate(spec.brokers):
        name = broker_node(broker.id)
        yield name, broker.bind_host, broker.port, f"brokers[{index}].port"
        yield name, "127.0.0.1", broker.control_port, f"brokers[{index}].control_port"


def broker_of(spec: ClusterSpec, name: str) -> BrokerSpec | None:
    """Return the broker whose process has this name; None for any other node."""
    broker_id = broker_id_of(name)
    return None if broker_id is None else spec.broker(broker_id)


def stop_in_turns(processes: Sequence[Process], deadline_ms: int) -> None:
    """End nodes, those last whom others need for a clean end; each turn has the deadline.

    Brokers of Apache Kafka come after those of jbodlab: one of them is the controller.
    """
    turns: list[list[Process]] = [[], [], []]
    for each in processes:
        is_last = each.name in (CONTROLLER_NODE, ZOOKEEPER)
        turns[2 if is_last else int(each.is_foreign)].append(each)
    for turn in turns:
        stop_together(turn, deadline_ms)


def stop_together(processes: Sequence[Process], deadline_ms: int) -> None:
    """Ask all to end, wait for them up to one deadline, and kill those that are left."""
    deadline = time.monotonic() + deadline_ms / 1000
    for process in processes:
        process.terminate()
    for process in processes:
        # Asked once: an interpreter that is ending has its handlers off and dies of a second time.
        if process.wait(max(0, round((deadline - time.monotonic()) * 1000))) is None:
            process.kill()


def death_line(process: Process) -> str:
    """Say how a process ended, in one line."""
    # Only a death needs them: commands that see none import nothing of the nodes.
    from broker.exit_codes import ExitCode as BrokerExitCode  # noqa: PLC0415
    from controller.exit_codes import ExitCode as ControllerExitCode  # noqa: PLC0415

    code, ended_by = process.exit_code, process.ended_by()
    codes = ControllerExitCode if process.name == CONTROLLER_NODE else BrokerExitCode
    known = [each.name.lower() for each in codes if each == code and not process.is_foreign]
    meaning = f", {known[0].replace('_', ' ')}" if known else ""
    how = "" if code == UNKNOWN_CODE else f" with exit code {code}{meaning}"
    how = how if ended_by is None else f" by {ended_by}"
    return f"{process.name} ended{how}: {process.last_line()} (log: {process.log_file})"
