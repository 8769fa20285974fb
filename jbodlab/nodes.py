"""The controller and the brokers as processes: what keeps them from serving, how they end.

It starts none.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jbodlab.control import ControlClient
from jbodlab.errors import LabError
from jbodlab.process import UNKNOWN_CODE, Process
from jbodlab.rpc import BlockingClient
from protocol.fault_model import CONTROLLER_NODE
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.spec import ControllerSpec

_TIMEOUT_MS: Final = 3000


def broker_troubles(client: ControlClient) -> list[str]:
    """Return what keeps a broker from serving, as it tells itself; empty when nothing does."""
    name = f"broker {client.broker_id}"
    try:
        return [f"{name} {words}" for words in status_troubles(client.status())]
    except LabError:
        return [f"{name} does not answer on its control port"]


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


def controller_answers(spec: ControllerSpec) -> bool:
    """Tell whether the controller serves: it does not before it has replayed its journal."""
    client = BlockingClient(spec.advertised_host, spec.port, timeout_ms=_TIMEOUT_MS)
    try:
        client.request(ApiVersionsRequest(client_software_name="", client_software_version=""), 0)
    except OSError:
        return False
    finally:
        client.close()
    return True


def stop_together(processes: Sequence[Process], deadline_ms: int) -> None:
    """Ask all to end, wait for them up to one deadline, and kill those that are left."""
    deadline = time.monotonic() + deadline_ms / 1000
    for process in processes:
        process.terminate()
    for process in processes:
        process.stop(max(0, round((deadline - time.monotonic()) * 1000)))


def death_line(process: Process) -> str:
    """Say how a process ended, in one line."""
    # Only a death needs them: commands that see none import nothing of the nodes.
    from broker.exit_codes import ExitCode as BrokerExitCode  # noqa: PLC0415
    from controller.exit_codes import ExitCode as ControllerExitCode  # noqa: PLC0415

    code = process.exit_code
    codes = ControllerExitCode if process.name == CONTROLLER_NODE else BrokerExitCode
    known = [each.name.lower() for each in codes if each == code]
    meaning = f", {known[0].replace('_', ' ')}" if known else ""
    with_code = "" if code == UNKNOWN_CODE else f" with exit code {code}{meaning}"
    return f"{process.name} ended{with_code}: {process.last_line()} (log: {process.log_file})"
