"""The command lines of the controller and the brokers. It starts none."""

from __future__ import annotations

import sys
from pathlib import Path

from protocol.faults.model import CONTROLLER_NODE


def node_command(name: str, config: Path, run_id: str) -> list[str]:
    """Return the command line that runs a node of a cluster file with this Python.

    Args:
        name: ``controller``, or ``broker-1`` for the broker with id 1.
        config: the cluster file.
        run_id: which life of the cluster it belongs to, for its metric rows.
    """
    # Commands that start no node shall not load them.
    import broker  # noqa: PLC0415
    import controller  # noqa: PLC0415

    options = ["--config", str(config), "--run-id", run_id]
    if name == CONTROLLER_NODE:
        return [sys.executable, "-m", controller.__name__, *options]
    broker_id = name.removeprefix("broker-")
    return [sys.executable, "-m", broker.__name__, *options, "--id", broker_id]
