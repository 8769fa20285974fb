"""Ports: find free ones, and say who holds one that is not. Opens no connection."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Final

import psutil

LOOPBACK: Final = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return ``count`` different ports that nobody listens on just now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in sockets]


def is_free(host: str, port: int) -> bool:
    """Tell whether ``port`` can be bound now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def holder_of(port: int) -> str:
    """Return who listens on ``port``, as far as the operating system tells."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.Error:
        return "another process"
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and port in connection.laddr:
            return _name_of(connection.pid)
    return "another process"


def _name_of(pid: int | None) -> str:
    if pid is None:
        return "another process"
    try:
        return f"{psutil.Process(pid).name()} (pid {pid})"
    except psutil.Error:
        return f"pid {pid}"
