"""The HTTP API that ``up`` leaves running beside a cluster: started, found again, ended with it.

What it answers is in ``jbodlab.http_api``; it is a process like any other here.
"""

from __future__ import annotations

import sys
from typing import Final

import psutil

from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import HTTP_API, Cluster
from jbodlab.processes.free_ports import LOOPBACK, free_port, holder_of, is_free
from jbodlab.processes.process import Process

PORT: Final = 8099
"""Where it listens if nobody else does and nothing else is asked for."""
_PORT_OPTION: Final = "--port"
_COMMAND: Final = __name__.partition(".")[0]


def http_api_port(cluster: Cluster, asked: int | None) -> int:
    """Return where the HTTP API of a cluster is to listen: where it does, or may.

    Raises:
        LabError: PORT_IN_USE, for one that was asked for.
    """
    running = http_api_address(cluster)
    if running is not None:
        return int(running.rpartition(":")[2])
    if asked is None:
        return PORT if is_free(LOOPBACK, PORT) else free_port()
    if not is_free(LOOPBACK, asked):
        words = f"port {asked} for the HTTP API is in use by {holder_of(asked)}"
        raise LabError(ExitCode.PORT_IN_USE, f"{words}: stop that, or give another --http-port")
    return asked


def start_http_api(cluster: Cluster, port: int) -> str:
    """Start it unless it runs; return its address. It answers some tenths of a second later."""
    if not cluster.is_running(HTTP_API):
        where = ["--config", str(cluster.config_path), _PORT_OPTION, str(port)]
        command = [sys.executable, "-m", _COMMAND, "serve", *where]
        cluster.processes[HTTP_API] = Process.fork(HTTP_API, command, cluster.log_file(HTTP_API))
        cluster.keep_notes()
    return f"http://{LOOPBACK}:{port}"


def http_api_address(cluster: Cluster) -> str | None:
    """Return where the HTTP API of a cluster listens; None when none runs beside it."""
    if not cluster.is_running(HTTP_API):
        return None
    try:
        words = psutil.Process(cluster.processes[HTTP_API].pid).cmdline()
        return f"http://{LOOPBACK}:{words[words.index(_PORT_OPTION) + 1]}"
    except (psutil.Error, ValueError, IndexError):
        return None
